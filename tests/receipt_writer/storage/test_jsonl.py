from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from receipt_writer.errors import LedgerBehindError, LedgerDamagedError, ReceiptError, StorageFailedError
from receipt_writer.format.entry import Entry
from receipt_writer.storage.filesystem import OsFileSystem
from receipt_writer.storage.jsonl import JsonlStore
from receipt_writer.storage.lock import take_lock
from receipt_writer.storage.protocol import Batch, Mark
from tests.receipt_writer.format.material import START_MS, SeedSigner, decision_chain
from tests.receipt_writer.parts import WatchedFiles, decision
from tests.receipt_writer.storage.medium import CachedFiles

SIGNER = SeedSigner(b"\1" * 32)
ENTRIES = decision_chain([decision(number) for number in range(6)], SIGNER)
CHAINS = ("turns", "decisions")


def _copies(folder: Path) -> Path:
    copies = folder.with_name(f"{folder.name}-copies")
    copies.mkdir(exist_ok=True)
    return copies


def opened(folder: Path, files: OsFileSystem | None = None) -> JsonlStore:
    files = files or OsFileSystem()
    return JsonlStore(files, take_lock(files, folder), CHAINS, SIGNER, _copies(folder))


def settle(store: JsonlStore) -> list[str]:
    lines = {chain: list(store.lines(chain)) for chain in CHAINS}
    hashes = {entry.line: entry.hash for entry in ENTRIES}
    marks = {name: Mark(len(found), hashes[found[-1]] if found else "0" * 64) for name, found in lines.items()}
    return store.settle(marks, store.intents(), START_MS)


def settled(folder: Path, files: OsFileSystem | None = None) -> JsonlStore:
    store = opened(folder, files)
    settle(store)
    return store


def with_entries(folder: Path, entries: list[Entry]) -> Path:
    store = settled(folder)
    store.commit(Batch({"decisions": entries}))
    store.close()
    return folder / "decisions.jsonl"


def test_a_commit_writes_then_syncs_then_moves_the_head(tmp_path: Path) -> None:
    files = WatchedFiles()
    store = settled(tmp_path, files)
    mark = len(files.calls)
    store.commit(Batch({"decisions": ENTRIES[:2], "turns": ENTRIES[:1]}, [b"{}"]))
    assert files.since(mark) == [
        ("write", "decisions.jsonl"),
        ("write", "turns.jsonl"),
        ("write", "intents.jsonl"),
        ("sync", "intents.jsonl"),
        ("sync", "decisions.jsonl"),
        ("sync", "turns.jsonl"),
        ("write_at", "head.json"),
    ]
    store.close()


def test_a_whole_batch_costs_one_write_and_one_sync(tmp_path: Path) -> None:
    files = WatchedFiles()
    store = settled(tmp_path, files)
    mark = len(files.calls)
    store.commit(Batch({"decisions": ENTRIES}))
    assert files.since(mark) == [("write", "decisions.jsonl"), ("sync", "decisions.jsonl"), ("write_at", "head.json")]
    store.close()


def test_a_checkpoint_is_written_only_after_its_head_is_durable(tmp_path: Path) -> None:
    files = WatchedFiles()
    store = settled(tmp_path, files)
    store.commit(Batch({"decisions": ENTRIES}))
    mark = len(files.calls)
    store.write_checkpoint("decisions", b"note")
    assert files.since(mark)[0] == ("sync", "head.json")
    named = [("replace", "decisions.checkpoint"), ("sync_folder", tmp_path.name)]
    copied = [("replace", "decisions.checkpoint"), ("sync_folder", f"{tmp_path.name}-copies")]
    assert [one for one in files.since(mark) if one[0] in {"replace", "sync_folder"}] == [*named, *copied]
    store.close()


def test_a_new_ledger_syncs_its_names_before_it_has_a_head(tmp_path: Path) -> None:
    files = WatchedFiles()
    settled(tmp_path, files).close()
    named = files.calls.index(("link", "head.json"))
    assert ("sync_folder", tmp_path.name) in files.calls[:named]
    assert ("sync_folder", tmp_path.parent.name) in files.calls[:named]


def test_a_start_syncs_what_a_killed_process_left_in_the_page_cache(tmp_path: Path) -> None:
    with_entries(tmp_path, ENTRIES)
    files = WatchedFiles()
    store = settled(tmp_path, files)
    assert files.calls.index(("sync", "decisions.jsonl")) < files.calls.index(("write_at", "head.json"))
    store.close()


@pytest.mark.parametrize(
    "call",
    [("write", "decisions.jsonl"), ("sync", "decisions.jsonl"), ("write_at", "head.json"), ("sync", "intents.jsonl")],
)
def test_after_a_failed_write_or_sync_the_store_refuses_everything(tmp_path: Path, call: tuple[str, str]) -> None:
    files = WatchedFiles()
    store = settled(tmp_path, files)
    store.commit(Batch({"decisions": ENTRIES[:1]}))
    files.fails = call
    with pytest.raises(StorageFailedError, match="input/output error; the writer stops"):
        store.commit(Batch({"decisions": ENTRIES[1:2]}, [b"{}"]))
    files.fails = None
    mark = len(files.calls)
    with pytest.raises(StorageFailedError, match="restart the writer"):
        store.commit(Batch({"decisions": ENTRIES[1:2]}))
    with pytest.raises(StorageFailedError, match="restart the writer"):
        store.write_checkpoint("decisions", b"note")
    assert files.since(mark) == []
    store.close()


@pytest.mark.parametrize("call", [("write", "decisions.jsonl"), ("sync", "decisions.jsonl"), ("write_at", "head.json")])
def test_what_was_committed_before_a_failure_is_found_after_it(tmp_path: Path, call: tuple[str, str]) -> None:
    files = WatchedFiles(error=errno.ENOSPC)
    store = settled(tmp_path, files)
    store.commit(Batch({"decisions": ENTRIES[:2]}))
    files.fails = call
    with pytest.raises(StorageFailedError, match="no space left on device"):
        store.commit(Batch({"decisions": ENTRIES[2:3]}))
    store.close()
    again = opened(tmp_path)
    found = list(again.lines("decisions"))
    assert found[:2] == [entry.line for entry in ENTRIES[:2]]
    again.close()


@pytest.mark.parametrize("call", [("sync", "head.json"), ("replace", "decisions.checkpoint")])
def test_a_checkpoint_that_fails_is_final_too(tmp_path: Path, call: tuple[str, str]) -> None:
    files = WatchedFiles(fails=call)
    store = opened(tmp_path, files)
    settle(store)
    with pytest.raises(StorageFailedError, match="the writer stops"):
        store.write_checkpoint("decisions", b"note")
    with pytest.raises(StorageFailedError, match="restart"):
        store.commit(Batch({"decisions": ENTRIES}))
    store.close()


def test_every_cut_of_the_last_line_is_a_torn_tail_that_is_kept_aside(tmp_path: Path) -> None:
    path = with_entries(tmp_path, ENTRIES[:2])
    committed = path.read_bytes()
    last = ENTRIES[2].line
    for length in [*range(1, len(last), 97), len(last)]:
        path.write_bytes(committed + last[:length])
        store = opened(tmp_path)
        (report,) = settle(store)
        store.close()
        assert path.read_bytes() == committed
        (aside,) = tmp_path.glob("decisions.torn-*")
        assert aside.read_bytes() == last[:length]
        assert f"{length} bytes" in report
        assert aside.name in report
        aside.unlink()


def test_a_hole_that_power_loss_left_behind_the_commit_point_is_torn(tmp_path: Path) -> None:
    path = with_entries(tmp_path, ENTRIES[:2])
    committed, new = path.read_bytes(), b"".join(entry.line + b"\n" for entry in ENTRIES[2:])
    hole = bytearray(new)
    at = len(ENTRIES[2].line) + 300
    hole[at : at + 512] = bytes(512)
    path.write_bytes(committed + hole)
    store = opened(tmp_path)
    assert list(store.lines("decisions")) == [entry.line for entry in ENTRIES[:3]]
    store.close()


def test_nothing_is_changed_before_the_chain_was_judged(tmp_path: Path) -> None:
    path = with_entries(tmp_path, ENTRIES[:2])
    path.write_bytes(path.read_bytes() + b"torn")
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir() if one.name != "lock"}
    store = opened(tmp_path)
    list(store.lines("decisions"))
    store.close()
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir() if one.name != "lock"} == before


@pytest.mark.parametrize("missing_bytes", [1, 500, 1500])
def test_a_chain_that_ends_before_its_commit_point_is_refused(tmp_path: Path, missing_bytes: int) -> None:
    path = with_entries(tmp_path, ENTRIES[:3])
    path.write_bytes(path.read_bytes()[:-missing_bytes])
    store = opened(tmp_path)
    with pytest.raises(LedgerBehindError, match="were committed"):
        list(store.lines("decisions"))
    store.close()


def test_a_commit_point_is_known_after_kill_9_without_any_sync_of_it(tmp_path: Path) -> None:
    files = WatchedFiles()
    store = settled(tmp_path, files)
    store.commit(Batch({"decisions": ENTRIES[:3]}))  # and then the process is gone: no close
    store._opened.close()
    again = opened(tmp_path)
    assert again.committed("decisions") == Mark(3, ENTRIES[2].hash)
    again.close()


def test_without_a_head_file_the_chain_is_read_and_the_head_made_again(tmp_path: Path) -> None:
    with_entries(tmp_path, ENTRIES[:3])
    (tmp_path / "head.json").unlink()
    store = opened(tmp_path)
    assert store.committed("decisions") is None
    assert len(list(store.lines("decisions"))) == 3
    store.close()
    settled(tmp_path).close()
    again = opened(tmp_path)
    assert again.committed("decisions") == Mark(3, ENTRIES[2].hash)
    again.close()


def test_a_damaged_head_file_is_refused_and_the_lock_given_back(tmp_path: Path) -> None:
    with_entries(tmp_path, ENTRIES[:1])
    (tmp_path / "head.json").write_bytes(b"{}")
    for _ in range(2):
        with pytest.raises(LedgerDamagedError, match=r"move head\.json away"):
            opened(tmp_path)


@pytest.mark.parametrize(("name", "content"), [("decisions.jsonl", b"longer than before\n" * 99), ("head.json", b"x")])
def test_a_second_writer_that_got_past_the_lock_is_noticed(tmp_path: Path, name: str, content: bytes) -> None:
    store = settled(tmp_path)
    store.commit(Batch({"decisions": ENTRIES[:1]}))
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ReceiptError, match="another process wrote to the chains"):
        store.commit(Batch({"decisions": ENTRIES[1:2]}))
    store.close()


@pytest.mark.parametrize("head_is_lost", [False, True])
def test_entries_that_a_failed_sync_left_in_the_page_cache_reach_the_medium_at_the_next_start(
    tmp_path: Path, *, head_is_lost: bool
) -> None:
    files = CachedFiles()
    store = settled(tmp_path, files)
    store.commit(Batch({"decisions": ENTRIES[:1]}))
    files.failing_sync = "decisions.jsonl"
    with pytest.raises(StorageFailedError):
        store.commit(Batch({"decisions": ENTRIES[1:3]}))
    store.close()
    files.failing_sync = ""
    if head_is_lost:
        files.remove(tmp_path / "head.json")
    again = settled(tmp_path, files)  # from here on the entries count as recorded
    again.commit(Batch({"decisions": ENTRIES[3:4]}))
    again._opened.close()
    files.cut_power()
    last = opened(tmp_path)
    assert list(last.lines("decisions")) == [entry.line for entry in ENTRIES[:4]]
    last.close()


def test_what_a_start_found_beyond_the_commit_point_survives_power_loss(tmp_path: Path) -> None:
    files = CachedFiles()
    store = settled(tmp_path, files)
    store.commit(Batch({"decisions": ENTRIES[:2]}))
    store._opened.close()  # kill -9: the commit point is in the page cache only
    settled(tmp_path, files)._opened.close()
    files.cut_power()
    again = opened(tmp_path)
    assert again.committed("decisions") == Mark(2, ENTRIES[1].hash)
    again.close()


def test_a_start_never_leaves_two_slots_of_the_head_unsynced(tmp_path: Path) -> None:
    with_entries(tmp_path, ENTRIES[:2])
    files = WatchedFiles()
    store = settled(tmp_path, files)
    assert [call for call, name in files.calls if name == "head.json"] == ["sync", "write_at", "sync"]
    store.close()


def test_a_torn_tail_is_kept_aside_before_it_is_cut_and_the_cut_is_synced(tmp_path: Path) -> None:
    path = with_entries(tmp_path, ENTRIES[:2])
    path.write_bytes(path.read_bytes() + b"torn")
    files = WatchedFiles()
    store = opened(tmp_path, files)
    settle(store)
    store.close()
    (aside,) = tmp_path.glob("decisions.torn-*")
    kept, cut = files.calls.index(("link", aside.name)), files.calls.index(("truncate", "decisions.jsonl"))
    assert kept < files.calls.index(("sync_folder", tmp_path.name)) < cut
    assert files.calls[cut + 1] == ("sync", "decisions.jsonl")


class NoHandles(OsFileSystem):
    """Real files, of which no further one can be opened to read once `are_gone` is set."""

    are_gone = False

    def open_to_read(self, path: Path) -> int:
        if self.are_gone:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return super().open_to_read(path)


def test_a_checkpoint_that_cannot_be_read_now_does_not_end_the_writer(tmp_path: Path) -> None:
    files = NoHandles()
    store = settled(tmp_path, files)
    store.write_checkpoint("decisions", b"note")
    files.are_gone = True
    with pytest.raises(StorageFailedError, match=r"could not be read: too many open files\.$"):
        store.checkpoint("decisions")
    files.are_gone = False
    store.commit(Batch({"decisions": ENTRIES[:1]}))
    assert store.checkpoint("decisions") == b"note"
    store.close()
