"""Reads what tools return, leniently: a field that is missing or of another kind reads as nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from agent_host.providers.offline.routine import Outcome
from agent_host.providers.offline.wording import clip
from agent_host.providers.protocol import JsonValue

_LONGEST_ERROR = 400
_MILLISECONDS = 1e11  # a number above it counts milliseconds, not seconds
_FIRST_YEAR, _LAST_YEAR = 1900, 2200
_EMPTY: Mapping[str, JsonValue] = {}


def as_mapping(value: JsonValue) -> Mapping[str, JsonValue]:
    """Returns a JSON object, or an empty one."""
    return value if isinstance(value, Mapping) else _EMPTY


def as_list(value: JsonValue) -> Sequence[JsonValue]:
    """Returns a JSON list, or an empty one."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def text_of(value: JsonValue, *names: str) -> str:
    """Returns the first of some fields that is text and not blank, else ""."""
    row = as_mapping(value)
    found = (row.get(name) for name in names)
    return next((text for text in found if isinstance(text, str) and text.strip()), "")


def rows_of(outcome: Outcome, *names: str) -> tuple[Mapping[str, JsonValue], ...]:
    """Returns the JSON objects of the first list found under some names, or of a bare list."""
    if isinstance(outcome.data, Mapping):
        found = next((outcome.data[name] for name in names if as_list(outcome.data.get(name))), None)
    else:
        found = outcome.data
    return tuple(as_mapping(row) for row in as_list(found) if isinstance(row, Mapping))


def object_of(outcome: Outcome, name: str) -> Mapping[str, JsonValue]:
    """Returns the JSON object under a name, or the whole answer when there is none of that name."""
    whole = as_mapping(outcome.data)
    return as_mapping(whole.get(name)) or whole


def moment_of(value: JsonValue, zone: ZoneInfo) -> datetime | None:
    """Reads an RFC 3339 time, or seconds or milliseconds since 1970, as a local time; a naive one is local already."""
    if isinstance(value, bool):
        return None
    try:
        if isinstance(value, int | float):
            seconds = value / 1000 if value > _MILLISECONDS else value
            moment = datetime.fromtimestamp(seconds, UTC).astimezone(zone)
            return moment if _FIRST_YEAR < moment.year < _LAST_YEAR else None
        if isinstance(value, str):
            read = datetime.fromisoformat(value)
            if not _FIRST_YEAR < read.year < _LAST_YEAR:
                return None
            return read.astimezone(zone) if read.tzinfo is not None else read.replace(tzinfo=zone)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def date_of(row: JsonValue, zone: ZoneInfo, *names: str) -> date | None:
    """Returns the local day of the first of some fields that holds a time."""
    moments = (moment_of(as_mapping(row).get(name), zone) for name in names)
    return next((moment.date() for moment in moments if moment is not None), None)


def failure(outcome: Outcome, what: str) -> str:
    """Says in plain words that something did not work and why."""
    reason = clip(text_of(outcome.data, "message", "error", "detail") or outcome.content, _LONGEST_ERROR)
    return f"I could not {what}: {reason or 'the tool gave no reason'}"
