from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from receipt_writer.storage.journal_file import JournalFile
from tests.receipt_writer.key_changes import DyingFiles
from tests.receipt_writer.parts import WatchedFiles

ROWS = [b"row %d" % number for number in range(9)]


def test_what_is_appended_is_synced_and_read_back(tmp_path: Path) -> None:
    files = WatchedFiles()
    journal = JournalFile(files, tmp_path / "intents.jsonl")
    journal.append(ROWS[:2])
    assert files.calls == [("write", "intents.jsonl"), ("sync", "intents.jsonl")]
    journal.append(ROWS[2:3])
    assert journal.lines() == ROWS[:3]
    journal.close()


def test_a_line_that_was_cut_off_is_none(tmp_path: Path) -> None:
    (tmp_path / "intents.jsonl").write_bytes(b"one\ntw")
    journal = JournalFile(WatchedFiles(), tmp_path / "intents.jsonl")
    assert journal.lines() == [b"one"]
    journal.close()


@pytest.mark.parametrize("kept", [[], ROWS[8:], ROWS[2:4], ROWS])
def test_a_shortened_journal_holds_what_it_was_left_with_and_grows_on(tmp_path: Path, kept: list[bytes]) -> None:
    journal = JournalFile(WatchedFiles(), tmp_path / "intents.jsonl")
    journal.append(ROWS)
    journal.shorten(kept)
    journal.append([b"next"])
    assert journal.lines() == [*kept, b"next"]
    journal.close()


def test_rows_that_matter_are_whole_wherever_the_shortening_ends(tmp_path: Path) -> None:
    """Each changing call in turn is the first that fails, for ever, and writes may end after a byte."""
    path, kept = tmp_path / "intents.jsonl", [ROWS[4], ROWS[8]]
    for after in range(2, 9):
        path.unlink(missing_ok=True)
        files = TornFiles(after=after)
        journal = JournalFile(files, path)
        journal.append(ROWS)
        try:
            journal.shorten(kept)
        except OSError:
            pass
        else:
            assert (after, journal.lines()) == (8, kept)
        assert set(kept) <= set(journal.lines())
        journal.close()


class TornFiles(DyingFiles):
    """The call that fails has written half."""

    def write_at(self, handle: int, data: bytes, offset: int) -> int:
        if len(self.calls) >= self.after:
            os.pwrite(handle, data[: len(data) // 2], offset)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().write_at(handle, data, offset)


def test_a_journal_that_another_writer_took_over_is_left_alone(tmp_path: Path) -> None:
    """ADR 9: whoever hangs has files without a name when it wakes up."""
    path = tmp_path / "intents.jsonl"
    journal = JournalFile(WatchedFiles(), path)
    journal.append(ROWS)
    path.unlink()
    path.write_bytes(b"the next holder's\n")
    journal.shorten(ROWS[:1])
    assert path.read_bytes() == b"the next holder's\n"
    journal.close()
