"""The folder of `.ics` files: one series per file, each write whole or not at all, several processes at once.

Layout: `<folder>/<UID>.ics`, deleted ones in `<folder>/.trash/`, the lock in `<folder>/.lock`. Files that other
programs put there are read too, also when one holds several series.
"""

import contextlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo

import icalendar

from service_runtime.home import secure_write
from tools_mcp.calendar.ics import Series, UnreadableError, decode, encode, series_of
from tools_mcp.disk import as_store_error
from tools_mcp.errors import NotFoundError
from tools_mcp.locking import FolderLock
from tools_mcp.texts import shown

_MOST_BYTES = 20_000_000  # of one file; a calendar larger than this is somebody's archive
_Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class StoredSeries:
    """A series and the file it is in."""

    file: str
    series: Series


@dataclass(frozen=True)
class Snapshot:
    """What the folder held when it was looked at."""

    series: tuple[StoredSeries, ...]
    unreadable: int

    def get(self, uid: str) -> StoredSeries:
        """Return the series of this id.

        Raises:
            NotFoundError: There is none.
        """
        found = next((stored for stored in self.series if stored.series.uid == uid), None)
        if found is None:
            raise NotFoundError(f"No event has the id {shown(uid)}; take the id from calendar_list_events.")
        return found


@dataclass
class CalendarFolder:
    """The files, with what was read of them kept until they change."""

    folder: Path
    zone: ZoneInfo
    """The configured zone, in which times without one are read."""
    _read: dict[str, tuple[_Stamp, tuple[Series, ...] | None]] = field(default_factory=dict)
    _reading: threading.Lock = field(default_factory=threading.Lock)
    _lock: FolderLock = field(init=False)

    def __post_init__(self) -> None:
        self._lock = FolderLock(self.folder / ".lock", "calendar")

    @contextlib.contextmanager
    def writing(self) -> Iterator[Snapshot]:
        """Hold the folder against every other writer and look at it.

        Raises:
            StoreError: The folder cannot be locked, read or written.
        """
        with as_store_error("calendar", "written"), self._lock.held():
            yield self.snapshot()

    def snapshot(self) -> Snapshot:
        """Return all series; only files that are new or changed since the last look are read.

        Raises:
            StoreError: The folder cannot be read.
        """
        with as_store_error("calendar", "read"), self._reading:
            stamps = dict(_stamps(self.folder))
            for name in self._read.keys() - stamps.keys():
                del self._read[name]
            for name, stamp in stamps.items():
                if name not in self._read or self._read[name][0] != stamp:
                    self._read[name] = stamp, self._series(self.folder / name)
            known = [(name, self._read[name][1]) for name in sorted(stamps)]
        series = (StoredSeries(name, one) for name, several in known for one in several or ())
        return Snapshot(tuple(series), sum(several is None for _, several in known))

    def add(self, uid: str, calendar: icalendar.Calendar) -> None:
        """Write a new series; call it while `writing`."""
        secure_write(self.folder / f"{uid}.ics", encode(calendar))

    def open(self, stored: StoredSeries) -> icalendar.Calendar:
        """Return the whole calendar of a series' file, for changing; call it while `writing`."""
        return decode((self.folder / stored.file).read_bytes())

    def save(self, stored: StoredSeries, calendar: icalendar.Calendar) -> None:
        """Write a changed calendar back to the file it came from; call it while `writing`."""
        secure_write(self.folder / stored.file, encode(calendar))

    def trash(self, stored: StoredSeries) -> None:
        """Move a series to the trash; of a file with several series only this one. Call it while `writing`.

        The copy in the trash is complete before anything leaves the calendar.
        """
        trash = self.folder / ".trash"
        trash.mkdir(mode=0o700, exist_ok=True)
        source = self.folder / stored.file
        target = _free_name(trash, stored.file)
        calendar = self.open(stored)
        rest = [part for part in calendar.subcomponents if not _belongs(part, stored.series.uid)]
        if not any(part.name == "VEVENT" for part in rest):
            source.rename(target)
            return
        removed = decode(source.read_bytes())
        removed.subcomponents = [
            part for part in removed.subcomponents if part.name == "VTIMEZONE" or _belongs(part, stored.series.uid)
        ]
        secure_write(target, encode(removed))
        calendar.subcomponents = rest
        secure_write(source, encode(calendar))

    def trashed(self) -> Iterator[Series]:
        """Return the series in the trash; call it while `writing`."""
        for name, _ in _stamps(self.folder / ".trash"):
            yield from self._series(self.folder / ".trash" / name) or ()

    def _series(self, path: Path) -> tuple[Series, ...] | None:
        """Return the series of a file; none when it is unreadable, no series when it has gone meanwhile."""
        try:
            data = path.read_bytes() if path.stat().st_size <= _MOST_BYTES else b""
            return tuple(series_of(decode(data, zones=False), self.zone))
        except FileNotFoundError:
            return ()
        except (UnreadableError, PermissionError):
            return None


def _stamps(folder: Path) -> Iterator[tuple[str, _Stamp]]:
    if not folder.is_dir():
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            hidden = entry.name.startswith(".")
            if not hidden and entry.name.lower().endswith(".ics") and entry.is_file(follow_symlinks=False):
                facts = entry.stat(follow_symlinks=False)
                yield entry.name, (facts.st_mtime_ns, facts.st_size, facts.st_ino)


def _belongs(component: icalendar.Component, uid: str) -> bool:
    return component.name == "VEVENT" and str(component.get("UID", "")) == uid


def _free_name(folder: Path, name: str) -> Path:
    stem = name[: -len(".ics")]
    candidates = (folder / f"{stem}{f' {number}' if number > 1 else ''}.ics" for number in range(1, 10_000))
    return next(path for path in candidates if not path.exists())
