"""Ids of events. Pure.

A UID names an event or a series, `UID/20261201T080000Z` or `UID/20261201` one occurrence of it.
"""

import hashlib
import re
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from tools_mcp.calendar.times import instant

_OCCURRENCE = re.compile(r"(?P<uid>.+)/(?P<day>\d{8})(?:T(?P<clock>\d{6})Z)?", re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,99}")


def occurrence_id(uid: str, at: date, zone: ZoneInfo) -> str:
    """Return the id of the occurrence that was due at a time or date; a time without a zone is in `zone`.

    It names when the occurrence is due by its series, so it stays the same when the occurrence itself is moved.
    """
    if not isinstance(at, datetime):
        return f"{uid}/{at:%Y%m%d}"
    due = instant(at if at.tzinfo else at.replace(tzinfo=zone), zone)
    return f"{uid}/{due:%Y%m%dT%H%M%SZ}"


def parted_id(text: str) -> tuple[str, date] | None:
    """Return the UID and the due time (in UTC) or date in an occurrence's id; none when it has no such form."""
    match = _OCCURRENCE.fullmatch(text)
    if match is None:
        return None
    try:
        if match["clock"] is None:
            return match["uid"], datetime.strptime(match["day"], "%Y%m%d").replace(tzinfo=UTC).date()
        return match["uid"], datetime.strptime(match["day"] + match["clock"], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None


def split_uid(uid: str, at: date) -> str:
    """Return the UID of the series that goes on where `uid` is split: always the same, so a repeated split is one."""
    digest = hashlib.sha256(f"{uid}\n{at.isoformat()}".encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"


def file_name(uid: str) -> str:
    """Return a file name for a series of any UID; a UID of ours is its own name."""
    if _PLAIN.fullmatch(uid):
        return f"{uid}.ics"
    stem = re.sub(r"[^A-Za-z0-9_@-]+", "-", uid)[:60].strip("-")
    return f"{stem or 'event'}-{hashlib.sha256(uid.encode()).hexdigest()[:12]}.ics"
