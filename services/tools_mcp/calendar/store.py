"""The folder of `.ics` files: one series per file, each write whole or not at all, several processes at once.

Layout: `<folder>/<UID>.ics`, deleted ones in `<folder>/.trash/`, the lock in `<folder>/.lock`, what was read of the
files in `<folder>/.index`. Files that other programs put there are read too, also when one holds several series.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from zoneinfo import ZoneInfo

import icalendar

from service_runtime.home import secure_write
from tools_mcp.calendar.facts import Facts, facts_in, series_from
from tools_mcp.calendar.ics import Series, UnreadableError, decode, encode, series_of
from tools_mcp.calendar.identity import file_name
from tools_mcp.calendar.index import Index, Read, Stamp
from tools_mcp.calendar.protocol import Snapshot, StoredSeries, seen
from tools_mcp.calendar.trash import Trash, belongs, free_path, part_of
from tools_mcp.disk import as_store_error, remove_leftovers
from tools_mcp.errors import ChangedError
from tools_mcp.locking import FolderLock

MOST_BYTES = 20_000_000
"""Of one file; a calendar larger than this is somebody's archive."""
_SETTLED_NS = 2_000_000_000  # a file may change twice within the grain of its time stamp, so young ones are not indexed


@dataclass
class CalendarFolder:
    """The files, with what was read of them kept until they change."""

    folder: Path
    zone: ZoneInfo
    """The configured zone, in which times without one are read."""
    _read: dict[str, tuple[Stamp, tuple[StoredSeries, ...], int]] = field(default_factory=dict)
    _unsaved: set[str] = field(default_factory=set)
    _indexed: bool = False
    _swept: bool = False
    _reading: threading.Lock = field(default_factory=threading.Lock)
    _lock: FolderLock = field(init=False)

    def __post_init__(self) -> None:
        self._lock = FolderLock(self.folder / ".lock", "calendar")

    @property
    def _trash(self) -> Trash:
        return Trash(self.folder / ".trash", self.zone)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Snapshot]:
        """Hold the folder against every other writer and look at it.

        Raises:
            StoreError: The folder cannot be locked, read or written.
        """
        with as_store_error("calendar", "written"), self._lock.held():
            self._sweep()
            yield self.snapshot()

    def snapshot(self) -> Snapshot:
        """Return all series; only files that are new or changed since the last look, in any process, are read.

        Raises:
            StoreError: The folder cannot be read.
        """
        with as_store_error("calendar", "read"), self._reading:
            stamps = dict(_stamps(self.folder))
            if stamps and not self._indexed:
                known = self._index().load()
                self._read = {name: self._stored(name, stamp, read) for name, (stamp, read) in known.items()}
            self._indexed = self._indexed or bool(stamps)
            gone = self._read.keys() - stamps.keys()
            for name in gone:
                del self._read[name]
            for name, stamp in stamps.items():
                if name not in self._read or self._read[name][0] != stamp:
                    self._read[name] = self._stored(name, stamp, self._parsed(name, stamp))
                    self._unsaved.add(name)
            self._save_index(gone)
            read_now = [self._read[name] for name in sorted(stamps)]
        series = (one for _, several, _ in read_now for one in several)
        return seen(series, sum(broken for _, _, broken in read_now))

    def add(self, uid: str, calendar: icalendar.Calendar) -> None:
        """Write a new series; call it while `writing`."""
        secure_write(free_path(self.folder, file_name(uid)), encode(calendar))

    def open(self, stored: StoredSeries) -> icalendar.Calendar:
        """Return the whole calendar of a series' file, for changing; call it while `writing`.

        Raises:
            ChangedError: The file is not the one that was seen.
        """
        path = self.folder / stored.place
        calendar = _decoded(path)
        self._check(stored)
        return calendar

    def save(self, stored: StoredSeries, calendar: icalendar.Calendar) -> None:
        """Write a changed calendar back to the file it came from; call it while `writing`.

        Raises:
            ChangedError: A program that knows nothing of our lock changed the file meanwhile.
        """
        secure_write(self.folder / stored.place, encode(calendar), lambda: self._check(stored))

    def trash(self, stored: StoredSeries) -> None:
        """Move a series to the trash; of a file with several series only this one. Call it while `writing`.

        The copy in the trash is complete before anything leaves the calendar.

        Raises:
            ChangedError: A program that knows nothing of our lock changed the file meanwhile.
        """
        calendar = self.open(stored)
        rest = [part for part in calendar.subcomponents if not belongs(part, stored.uid)]
        if not any(part.name == "VEVENT" for part in rest):
            (self.folder / stored.place).rename(self._trash.free(stored.place))
            return
        self._trash.add(stored.place, part_of(calendar, stored.uid))
        calendar.subcomponents = rest
        self.save(stored, calendar)

    def keep(self, uid: str, calendar: icalendar.Calendar) -> None:
        """Put a copy of something that is about to be deleted or replaced into the trash."""
        self._trash.add(file_name(uid), calendar)

    def trashed(self) -> Iterator[Series]:
        """Return the series in the trash; call it while `writing`."""
        return self._trash.series()

    def _sweep(self) -> None:
        """Take out, once, what a process left half written when it was killed; nobody else writes meanwhile."""
        if self._swept:
            return
        for folder in (self.folder, self.folder / ".trash"):
            if folder.is_dir():
                remove_leftovers(folder, time.time())
        self._swept = True

    def _check(self, stored: StoredSeries) -> None:
        try:
            facts = (self.folder / stored.place).stat()
        except FileNotFoundError:
            facts = None
        if facts is None or _version(_stamp(facts)) != stored.version:
            raise ChangedError("Another program changed this event at this moment; nothing was written, try again.")

    def _parsed(self, name: str, stamp: Stamp) -> Read:
        """Return what a file holds; nothing when it has gone meanwhile."""
        try:
            path = self.folder / name
            calendar = decode(path.read_bytes() if stamp[1] <= MOST_BYTES else b"", zones=False)
        except FileNotFoundError:
            return (), 0
        except (UnreadableError, PermissionError):
            return (), 1
        return facts_in(calendar, self.zone)

    def _stored(self, name: str, stamp: Stamp, read: Read) -> tuple[Stamp, tuple[StoredSeries, ...], int]:
        facts, broken = read
        version = _version(stamp)
        series = (StoredSeries(name, version, one, partial(self._series, name, one)) for one in facts)
        return stamp, tuple(series), broken

    def _series(self, name: str, facts: Facts) -> Series:
        if facts.source is not None:
            return series_from(facts, self.zone)
        try:
            found = series_of(_decoded(self.folder / name), self.zone)
        except (OSError, ChangedError) as error:
            raise UnreadableError("the file has gone") from error
        for series in found:
            if series.uid == facts.event.id:
                return series
        raise UnreadableError("the event has gone")

    def _index(self) -> Index:
        return Index(self.folder / ".index", f"{self.zone.key} icalendar {version('icalendar')}")

    def _save_index(self, gone: set[str]) -> None:
        settled = time.time_ns() - _SETTLED_NS
        ready = {name for name in self._unsaved & self._read.keys() if self._read[name][0][0] < settled}
        self._unsaved = (self._unsaved & self._read.keys()) - ready
        if ready or gone:
            rows = ((name, self._read[name]) for name in ready)
            read = {
                name: (stamp, (tuple(one.facts for one in series), broken)) for name, (stamp, series, broken) in rows
            }
            self._index().update(read, gone)


def _decoded(path: Path) -> icalendar.Calendar:
    try:
        return decode(path.read_bytes())
    except (FileNotFoundError, UnreadableError) as error:
        raise ChangedError(
            "Another program changed this event at this moment; nothing was written, try again."
        ) from error


def _stamps(folder: Path) -> Iterator[tuple[str, Stamp]]:
    if not folder.is_dir():
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            hidden = entry.name.startswith(".")
            if not hidden and entry.name.lower().endswith(".ics") and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(FileNotFoundError):  # it went away since the folder was listed
                    yield entry.name, _stamp(entry.stat(follow_symlinks=False))


def _stamp(facts: os.stat_result) -> Stamp:
    return facts.st_mtime_ns, facts.st_size, facts.st_ino, facts.st_ctime_ns


def _version(stamp: Stamp) -> str:
    return "-".join(str(part) for part in stamp)
