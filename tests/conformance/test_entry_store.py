"""What every `EntryStore` keeps to: the contract of `receipt_writer.storage.protocol.EntryStore`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from receipt_writer.errors import FolderInUseError
from receipt_writer.format.entry import Entry
from receipt_writer.storage.filesystem import OsFileSystem
from receipt_writer.storage.jsonl import JsonlStore
from receipt_writer.storage.lock import take_lock
from receipt_writer.storage.protocol import Batch, EntryStore, Mark
from tests.receipt_writer.format.material import START_MS, SeedSigner, decision_chain
from tests.receipt_writer.parts import decision

SIGNER = SeedSigner(b"\1" * 32)
CHAINS = ("turns", "decisions")
EMPTY = {chain: Mark(0, "0" * 64) for chain in CHAINS}

Open = Callable[[], EntryStore]
"""Opens the same store anew, as a process that starts does."""


def _jsonl(folder: Path) -> Open:
    chains = folder / "chains"
    chains.mkdir()

    def opened() -> EntryStore:
        files = OsFileSystem()
        return JsonlStore(files, take_lock(files, chains), CHAINS, SIGNER, folder)

    return opened


@pytest.fixture(params=[_jsonl], ids=["jsonl"])
def opens(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    make: Callable[[Path], Open] = request.param
    return make(tmp_path)


def entries(count: int) -> list[Entry]:
    return decision_chain([decision(number) for number in range(count)], SIGNER)


def recover(store: EntryStore) -> dict[str, list[bytes]]:
    """Replay a store as its owner does at start; return the lines of every chain."""
    lines = {chain: list(store.lines(chain)) for chain in CHAINS}
    marks = {chain: store.committed(chain) or Mark(0, "0" * 64) for chain in CHAINS}
    store.settle(marks, store.intents(), START_MS)
    return lines


def test_a_new_store_is_empty_and_knows_no_commit_point(opens: Open) -> None:
    store = opens()
    assert [store.committed(chain) for chain in CHAINS] == [None, None]
    assert recover(store) == {"turns": [], "decisions": []}
    assert (store.intents(), store.checkpoint("turns"), store.checkpoint_copy("turns")) == ([], None, None)
    store.close()


def test_an_empty_chain_has_a_commit_point_once_the_store_was_settled(opens: Open) -> None:
    first = opens()
    recover(first)
    first.close()
    second = opens()
    assert [second.committed(chain) for chain in CHAINS] == list(EMPTY.values())
    second.close()


def test_what_was_committed_is_there_at_the_next_start(opens: Open) -> None:
    store, chain = opens(), entries(5)
    recover(store)
    store.commit(Batch({"decisions": chain[:2]}))
    store.commit(Batch({"decisions": chain[2:]}))
    store.close()
    again = opens()
    assert again.committed("decisions") == Mark(5, chain[-1].hash)
    assert recover(again) == {"turns": [], "decisions": [entry.line for entry in chain]}
    again.close()


def test_one_batch_may_grow_several_chains_and_the_journal(opens: Open) -> None:
    store, chain = opens(), entries(3)
    recover(store)
    store.commit(Batch({"decisions": chain, "turns": chain[:1]}, [b'{"a":1}', b'{"b":2}']))
    store.close()
    again = opens()
    assert again.intents() == [b'{"a":1}', b'{"b":2}']
    assert {name: len(lines) for name, lines in recover(again).items()} == {"turns": 1, "decisions": 3}
    again.close()


@pytest.mark.parametrize(
    ("first_id", "count", "expected"), [(1, 1, [0]), (2, 2, [1, 2]), (3, 9, [2, 3]), (5, 1, []), (0, 2, [])]
)
def test_lines_are_read_by_id(opens: Open, first_id: int, count: int, expected: list[int]) -> None:
    store, chain = opens(), entries(4)
    recover(store)
    store.commit(Batch({"decisions": chain}))
    assert store.read("decisions", first_id, count) == [chain[number].line for number in expected]
    store.close()


def test_lines_of_an_earlier_process_are_read_by_id_too(opens: Open) -> None:
    store, chain = opens(), entries(4)
    recover(store)
    store.commit(Batch({"decisions": chain[:3]}))
    store.close()
    again = opens()
    recover(again)
    again.commit(Batch({"decisions": chain[3:]}))
    assert again.read("decisions", 1, 4) == [entry.line for entry in chain]
    again.close()


def test_settling_shortens_the_journal(opens: Open) -> None:
    store = opens()
    recover(store)
    store.commit(Batch(intents=[b"one", b"two", b"three"]))
    store.close()
    again = opens()
    again.settle({chain: Mark(len(list(again.lines(chain))), "0" * 64) for chain in CHAINS}, [b"two"], START_MS)
    again.commit(Batch(intents=[b"four"]))
    again.close()
    last = opens()
    assert last.intents() == [b"two", b"four"]
    last.close()


def test_only_the_newest_checkpoint_is_kept(opens: Open) -> None:
    store = opens()
    recover(store)
    store.write_checkpoint("turns", b"a long first note")
    store.write_checkpoint("turns", b"a second")
    assert (store.checkpoint("turns"), store.checkpoint("decisions")) == (b"a second", None)
    store.close()
    again = opens()
    assert (again.checkpoint("turns"), again.checkpoint_copy("turns")) == (b"a second", b"a second")
    again.close()


def test_a_store_has_one_owner_at_a_time(opens: Open) -> None:
    store = opens()
    with pytest.raises(FolderInUseError):
        opens()
    store.close()
    opens().close()


def test_an_owner_stays_the_owner_until_it_closes(opens: Open) -> None:
    store = opens()
    recover(store)
    store.require_owner()
    store.commit(Batch(intents=[b"one"]))
    store.require_owner()
    store.close()
