from __future__ import annotations

import pytest

from receipt_writer.format.canonical import MAX_LINE_BYTES
from receipt_writer.newest import MOST_BYTES, NewestLines

KILOBYTE = bytes(1024)


def holding(lines: list[bytes], first_id: int = 1) -> NewestLines:
    newest = NewestLines()
    for entry_id, line in enumerate(lines, first_id):
        newest.add(entry_id, line)
    return newest


@pytest.mark.parametrize(
    ("first_id", "expected"),
    [(7, [b"a", b"b", b"c"]), (8, [b"b", b"c"]), (9, [b"c"]), (10, []), (11, []), (6, []), (0, [])],
)
def test_lines_are_told_from_an_id_on_when_all_of_them_are_held(first_id: int, expected: list[bytes]) -> None:
    assert holding([b"a", b"b", b"c"], first_id=7).since(first_id) == expected


def test_nothing_is_held_at_first() -> None:
    assert holding([]).since(1) == []


def test_the_oldest_lines_are_let_go() -> None:
    count = MOST_BYTES // len(KILOBYTE)
    newest = holding([KILOBYTE] * (count + 5))
    assert newest.since(5) == []
    assert len(newest.since(6)) == count


def test_many_short_lines_make_room_for_a_long_one() -> None:
    newest = holding([KILOBYTE] * 200 + [bytes(MAX_LINE_BYTES)])
    held = next(lines for first in range(1, 202) if (lines := newest.since(first)))
    assert sum(map(len, held)) == MOST_BYTES


def test_the_newest_line_is_held_however_long_it_is() -> None:
    assert holding([KILOBYTE, bytes(MOST_BYTES + 1)]).since(2) == [bytes(MOST_BYTES + 1)]
