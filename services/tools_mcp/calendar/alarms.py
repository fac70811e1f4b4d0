"""Reminders as iCalendar keeps them: VALARM components (RFC 5545 section 3.6.6) in minutes before the start. Pure."""

from collections.abc import Iterable
from datetime import timedelta

import icalendar

from tools_mcp.calendar.properties import moment


def reminders_of(component: icalendar.Component) -> tuple[int, ...]:
    """Return the minutes before the start at which a person is reminded, the earliest first."""
    minutes = {_minutes_before(part) for part in component.subcomponents}
    return tuple(sorted((one for one in minutes if one is not None), reverse=True))


def set_reminders(component: icalendar.Component, reminders: Iterable[int], title: str) -> None:
    """Replace what a person sees or hears before the start; other alarms, such as e-mails, stay."""
    rest = [part for part in component.subcomponents if _minutes_before(part) is None]
    component.subcomponents = [*rest, *(_alarm(minutes, title) for minutes in reminders)]


def _alarm(minutes: int, title: str) -> icalendar.Alarm:
    alarm = icalendar.Alarm()
    alarm.add("ACTION", "DISPLAY")
    alarm.add("DESCRIPTION", title)
    alarm.add("TRIGGER", -timedelta(minutes=minutes))
    return alarm


def _minutes_before(part: icalendar.Component) -> int | None:
    """Return how long before the start an alarm that a person sees or hears goes off; none for other components."""
    trigger = moment(part, "TRIGGER")
    shown = part.name == "VALARM" and str(part.get("ACTION", "")).upper() in {"DISPLAY", "AUDIO"}
    at_end = str(getattr(part.get("TRIGGER"), "params", {}).get("RELATED", "")).upper() == "END"
    if not shown or at_end or not isinstance(trigger, timedelta) or trigger > timedelta(0):
        return None
    return -trigger // timedelta(minutes=1)
