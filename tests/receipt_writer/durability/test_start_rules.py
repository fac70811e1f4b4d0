"""What a start refuses, sets aside and says, on a ledger that was used and ended like a killed process."""

from __future__ import annotations

import errno
import logging
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from receipt_writer.app import open_service
from receipt_writer.errors import LedgerBehindError, LedgerDamagedError, ReceiptError
from receipt_writer.ledger import Append, Regenerate
from service_runtime.errors import ServiceError
from tests.receipt_writer.durability.faults import FailingFiles, Fault
from tests.receipt_writer.durability.lives import LATER_MS, Inspector, Promises, first_life, second_life
from tests.receipt_writer.format.material import START_MS
from tests.receipt_writer.parts import Clock, chain_file, decision, verified
from tests.receipt_writer.test_process import launch, said


@dataclass(frozen=True)
class Used:
    """A receipts folder and what was promised about it."""

    folder: Path
    promises: Promises

    @property
    def chains(self) -> Path:
        return self.folder / "chains"

    def everything(self) -> dict[str, bytes]:
        """Return what a start that refuses must leave as it is."""
        kept = [path for path in self.folder.rglob("*") if path.is_file() and path.name != "lock"]
        return {str(path): path.read_bytes() for path in kept}

    def require_refusal(self, error: type[ReceiptError], words: str) -> None:
        """Start twice: each is refused with these words, and nothing was changed."""
        before = self.everything()
        for _ in range(2):
            with pytest.raises(error, match=words):
                open_service(self.folder, clock=Clock(LATER_MS))
        assert self.everything() == before


@pytest.fixture
async def used(folder: Path) -> Used:
    """A ledger after its first life: eight decisions, five of them under a checkpoint."""
    promises, files = Promises(), FailingFiles()
    await first_life(folder / "receipts", _made(files, folder), promises)
    files.abandon()
    return Used(folder / "receipts", promises)


def _made(files: FailingFiles, folder: Path) -> FailingFiles:
    (folder / "receipts").mkdir(mode=0o700)
    return files


def shorten(path: Path, lines: int) -> None:
    """Leave the first lines of a chain."""
    path.write_bytes(b"".join(line + b"\n" for line in path.read_bytes().split(b"\n")[:lines]))


def test_a_chain_behind_its_commit_point_is_refused(used: Used) -> None:
    shorten(chain_file(used.folder), 7)
    used.require_refusal(LedgerBehindError, r"bytes were committed|were committed \(up to entry 8\)")


def test_a_chain_behind_its_newest_checkpoint_is_refused(used: Used) -> None:
    (used.chains / "head.json").unlink()
    shorten(chain_file(used.folder), 4)
    used.require_refusal(LedgerBehindError, "ends with entry 4, but its checkpoint was signed over 5 entries")


async def test_old_chains_are_refused_by_the_copy_that_is_kept_outside_of_them(used: Used) -> None:
    shutil.copytree(used.chains, used.folder.parent / "backup")
    files = FailingFiles()
    await second_life(used.folder, files, used.promises)
    files.abandon()
    shutil.rmtree(used.chains)
    shutil.copytree(used.folder.parent / "backup", used.chains)
    used.require_refusal(
        LedgerBehindError, "with entry 2, but the checkpoint kept beside the chains was signed over 4 entries"
    )


def test_a_chain_behind_the_newest_state_is_refused_when_every_other_mark_is_gone(used: Used) -> None:
    service = open_service(used.folder, clock=Clock(LATER_MS))
    service.writer.commit_now([Regenerate("requested")])
    service.state.restore()
    service.store.close()
    (used.chains / "head.json").unlink()
    for place in (used.folder, used.chains):
        (place / "decisions.checkpoint").unlink()
    shorten(chain_file(used.folder), 7)
    used.require_refusal(LedgerBehindError, "ends with entry 7, but state 1 was signed over 8 entries of it")
    for chain in ("state", "regenerations"):
        (used.chains / f"{chain}.jsonl").write_bytes(b"")
    used.require_refusal(LedgerBehindError, "The chain decisions ends with entry 7|The chain state ends with entry 0")


def test_a_start_without_a_commit_point_over_chains_with_entries_says_so(
    used: Used, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    (used.chains / "head.json").unlink()
    open_service(used.folder, clock=Clock(LATER_MS)).store.close()
    assert "head.json is missing although the chains have entries" in caplog.text
    caplog.clear()
    open_service(used.folder, clock=Clock(LATER_MS)).store.close()
    assert "head.json" not in caplog.text


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_complete_bad_line_is_never_cut(used: Used, *, is_committed: bool) -> None:
    path = chain_file(used.folder)
    if is_committed:
        path.write_bytes(path.read_bytes().replace(b'"latencyMs":12', b'"latencyMs":13'))
    else:
        path.write_bytes(path.read_bytes() + b'{"id":9}\n')
    used.require_refusal(LedgerDamagedError, r"of the chain decisions (is|are) not")


def test_an_unterminated_tail_is_moved_aside_and_reported(used: Used, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    for number in range(3):  # at the same moment by the clock, as on a machine that forgets the time
        with chain_file(used.folder).open("ab") as chain:
            chain.write(b'{"id":9,%d' % number)
        open_service(used.folder, clock=Clock(LATER_MS)).store.close()
    asides = sorted(used.chains.glob("decisions.torn-*"))
    assert sorted(aside.read_bytes() for aside in asides) == [b'{"id":9,%d' % number for number in range(3)]
    for aside in asides:
        assert f"ended in 9 bytes of a write that was cut off; they are in {aside.name}." in caplog.text
    assert Inspector().fault(used.folder, used.promises.made) == ""


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "no space left on device"),
        (errno.EROFS, "read-only file system"),
        (errno.EDQUOT, "quota exceeded"),
    ],
)
def test_a_disk_that_takes_nothing_is_named_and_costs_nothing(used: Used, number: int, words: str) -> None:
    files = RefusingFiles(error=number)
    with pytest.raises(ServiceError, match=f"(?i){words}"):
        open_service(used.folder, files, Clock(LATER_MS))
    assert Inspector().fault(used.folder, used.promises.made) == ""


class RefusingFiles(FailingFiles):
    """Real files of which nothing can be changed: each changing call fails with one error."""

    def __init__(self, error: int) -> None:
        super().__init__(fault=Fault(1, error, for_ever=True))

    def _count(self, name: str) -> int | None:
        kind = super()._count(name)
        return None if name in {"open_to_read", "read_at", "size", "close", "lock"} else kind


async def test_a_folder_that_cannot_be_written_is_one_sentence_and_status_2(used: Used) -> None:
    if os.geteuid() == 0:
        (used.chains / "lock").unlink()
        (used.chains / "lock").mkdir()  # root may write anywhere, but not to a folder
    else:
        used.chains.chmod(0o500)
    status, text = await said(await launch(used.folder.parent, f"unix:{used.folder.parent}/w.sock"))
    used.chains.chmod(0o700)
    assert status == 2
    assert text.count("\n") == 1
    assert f"The chains folder {used.chains} cannot be used: " in text


@pytest.mark.parametrize("handles", [20, 40, 63])
async def test_a_start_with_too_few_file_handles_says_how_many_it_needs(used: Used, handles: int) -> None:
    before = used.everything()
    few = ("sh", "-c", f'ulimit -n {handles}; exec "$@"', "sh")
    status, text = await said(await launch(used.folder.parent, f"unix:{used.folder.parent}/w.sock", under=few))
    assert status == 2
    assert text == (
        f"receipt-writer: This process may open {handles} files, and a writer needs 64 at least; raise the limit "
        "(ulimit -n).\n"
    )
    assert used.everything() == before


def test_a_clock_that_stepped_back_holds_the_time_and_says_so(used: Used, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    service = open_service(used.folder, clock=Clock(START_MS - 3_600_000))
    service.writer.commit_now([Append("L12", decision(99))])
    service.store.close()
    assert verified(used.folder)[-1].recorded_at_ms == START_MS
    assert "The clock stepped back by 3600000 ms; recordedAtMs is held until it has caught up." in caplog.text
    assert Inspector().fault(used.folder, used.promises.made) == ""


@pytest.mark.parametrize("lose", [lambda path: path.unlink(), lambda path: path.write_bytes(b"not rows")])
def test_the_index_never_matters(used: Used, lose: Callable[[Path], object]) -> None:
    open_service(used.folder, clock=Clock(LATER_MS)).store.close()
    for path in used.chains.glob("*.index"):
        lose(path)
    assert Inspector().fault(used.folder, used.promises.made) == ""
