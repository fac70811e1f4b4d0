"""The seam to where events are kept: a folder of files, or a calendar on a CalDAV server."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import icalendar

from tools_mcp.calendar.facts import Facts
from tools_mcp.calendar.ics import Series
from tools_mcp.errors import NotFoundError
from tools_mcp.texts import shown


@dataclass(frozen=True, eq=False)
class StoredSeries:
    """A series, where it is kept, and in which version it was seen."""

    place: str
    """A file name, or the address of a CalDAV resource."""
    version: str
    """Changes whenever what is kept there changes: a file's stamp, an ETag."""
    facts: Facts
    read: Callable[[], Series]

    @property
    def uid(self) -> str:
        """The id of the series."""
        return self.facts.event.id

    @cached_property
    def series(self) -> Series:
        """The series with all it has, parsed when it is first asked for.

        Raises:
            UnreadableError: It cannot be read any more.
        """
        return self.read()


@dataclass(frozen=True)
class Snapshot:
    """What the store held when it was looked at."""

    series: tuple[StoredSeries, ...]
    unreadable: int

    others: tuple[StoredSeries, ...] = ()
    """Older versions of a series that is in `series`, kept in other places."""

    @cached_property
    def _by_uid(self) -> Mapping[str, StoredSeries]:
        return {stored.uid: stored for stored in self.series}

    def copies(self, stored: StoredSeries) -> list[StoredSeries]:
        """Return the older versions of a series that are kept besides."""
        return [other for other in self.others if other.uid == stored.uid]

    def find(self, uid: str) -> StoredSeries | None:
        """Return the series of this id, if there is one."""
        return self._by_uid.get(uid)

    def get(self, uid: str) -> StoredSeries:
        """Return the series of this id.

        Raises:
            NotFoundError: There is none.
        """
        found = self.find(uid)
        if found is None:
            raise NotFoundError(f"No event has the id {shown(uid)}; take the id from calendar_list_events.")
        return found


def seen(found: Iterable[StoredSeries], unreadable: int) -> Snapshot:
    """Return a snapshot in which each id is there once: of several versions the one that is newest."""
    newest: dict[str, StoredSeries] = {}
    others: list[StoredSeries] = []
    for stored in found:
        known = newest.setdefault(stored.uid, stored)
        if known is not stored:
            newest[stored.uid], older = (stored, known) if stored.facts.age > known.facts.age else (known, stored)
            others.append(older)
    return Snapshot(tuple(newest.values()), unreadable, tuple(others))


class CalendarStore(Protocol):
    """Series by UID; each write is whole or not at all, and never over a version that was not seen."""

    def writing(self) -> AbstractContextManager[Snapshot]:
        """Hold the store against the other writers we know of and look at it.

        Raises:
            StoreError: It cannot be locked, read or written.
        """
        ...

    def snapshot(self) -> Snapshot:
        """Return all series.

        Raises:
            StoreError: The store cannot be read.
        """
        ...

    def add(self, uid: str, calendar: icalendar.Calendar) -> None:
        """Keep a new series; call it while `writing`.

        Raises:
            StoreError: It cannot be written.
        """
        ...

    def open(self, stored: StoredSeries) -> icalendar.Calendar:
        """Return all that is kept where a series is, for changing; call it while `writing`.

        Raises:
            ChangedError: It is not the version that was seen.
        """
        ...

    def save(self, stored: StoredSeries, calendar: icalendar.Calendar) -> None:
        """Replace what is kept where a series is; call it while `writing`.

        Raises:
            ChangedError: Another program changed it since it was seen; nothing was written.
        """
        ...

    def trash(self, stored: StoredSeries) -> None:
        """Move a series to the trash, and only it; call it while `writing`.

        Raises:
            ChangedError: Another program changed it since it was seen; nothing was deleted.
        """
        ...

    def keep(self, uid: str, calendar: icalendar.Calendar) -> None:
        """Put a copy of something that is about to be deleted or replaced into the trash."""
        ...

    def trashed(self) -> Iterator[Series]:
        """Return the series in the trash; call it while `writing`."""
        ...
