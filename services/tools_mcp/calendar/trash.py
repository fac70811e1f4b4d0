"""Where deleted and replaced events lie, as calendar files: nothing a person deletes is gone at once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

import icalendar

from service_runtime.home import secure_write
from tools_mcp.calendar.ics import Series, UnreadableError, decode, encode, series_of


@dataclass(frozen=True)
class Trash:
    """A folder of `.ics` files that nothing is ever overwritten in."""

    folder: Path
    zone: ZoneInfo

    def add(self, name: str, calendar: icalendar.Calendar) -> None:
        """Keep a calendar under this file name, or the nearest that is free.

        Raises:
            OSError: The disk refused.
        """
        secure_write(self.free(name), encode(calendar))

    def free(self, name: str) -> Path:
        """Return the path for a file of this name that is not there yet, in the folder, which is made."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        return free_path(self.folder, name)

    def series(self) -> Iterator[Series]:
        """Return what is in the trash; what cannot be read is left out."""
        for path in sorted(self.folder.glob("*.ics")):
            try:
                yield from series_of(decode(path.read_bytes(), zones=False), self.zone)
            except (UnreadableError, OSError):
                continue


def free_path(folder: Path, name: str) -> Path:
    """Return the path for a file of this name, numbered when there is one already."""
    stem = name[: -len(".ics")]
    candidates = (folder / f"{stem}{f' {number}' if number > 1 else ''}.ics" for number in range(1, 100_000))
    return next(path for path in candidates if not path.exists())


def part_of(calendar: icalendar.Calendar, uid: str) -> icalendar.Calendar:
    """Return the calendar with the zones and the events of this UID only; properties of the calendar stay."""
    return with_events(calendar, [one for one in calendar.subcomponents if belongs(one, uid)])


def with_events(calendar: icalendar.Calendar, events: Iterable[icalendar.Component]) -> icalendar.Calendar:
    """Return the calendar with these events and the zones they use only; properties of the calendar stay."""
    part = icalendar.Calendar(calendar)
    part.subcomponents = list(events)
    used = part.get_used_tzids()
    zones = [one for one in calendar.subcomponents if one.name == "VTIMEZONE" and str(one.get("TZID", "")) in used]
    part.subcomponents = [*zones, *part.subcomponents]
    return part


def belongs(component: icalendar.Component, uid: str) -> bool:
    """Whether a component is an event of this UID."""
    return component.name == "VEVENT" and str(component.get("UID", "")) == uid
