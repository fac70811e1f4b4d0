"""Reads trace files back: every version of a line, unknown members, torn lines; never a file in another encoding.

Lines without `v` are version 1 (agent.md 2.6): what they do not say stays empty. A line that a full disk or a death cut
short is passed over and counted. A file that is not UTF-8 is refused whole, since half of it would read as nonsense.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

from agent_host.errors import TraceError

_TORN: Final = "unexpected end of data"
"""Python's reason for a character whose last bytes are missing: the end of a line that was cut short."""
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Row:
    """One trace line; `turn_id` is empty and `at` None where it does not say, `raw` is its bytes as they stand."""

    kind: str
    turn_id: str
    version: int
    at: datetime | None
    members: Mapping[str, Any]
    raw: bytes


@dataclass(frozen=True)
class TraceText:
    """What one or more files hold: rows in their order, how many lines were torn, one sentence a file not read."""

    rows: tuple[Row, ...]
    torn: int
    problems: tuple[str, ...] = ()


def read_file(path: Path) -> TraceText:
    """Reads one day's file.

    Raises:
        TraceError: it is not UTF-8.
        OSError: it cannot be read.
    """
    rows: list[Row] = []
    torn = 0
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            line = raw.removeprefix(_BOM) if number == 1 else raw
            if not line.strip():
                continue
            row = _row(_decoded(line, path.name, number), raw)
            if row is None:
                torn += 1
            else:
                rows.append(row)
    return TraceText(tuple(rows), torn)


def read_folder(folder: Path, first: date | None = None) -> TraceText:
    """Reads the files of a folder, oldest day first, from the day `first` on; a file that is refused is a problem."""
    rows: list[Row] = []
    problems: list[str] = []
    torn = 0
    for path in _files(folder, first):
        try:
            text = read_file(path)
        except TraceError as error:
            problems.append(str(error))
        except OSError as error:
            problems.append(f"{path.name} cannot be read ({error.strerror}); look at its permissions.")
        else:
            rows += text.rows
            torn += text.torn
    return TraceText(tuple(rows), torn, tuple(problems))


def _files(folder: Path, first: date | None) -> Iterator[Path]:
    for path in sorted(folder.glob("????-??-??.jsonl")):
        try:
            day = date.fromisoformat(path.stem)
        except ValueError:
            continue
        if first is None or day >= first:
            yield path


def _decoded(line: bytes, name: str, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        broken_off = error.reason == _TORN or line[error.end :].strip() == b""
        if broken_off and not line.startswith((b"\xff\xfe", b"\xfe\xff")):
            return ""
        raise TraceError(
            f"{name} is not UTF-8 (line {number}, byte {error.start + 1}): another program has saved it in another "
            "encoding, and its lines would be misread. Save it as UTF-8 again, or move it out of the folder."
        ) from error


def _row(text: str, raw: bytes) -> Row | None:
    """Returns a line as a row, None for one that is torn or no line of a trace."""
    try:
        members = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(members, dict):
        return None
    kind, turn_id, version = members.get("type"), members.get("turn_id"), members.get("v", 1)
    if not isinstance(kind, str):
        return None
    return Row(
        kind=kind,
        turn_id=turn_id if isinstance(turn_id, str) else "",
        version=version if isinstance(version, int) else 1,
        at=_time(members.get("ts")),
        members=members,
        raw=raw,
    )


def _time(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(value).astimezone(UTC) if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None


def by_turn(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Returns the rows of each turn, in the order the turns first appear; one that names none is of the last begun."""
    turns: dict[str, list[Row]] = {}
    last = ""
    for row in rows:
        if row.kind == "turn_start":
            last = row.turn_id
        if turn_id := row.turn_id or last:
            turns.setdefault(turn_id, []).append(row)
    return turns
