"""Reports in a folder: the Markdown as it was written, and beside it what is known of it.

    <id>.md    the report, from its marker on
    <id>.json  title, summary, scope, when it was saved, which addresses had been fetched; written last
    <id>.html  its page, once somebody asked for one

An id is made of scope and text, so that the same report saved twice is one.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from service_runtime.home import secure_write
from service_runtime.settings import Settings
from tools_mcp.disk import as_store_error
from tools_mcp.errors import InvalidInputError, NotFoundError
from tools_mcp.locking import FolderLock
from tools_mcp.reports.model import Problem, Report
from tools_mcp.reports.reading import MOST_BULLETS, read_report
from tools_mcp.texts import cut, shown

MOST_BYTES = 400_000

_ID = re.compile(r"report-[0-9a-f]{16}")
_FOLDER = "reports"
_STATE = ".prometheus"
_MOST_DAMAGED, _MOST_NAME_BYTES = 10, 100
_LAST_MS = 253_370_764_800_000  # the year 9999, which every zone can show


@dataclass(frozen=True)
class Saved:
    """What is known of a report in the folder."""

    id: str
    title: str
    summary: tuple[str, ...]
    scope: str
    saved_at_ms: int
    sources_seen: tuple[str, ...] | None
    memory_id: str | None = None


@dataclass(frozen=True)
class ReportFolder:
    """The reports of one person; several processes may use it at once."""

    root: Path
    zone: ZoneInfo
    now: Callable[[], datetime]
    lock: FolderLock

    def save(
        self, report: Report, scope: str, seen: Sequence[str] | None, memory_id: str | None = None
    ) -> tuple[bool, Saved]:
        """Keep a report; False and the first one when the scope holds the same text already.

        `memory_id` is the memory that holds the report too; one that is told later is added to the report there is.

        Raises:
            InvalidInputError: It is larger than `MOST_BYTES`.
            StoreError: The folder cannot be written.
        """
        text = report.text.rstrip("\n") + "\n"
        if len(text.encode()) > MOST_BYTES:
            raise InvalidInputError(f"The report has {len(text.encode())} bytes; keep it under {MOST_BYTES}.")
        made = hashlib.sha256(f"{scope}\0{text}".encode()).hexdigest()[:16]
        saved = Saved(
            id=f"report-{made}",
            title=report.title,
            summary=report.summary,
            scope=scope,
            saved_at_ms=int(self.now().timestamp() * 1000),
            sources_seen=None if seen is None else tuple(seen),
            memory_id=memory_id,
        )
        with self.lock.held():
            earlier = self._known(saved.id)
            if earlier is not None and memory_id in {None, earlier.memory_id}:
                return False, earlier
            told = saved if earlier is None else replace(earlier, memory_id=memory_id)
            with as_store_error(_FOLDER, "written"):
                if earlier is None:
                    secure_write(self._path(saved.id, "md"), text.encode())
                secure_write(self._path(saved.id, "json"), json.dumps(asdict(told), ensure_ascii=False).encode())
        return earlier is None, told

    def read(self, report_id: str) -> tuple[Saved, str]:
        """Return what is known of a report, and its text.

        Raises:
            NotFoundError: There is no such report.
            StoreError: The file cannot be read.
        """
        saved = self._known(report_id)
        if saved is None:
            raise NotFoundError(f"There is no report {shown(report_id)}; report_list tells the ids there are.")
        with as_store_error(_FOLDER, "read"):
            content = self._path(saved.id, "md").read_bytes()
        try:
            return saved, content.decode()
        except UnicodeDecodeError as error:
            raise NotFoundError(f"The file of the report {shown(report_id)} is no UTF-8 text; save it anew.") from error

    def whole(self, report_id: str) -> tuple[Saved, Report, tuple[Problem, ...]]:
        """Return a report as data, with the rules it breaks.

        Raises:
            NotFoundError: There is no such report, or its file was changed to something that is none.
            StoreError: The file cannot be read.
        """
        saved, text = self.read(report_id)
        reading = read_report(text)
        if reading.report is None:
            raise NotFoundError(f"The file of the report {shown(report_id)} holds no report any more; save it anew.")
        return saved, reading.report, reading.problems

    def newest(self, scope: str | None) -> list[Saved]:
        """Return the reports of a scope, or of all, the newest first.

        Raises:
            StoreError: The folder cannot be read.
        """
        found = [one for _, one in self._all() if one is not None and scope in {None, one.scope}]
        return sorted(found, key=lambda one: (one.saved_at_ms, one.id), reverse=True)

    def damaged(self) -> list[str]:
        """Return the names of the first files that tell of no report any more, for somebody to look at.

        Raises:
            StoreError: The folder cannot be read.
        """
        return sorted(cut(name, _MOST_NAME_BYTES) for name, saved in self._all() if saved is None)[:_MOST_DAMAGED]

    def write_page(self, report_id: str, html: str) -> str:
        """Write a report's page and return the file's name.

        Raises:
            StoreError: The folder cannot be written.
        """
        path = self._path(report_id, "html")
        with as_store_error(_FOLDER, "written"):
            secure_write(path, html.encode())
        return path.name

    def local(self, at_ms: int) -> datetime:
        """Return a time in the person's zone."""
        return datetime.fromtimestamp(at_ms / 1000, self.zone)

    def _path(self, report_id: str, suffix: str) -> Path:
        return self.root / f"{report_id}.{suffix}"

    def _known(self, report_id: str) -> Saved | None:
        if not _ID.fullmatch(report_id):
            return None
        path = self._path(report_id, "json")
        with as_store_error(_FOLDER, "read"):
            return _decoded(report_id, path.read_bytes()) if path.is_file() else None

    def _all(self) -> Iterator[tuple[str, Saved | None]]:
        """Yield the name of every file of facts, and the facts; None where it holds none."""
        with as_store_error(_FOLDER, "read"):
            for path in self.root.glob("report-*.json"):
                if path.is_file():
                    yield path.name, _decoded(path.stem, path.read_bytes()) if _ID.fullmatch(path.stem) else None


def open_reports(settings: Settings) -> ReportFolder:
    """Open the reports of a home, making their folder when there is none.

    Raises:
        SetupError: The home cannot be written or the configured zone is unknown.
    """
    root = settings.home.folder(_FOLDER)
    lock = FolderLock(settings.home.folder(f"{_FOLDER}/{_STATE}") / "lock", _FOLDER)
    return ReportFolder(root, settings.zone(), lambda: datetime.now(UTC), lock)


def check(settings: Settings) -> str:
    """Say in one sentence what is there.

    Raises:
        SetupError: The home cannot be written or the configured zone is unknown.
        StoreError: The folder cannot be read.
    """
    return f"reports: {len(open_reports(settings).newest(None))} reports"


def _decoded(report_id: str, content: bytes) -> Saved | None:
    """Return the facts in a file, whose name is the id: what it says of itself must not lead elsewhere."""
    try:
        members: dict[str, Any] = json.loads(content)
        seen, at_ms, memory_id = members["sources_seen"], members["saved_at_ms"], members["memory_id"]
        is_time = isinstance(at_ms, int) and not isinstance(at_ms, bool) and 0 <= at_ms < _LAST_MS
        if members["id"] != report_id or not is_time:
            return None
        return Saved(
            id=report_id,
            title=_text(members["title"]),
            summary=tuple(map(_text, members["summary"][:MOST_BULLETS])),
            scope=_text(members["scope"]),
            saved_at_ms=at_ms,
            sources_seen=None if seen is None else tuple(map(_text, seen)),
            memory_id=None if memory_id is None else _text(memory_id),
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _text(value: object) -> str:
    """Return a text that can be written again; half of a surrogate pair cannot."""
    if not isinstance(value, str):
        raise TypeError(value)
    value.encode()
    return value
