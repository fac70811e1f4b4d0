"""Traces are read back whatever version, order and state their lines are in."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from agent_host.errors import TraceError
from agent_host.tracing.reading import by_turn, read_file, read_folder

ROW = {"ts": "2026-11-30T12:00:00.000Z", "v": 2, "turn_id": "t_1", "type": "notice"}


def written(folder: Path, *rows: dict[str, Any] | bytes, day: str = "2026-11-30") -> Path:
    path = folder / f"{day}.jsonl"
    path.write_bytes(b"".join(row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows))
    return path


def test_a_line_is_read_with_its_time_its_turn_and_its_bytes(tmp_path: Path) -> None:
    path = written(tmp_path, ROW)

    (row,) = read_file(path).rows

    assert (row.kind, row.turn_id, row.version) == ("notice", "t_1", 2)
    assert row.at == datetime(2026, 11, 30, 12, tzinfo=UTC)
    assert row.raw == path.read_bytes()


def test_a_line_of_the_first_version_and_unknown_members_are_read(tmp_path: Path) -> None:
    old = {"type": "tool", "turn_id": "t_0", "tool": "find", "output": "x", "colour": ["blue"]}

    (row,) = read_file(written(tmp_path, old)).rows

    assert (row.version, row.at, row.members["colour"]) == (1, None, ["blue"])


@pytest.mark.parametrize("end", [b'{"type":"llm","tur', '{"type":"x","text":"caf\u00e9'.encode()[:-1], b"\x00\x00"])
def test_a_torn_last_line_is_passed_over_and_counted(tmp_path: Path, end: bytes) -> None:
    text = read_file(written(tmp_path, ROW, end))

    assert (len(text.rows), text.torn) == (1, 1)


@pytest.mark.parametrize(
    "odd",
    [b"\n", b"nonsense\n", b"[1]\n", b'{"no":"type"}\n', b'{"type":7}\n', b"[" * 100_000 + b"\n", b"1" * 9_000 + b"\n"],
)
def test_a_line_that_is_none_costs_itself_alone(tmp_path: Path, odd: bytes) -> None:
    assert len(read_file(written(tmp_path, ROW, odd, ROW)).rows) == 2


def test_a_line_torn_inside_a_character_and_ended_by_the_next_writer_is_passed_over(tmp_path: Path) -> None:
    torn = '{"type":"notice","text":"\u20ac'.encode()[:-1] + b"\n"

    text = read_file(written(tmp_path, torn, ROW))

    assert (len(text.rows), text.torn) == (1, 1)


@pytest.mark.parametrize(
    "saved",
    [
        '{"type":"notice","text":"caf\u00e9 au lait"}\n'.encode("latin-1"),
        '{"type":"notice"}\n'.encode("utf-16"),
        '{"type":"notice","text":"\u201ctea\u201d today"}\n'.encode("cp1252"),
    ],
)
def test_a_file_in_another_encoding_is_refused_and_told_why(tmp_path: Path, saved: bytes) -> None:
    with pytest.raises(TraceError, match=r"2026-11-30\.jsonl is not UTF-8 \(line 1, byte \d+\).*Save it as UTF-8"):
        read_file(written(tmp_path, saved, ROW))


def test_a_mark_at_the_start_of_a_file_that_an_editor_put_there_is_no_matter(tmp_path: Path) -> None:
    assert len(read_file(written(tmp_path, b"\xef\xbb\xbf" + json.dumps(ROW).encode() + b"\n", ROW)).rows) == 2


def test_a_folder_is_read_from_a_day_on_and_a_refused_file_is_told_without_losing_the_others(tmp_path: Path) -> None:
    written(tmp_path, ROW, day="2026-11-28")
    written(tmp_path, b"\xff\xfe{\x00\n", day="2026-11-29")
    written(tmp_path, ROW, b"torn", day="2026-11-30")
    (tmp_path / "notes-2026.jsonl").write_bytes(b"\xff")
    (tmp_path / "2026-99-99.jsonl").write_bytes(b"\xff")

    text = read_folder(tmp_path, date(2026, 11, 29))

    assert (len(text.rows), text.torn, len(text.problems)) == (1, 1, 1)
    assert len(read_folder(tmp_path).rows) == 2


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert read_folder(tmp_path / "none").rows == ()


def test_lines_of_turns_that_ran_at_once_are_told_apart_and_one_without_a_name_is_of_the_last_begun(
    tmp_path: Path,
) -> None:
    start = {"type": "turn_start"}
    rows = read_file(
        written(tmp_path, start | {"turn_id": "a"}, start | {"turn_id": "b"}, {**ROW, "turn_id": "a"}, {"type": "llm"})
    ).rows

    assert {turn: [row.kind for row in found] for turn, found in by_turn(rows).items()} == {
        "a": ["turn_start", "notice"],
        "b": ["turn_start", "llm"],
    }


@pytest.mark.parametrize("ts", [None, 7, "yesterday", "9999-12-31T23:59:59-23:59"])
def test_a_time_that_is_none_is_none(tmp_path: Path, ts: object) -> None:
    (row,) = read_file(written(tmp_path, {**ROW, "ts": ts})).rows

    assert row.at is None
