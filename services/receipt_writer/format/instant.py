"""Instants: integer milliseconds since the Unix epoch, and their one spelling as text (RF-9).

The entries of one commit share their time, so a few spellings are remembered.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from receipt_writer.format.errors import SchemaError

MAX_MS = 253_402_300_799_999
"""The last millisecond of the year 9999, after which the year has five digits."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_YEAR = "1970"
_OFFSET = len("+00:00")
_SPELLING = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")


@lru_cache(maxsize=64)
def iso_from_ms(ms: int) -> str:
    """Return `ms` as `YYYY-MM-DDTHH:MM:SS.mmmZ`, exactly.

    Raises:
        SchemaError: `ms` is before 1970 or after 9999.
    """
    if not 0 <= ms <= MAX_MS:
        raise SchemaError("recordedAtMs", f"an integer from 0 to {MAX_MS}")
    return _spelled(_EPOCH + timedelta(milliseconds=ms))


@lru_cache(maxsize=64)
def is_instant(text: str) -> bool:
    """Say whether `text` is what `iso_from_ms` gives for some time; 30 February, second 60 and 1969 are not."""
    if not _SPELLING.fullmatch(text) or text < _FIRST_YEAR:
        return False
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return False
    return _spelled(moment) == text  # some versions of Python read 24:00 as the next day


def _spelled(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")[:-_OFFSET] + "Z"
