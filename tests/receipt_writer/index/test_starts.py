"""Whatever state the kept rows are in, a start knows the chain as if it had read every line, or refuses it."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from receipt_writer.app import Service, open_service
from receipt_writer.errors import AlreadyRecordedError, LedgerDamagedError
from receipt_writer.format.entry import Entry
from receipt_writer.identity import chains_folder
from receipt_writer.index import BLOCK_ENTRIES, Filter
from receipt_writer.ledger import Append
from receipt_writer.storage.index_file import index_path
from tests.receipt_writer.parts import Clock, chain_file, decision, ulid

FIRST_RUN, SECOND_RUN = BLOCK_ENTRIES + 44, 3 * BLOCK_ENTRIES + 10


def spec_of(number: int) -> str:
    return "gate" if number % 10 else "draft"


def drafts(first: int, last: int) -> list[Append]:
    return [Append("L12", decision(number, specId=spec_of(number))) for number in range(first, last + 1)]


def run(folder: Path, first: int, last: int) -> None:
    """Record decisions in one life of the writer, which ends as it should."""
    service = open_service(folder, None, Clock())
    service.writer.commit_now(drafts(first, last))
    asyncio.run(service.checkpoints.write_all_new())
    service.store.close()


def kept(folder: Path) -> Path:
    return index_path(chains_folder(folder), "decisions")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of two runs, with three blocks of kept rows."""
    folder = tmp_path_factory.mktemp("original")
    run(folder, 1, FIRST_RUN)
    run(folder, FIRST_RUN + 1, SECOND_RUN)
    return folder


@pytest.fixture
def filled(original: Path, folder: Path) -> Path:
    """A copy of it."""
    shutil.copytree(original, folder, dirs_exist_ok=True)
    return folder


def require_right(service: Service) -> None:
    """Look at everything that an index is asked for."""
    index = service.ledger.indexes["L12"]
    assert index.head.size == SECOND_RUN
    for number in (1, BLOCK_ENTRIES, FIRST_RUN, 2 * BLOCK_ENTRIES + 1, SECOND_RUN):
        assert index.id_of(ulid("c_", number)) == number
    assert index.id_of(ulid("c_", SECOND_RUN + 1)) is None
    assert list(index.select(Filter(members=(("specId", "draft"),)))) == list(range(10, SECOND_RUN + 1, 10))
    (again, clash) = service.writer.commit_now(
        [*drafts(BLOCK_ENTRIES, BLOCK_ENTRIES), Append("L12", decision(BLOCK_ENTRIES, latencyMs=99))]
    )
    assert isinstance(again, Entry)
    assert again.id == BLOCK_ENTRIES
    assert isinstance(clash, AlreadyRecordedError)


def rewritten(change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(change(path.read_bytes()))


def made_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


STATES: dict[str, tuple[Callable[[Path], object], int]] = {
    "as it was left": (lambda _: None, 3),
    "missing": (Path.unlink, 0),
    "empty": (rewritten(lambda _: b""), 0),
    "behind": (rewritten(lambda old: old[: len(old) // 2]), 1),
    "torn": (rewritten(lambda old: old[:-100]), 2),
    "followed by a hole": (rewritten(lambda old: old + bytes(100_000)), 3),
    "of another version": (rewritten(lambda old: old.replace(b'"index": 1', b'"index": 2', 1)), 0),
    "changed in its second block": (rewritten(lambda old: old[:-50_000] + b"\0" + old[-49_999:]), 1),
    "a folder": (made_a_folder, 0),
}


@pytest.mark.parametrize("state", STATES)
def test_a_start_is_right_whatever_state_the_kept_rows_are_in(filled: Path, state: str) -> None:
    change, blocks = STATES[state]
    change(kept(filled))
    service = open_service(filled, None, Clock())
    assert service.ledger.indexes["L12"].adopted == blocks * BLOCK_ENTRIES
    require_right(service)
    asyncio.run(service.checkpoints.keep_rows())
    service.store.close()
    service = open_service(filled, None, Clock())
    assert service.ledger.indexes["L12"].adopted == (0 if state == "a folder" else 3 * BLOCK_ENTRIES)
    require_right(service)
    service.store.close()


def test_rows_of_another_ledger_are_never_believed(filled: Path, tmp_path: Path) -> None:
    run(tmp_path, 1, SECOND_RUN)
    kept(filled).write_bytes(kept(tmp_path).read_bytes())
    service = open_service(filled, None, Clock())
    assert service.ledger.indexes["L12"].adopted == 0
    require_right(service)
    service.store.close()


def test_rows_that_are_ahead_of_an_older_copy_of_the_chains_are_left(folder: Path) -> None:
    run(folder, 1, FIRST_RUN)
    names = ("decisions.jsonl", "decisions.checkpoint", "head.json")
    copy = {name: (chains_folder(folder) / name).read_bytes() for name in names}
    run(folder, FIRST_RUN + 1, SECOND_RUN)
    rows = kept(folder).read_bytes()
    for name, content in copy.items():
        (chains_folder(folder) / name).write_bytes(content)
    (folder / "decisions.checkpoint").unlink()  # else the copy of the checkpoint tells, and nothing starts
    service = open_service(folder, None, Clock())
    index = service.ledger.indexes["L12"]
    assert (index.head.size, index.adopted, index.id_of(ulid("c_", FIRST_RUN + 1))) == (FIRST_RUN, BLOCK_ENTRIES, None)
    service.writer.commit_now([Append("L12", decision(number, latencyMs=7)) for number in range(FIRST_RUN, 600)])
    asyncio.run(service.checkpoints.write_all_new())
    service.store.close()
    assert kept(folder).read_bytes() != rows
    service = open_service(folder, None, Clock())
    assert service.ledger.indexes["L12"].adopted == 2 * BLOCK_ENTRIES
    service.store.close()


@pytest.mark.parametrize("entry_id", [1, 200, BLOCK_ENTRIES + 1, 3 * BLOCK_ENTRIES, SECOND_RUN - 1])
def test_a_line_that_was_changed_refuses_the_start_whatever_is_kept_of_it(filled: Path, entry_id: int) -> None:
    lines = chain_file(filled).read_bytes().split(b"\n")
    lines[entry_id - 1] = lines[entry_id - 1].replace(b'"latencyMs":12', b'"latencyMs":13')
    chain_file(filled).write_bytes(b"\n".join(lines))
    before = kept(filled).read_bytes()
    with pytest.raises(LedgerDamagedError):
        open_service(filled, None, Clock())
    assert kept(filled).read_bytes() == before


def test_what_is_recorded_after_a_start_from_kept_rows_is_kept_in_turn(filled: Path) -> None:
    run(filled, SECOND_RUN + 1, 4 * BLOCK_ENTRIES)
    service = open_service(filled, None, Clock())
    assert service.ledger.indexes["L12"].adopted == 3 * BLOCK_ENTRIES  # the last block reaches to the commit point
    service.store.close()
    run(filled, 4 * BLOCK_ENTRIES + 1, 4 * BLOCK_ENTRIES + 1)
    service = open_service(filled, None, Clock())
    assert service.ledger.indexes["L12"].adopted == 4 * BLOCK_ENTRIES
    service.store.close()


def test_a_start_from_kept_rows_serves_and_proves_old_entries(filled: Path) -> None:
    async def ask() -> list[Any]:
        service = open_service(filled, None, Clock())
        old = await service.queries.entry("L12", 5)
        proof = await service.queries.inclusion("L12", 5, 0)
        listed = [entry.id async for entry in service.queries.entries("L12", Filter(to_id=12, newest_first=True))]
        service.store.close()
        return [old.id, proof.size, proof.root_hash == service.ledger.indexes["L12"].tree.root(SECOND_RUN), listed]

    assert asyncio.run(ask()) == [5, SECOND_RUN, True, list(range(12, 0, -1))]


def test_no_bytes_in_place_of_the_kept_rows_make_a_start_wrong(filled: Path) -> None:
    old = kept(filled).read_bytes()
    for at in range(0, len(old), 9_001):
        kept(filled).write_bytes(old[:at] + os.urandom(64) + old[at + 64 :])
        service = open_service(filled, None, Clock())
        require_right(service)
        service.store.close()
