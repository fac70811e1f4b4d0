"""Reading single properties of a component, broken ones included. Pure."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import icalendar


def moment(component: icalendar.Component, name: str) -> Any:
    """Return the time, date or duration in a property; none when it is missing or broken."""
    value = component.get(name)
    return None if isinstance(value, icalendar.vBroken) else getattr(value, "dt", None)


def several(value: Any) -> Iterable[Any]:
    """Return what is in a property that may occur any number of times."""
    if value is None:
        return ()
    return value if isinstance(value, list) else (value,)


def put(component: icalendar.Component, name: str, values: Sequence[Any]) -> None:
    """Set a property that may occur any number of times."""
    component.pop(name, None)
    for value in values:
        component.add(name, [value] if isinstance(value, tuple) else value)


def rule_text(rule: Any) -> str:
    """Return a recurrence rule as it is written in a file."""
    return str(rule.to_ical().decode())


def sequence_of(component: icalendar.Component) -> int:
    """Return how often a component was changed; 0 when it does not say."""
    try:
        return max(0, min(int(component.get("SEQUENCE", 0)), 2**31 - 2))
    except (TypeError, ValueError):
        return 0


def changed_at(component: icalendar.Component) -> datetime:
    """Return when a component was changed last; the year 1 when it does not say."""
    names = ("DTSTAMP", "CREATED") if "ORGANIZER" in component else ("LAST-MODIFIED", "DTSTAMP", "CREATED")
    for name in names:
        value = moment(component, name)
        if isinstance(value, datetime):
            return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    return datetime(1, 1, 1, tzinfo=UTC)


def holds_on(override: icalendar.Component) -> bool:
    """Whether what is changed in an occurrence holds for all later ones too (RFC 5545 section 3.2.13)."""
    told = override.get("RECURRENCE-ID")
    return str(getattr(told, "params", {}).get("RANGE", "")).upper() == "THISANDFUTURE"
