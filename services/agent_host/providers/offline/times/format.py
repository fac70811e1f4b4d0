"""Dates and times as a person reads them: "Friday 4 December, 09:00"."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip  # strftime would follow the process's locale
_DASH = "\N{EN DASH}"


def show_day(day: date, today: date) -> str:
    """Returns "Friday 4 December", with the year when it is not this one."""
    year = "" if day.year == today.year else f" {day.year}"
    return f"{_WEEKDAYS[day.weekday()]} {day.day} {_MONTHS[day.month - 1]}{year}"


def show_moment(moment: datetime, today: date) -> str:
    """Returns "Friday 4 December, 09:00"."""
    return f"{show_day(moment.date(), today)}, {moment:%H:%M}"


def show_span(start: datetime, end: datetime, today: date) -> str:
    """Returns the start, a dash and the end's clock time; the second day is named when it is another one."""
    if start.date() == end.date():
        return f"{show_moment(start, today)}{_DASH}{end:%H:%M}"
    return f"{show_moment(start, today)} {_DASH} {show_moment(end, today)}"


def show_days(start: datetime, end: datetime, today: date) -> str:
    """Returns the days between two midnights, the last one exclusive; clock times when they are no midnights."""
    if start.time() != time() or end.time() != time():
        return show_span(start, end, today)
    last = (end - timedelta(days=1)).date()
    if last <= start.date():
        return show_day(start.date(), today)
    return f"{show_day(start.date(), today)} to {show_day(last, today)}"


def show_minutes(minutes: int) -> str:
    """Returns "30 minutes", "1 hour", "1 hour 30 minutes", "2 days"."""
    days, rest = divmod(minutes, 24 * 60)
    hours, left = divmod(rest, 60)
    parts = ((days, "day"), (hours, "hour"), (left, "minute"))
    return " ".join(f"{count} {unit}{'' if count == 1 else 's'}" for count, unit in parts if count)
