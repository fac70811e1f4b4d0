from __future__ import annotations

import sys
from collections.abc import Callable
from hashlib import sha256
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from receipt_writer.format.canonical import MAX_LINE_BYTES
from receipt_writer.storage.chain_file import ChainFile
from receipt_writer.storage.filesystem import OsFileSystem

Tracer = Callable[[FrameType, str, Any], Any]


def opened(path: Path, content: bytes) -> ChainFile:
    path.write_bytes(content)
    return ChainFile(OsFileSystem(), path, writable=True)


def test_lines_end_at_a_line_feed_and_at_nothing_else(tmp_path: Path) -> None:
    content = b'{"a":"\x0b\x0c\r\xc2\x85\xe2\x80\xa8"}\nsecond\n'
    file = opened(tmp_path / "c", content)
    assert list(file.lines(len(content))) == content.split(b"\n")[:-1]
    assert (file.size, file.end_bytes) == (2, len(content))


def test_lines_that_cross_the_reading_chunk_come_whole(tmp_path: Path) -> None:
    lines = [bytes([65 + number % 26]) * 40_000 for number in range(60)]
    content = b"".join(line + b"\n" for line in lines)
    file = opened(tmp_path / "c", content)
    assert list(file.lines(len(content))) == lines


def test_lines_are_read_back_by_id(tmp_path: Path) -> None:
    file = opened(tmp_path / "c", b"one\ntwo\nthree\n")
    list(file.lines(14))
    assert file.read(2, 1) == [b"two"]
    assert file.read(1, 99) == [b"one", b"two", b"three"]
    assert file.read(3, 2) == [b"three"]


@pytest.mark.parametrize("first_id", [0, 4, -1])
def test_an_id_outside_the_chain_reads_nothing(tmp_path: Path, first_id: int) -> None:
    file = opened(tmp_path / "c", b"one\ntwo\nthree\n")
    list(file.lines(14))
    assert file.read(first_id, 1) == []


def test_an_appended_line_is_unknown_until_it_is_advanced_over(tmp_path: Path) -> None:
    file = opened(tmp_path / "c", b"one\n")
    list(file.lines(4))
    file.append([b"two"])
    assert (file.read(2, 1), file.length_bytes()) == ([], 8)
    file.advance([b"two"])
    assert file.read(2, 1) == [b"two"]


def test_lines_that_have_gone_are_an_error_and_not_an_empty_answer(tmp_path: Path) -> None:
    file = opened(tmp_path / "c", b"one\ntwo\nthree\n")
    list(file.lines(14))
    (tmp_path / "c").write_bytes(b"one\n")
    with pytest.raises(OSError, match="shorter"):
        file.read(2, 2)


@pytest.mark.parametrize(
    ("content", "committed", "end"),
    [
        (b"", None, 0),
        (b"one\n", None, 4),
        (b"one\ntw", None, 4),
        (b"tw", None, 0),
        (b"one\ntw", 4, 4),
        (b"one\ntwo\nth", 4, 8),
        (b"one\n\0\0\0\0", 4, 4),
        (b"one\ntwo\nth\0\0e\nfour\n", 4, 8),
    ],
)
def test_the_sound_end_comes_before_an_unfinished_write(
    tmp_path: Path, content: bytes, committed: int | None, end: int
) -> None:
    assert opened(tmp_path / "c", content).sound_end(committed) == end


def test_a_complete_bad_line_is_never_taken_for_a_torn_write(tmp_path: Path) -> None:
    content = b"one\ngarbage that ends in a line break\n"
    assert opened(tmp_path / "c", content).sound_end(4) == len(content)


def test_a_hole_is_no_torn_write_when_no_commit_point_is_known(tmp_path: Path) -> None:
    content = b"one\nt\0o\nthree\n"
    assert opened(tmp_path / "c", content).sound_end(None) == len(content)


def test_a_line_that_no_entry_can_be_is_handed_on_without_being_collected(tmp_path: Path) -> None:
    content = b"x" * (MAX_LINE_BYTES * 40) + b"\n"
    file = opened(tmp_path / "c", content)
    (piece,) = list(file.lines(len(content)))
    assert MAX_LINE_BYTES < len(piece) < len(content)


def test_a_file_opened_for_reading_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ChainFile(OsFileSystem(), tmp_path / "absent", writable=False)
    assert list(tmp_path.iterdir()) == []


def read_while_lines_become_known(file: ChainFile, at: int) -> tuple[list[bytes], bool]:
    """Read line 1 while two lines become known before step `at` of `ChainFile.read`; say whether it came so far."""
    steps = count()

    def grow(frame: FrameType, _event: str, _argument: object) -> Tracer | None:
        if frame.f_code is not ChainFile.read.__code__:
            return None
        frame.f_trace_opcodes = True
        if next(steps) == at:
            file.append([b"more", b"more"])
            file.advance([b"more", b"more"])
        return grow

    earlier = sys.gettrace()
    sys.settrace(grow)
    try:
        found = file.read(1, 1)
    finally:
        sys.settrace(earlier)
    return found, next(steps) > at


def test_a_read_is_not_disturbed_by_lines_that_become_known_meanwhile(tmp_path: Path) -> None:
    for at in count():
        file = opened(tmp_path / "c", b"one\n")
        list(file.lines(4))
        found, has_grown = read_while_lines_become_known(file, at)
        file.close()
        assert found == [b"one"], at
        if not has_grown:
            break
    assert at > 20


def test_lines_that_are_known_by_their_lengths_are_read_by_id_and_not_streamed_again(tmp_path: Path) -> None:
    file = opened(tmp_path / "c", b"one\ntwo\nthree\n")
    file.know([3, 3])
    assert (file.size, file.end_bytes) == (2, 8)
    assert list(file.further_lines(14)) == [b"three"]
    assert file.read(1, 3) == [b"one", b"two", b"three"]


def test_lines_are_recognised_by_their_lengths_and_their_digest(tmp_path: Path) -> None:
    file = opened(tmp_path / "c", b"one\ntwo\nthree\n")
    assert file.recognise(1, [3, 3], sha256(b"one\ntwo\n").digest()) == b"two"
    assert file.recognise(3, [5], sha256(b"three\n").digest()) == b"three"
    assert file.read(1, 3) == [b"one", b"two", b"three"]
    assert list(file.lines(14, known=2)) == [b"three"]
    assert list(file.lines(14)) == [b"one", b"two", b"three"]


@pytest.mark.parametrize("lengths", [[3, 4], [3], [3, 3, 5], [3, 3, 90]])
def test_other_lines_are_not_recognised_and_stay_unknown(tmp_path: Path, lengths: list[int]) -> None:
    file = opened(tmp_path / "c", b"one\ntwo\nthree\n")
    assert file.recognise(1, lengths, sha256(b"one\ntwo\n").digest()) is None
    assert file.size == 0
