"""What the calendar keeps and what its tools answer."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal, TypeAlias

from pydantic import BaseModel, Field

Status: TypeAlias = Literal["created", "exists", "updated", "unchanged", "deleted", "found"]
Scope: TypeAlias = Literal["this", "following", "all"]
"""Of a series: one occurrence, this one and all later ones, or every one."""


@dataclass(frozen=True)
class Event:
    """One event, or one occurrence of a series, as read from its file.

    `start` and `end` are aware datetimes, or dates for an all-day event, whose `end` is the day after its last one
    (RFC 5545 section 3.6.1).
    """

    id: str
    title: str
    start: date
    end: date
    zone: str | None = None
    """The IANA name its times are kept in; none for all-day events."""
    location: str = ""
    notes: str = ""
    attendees: tuple[str, ...] = ()
    recurrence: str = ""
    """The RRULE of its series; an occurrence does not carry it."""
    reminders: tuple[int, ...] = ()
    """Minutes before the start at which to be reminded, the earliest first."""
    repeats: bool = False
    """A series, or one occurrence of one."""
    cancelled: bool = False
    takes_time: bool = True
    """Whether nothing else fits beside it. All-day events do so only when their file says it: think of birthdays."""
    changed: bool = False
    """An occurrence that differs from its series (RECURRENCE-ID)."""
    source: str = ""
    """Who wrote it when it was not us: its organizer, or the program; its words may then be anybody's."""
    series_id: str = ""
    """The id of the whole series, when `id` names one occurrence of it."""

    @property
    def all_day(self) -> bool:
        """Whether it has dates and no times."""
        return not isinstance(self.start, datetime)

    @property
    def foreign(self) -> bool:
        """Whether somebody else's words may be in it."""
        return bool(self.source)


@dataclass(frozen=True)
class EventFields:
    """The arguments of create and update as the caller wrote them; `None` is not given, an empty text clears."""

    title: str | None = None
    start: str | None = None
    end: str | None = None
    duration: str | None = None
    timezone: str | None = None
    all_day: bool | None = None
    attendees: tuple[str, ...] | None = None
    location: str | None = None
    notes: str | None = None
    recurrence: str | None = None
    reminders: tuple[str, ...] | None = None


@dataclass(frozen=True)
class EventDraft:
    """An event that was checked and can be stored; the fields mean what they mean in `Event`."""

    title: str
    start: date
    end: date
    location: str = ""
    notes: str = ""
    attendees: tuple[str, ...] = ()
    recurrence: str = ""
    reminders: tuple[int, ...] = ()
    lasts: timedelta | None = None
    """Its length, when that was told and not its end; the two differ where a clock changes meanwhile."""
    remarks: tuple[str, ...] = ()
    """What had to be assumed, one sentence each."""


@dataclass(frozen=True)
class Outcome:
    """What became of one event."""

    status: Status
    event: Event
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Window:
    """A stretch of time to look at, as instants in UTC."""

    start: datetime
    end: datetime


class EventRow(BaseModel):
    """An event in a list; a list shows each occurrence of a series as its own row."""

    id: str
    title: str
    start: str = Field(description="local time with offset, or a date")
    end: str = Field(description="the last day when all_day")
    start_utc: str | None = None
    end_utc: str | None = None
    timezone: str | None = None
    all_day: bool = False
    location: str | None = None
    recurring: bool = False
    series_id: str | None = Field(default=None, description="of the whole series; id names the occurrence")
    changed: bool | None = Field(default=None, description="differs from its series")
    cancelled: bool | None = None
    untrusted: bool | None = Field(default=None, description="written by another program")
    source: str | None = Field(default=None, description="who wrote it, when it was not us")


class EventDetail(EventRow):
    """An event whole."""

    notes: str | None = None
    attendees: list[str] = []
    recurrence: str | None = None
    reminders: list[int] | None = Field(default=None, description="minutes before the start")


class EventAnswer(BaseModel):
    """What became of one event."""

    status: Status
    event: EventDetail
    remarks: list[str] = []


class EventList(BaseModel):
    """A page of events, earliest first."""

    events: list[EventRow]
    start: str
    end: str
    timezone: str
    next_cursor: str | None = None
    unreadable: int = Field(default=0, description="files that are no calendar files")
    remarks: list[str] = []


class Slot(BaseModel):
    """A free stretch of time."""

    start: str
    end: str
    start_utc: str
    end_utc: str
    minutes: int


class WholeDay(BaseModel):
    """An all-day event of another program among free time."""

    title: str
    start: str
    untrusted: bool
    source: str


class FreeSlots(BaseModel):
    """A page of free stretches, earliest first. All-day events do not take up time; they are named instead."""

    slots: list[Slot]
    timezone: str
    working_hours: str
    all_day_events: list[str] = []
    from_elsewhere: list[WholeDay] = Field(default=[], description="all-day events of other programs")
    remarks: list[str] = []
    next_cursor: str | None = None


class Skipped(BaseModel):
    """What an import left out, and why."""

    title: str
    reason: str


class ImportAnswer(BaseModel):
    """What became of the events of a calendar file; a series with its changed occurrences counts as one."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: list[Skipped] = []
    untrusted: bool | None = Field(default=None, description="titles are another program's")
    dry_run: bool = False


class ExportAnswer(BaseModel):
    """Events and series as the text of one calendar file."""

    ics: str
    events: int
    untrusted: bool | None = Field(default=None, description="other programs wrote some of it")


class Now(BaseModel):
    """The time."""

    local: str
    utc: str
    timezone: str
    weekday: str
