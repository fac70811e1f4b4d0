"""Reading a folder without a writer: beside one, after one, under kept rows, and when something is damaged."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from receipt_writer.app import make_keys, open_service
from receipt_writer.errors import EntryNotFoundError, LedgerDamagedError, NotPossibleYetError, RequestRefusedError
from receipt_writer.fsck import check_chain
from receipt_writer.identity import chains_folder
from receipt_writer.index import BLOCK_ENTRIES, Filter
from receipt_writer.ledger import Append
from receipt_writer.offline import open_chain
from receipt_writer.storage.index_file import index_path
from service_runtime.errors import SetupError
from tests.receipt_writer.parts import Clock, chain_file, decision, ulid

ENTRIES = BLOCK_ENTRIES + 40


def fill(folder: Path, first: int, last: int) -> None:
    """Record decisions as one run of the writer, with a checkpoint and kept rows at its end."""
    service = open_service(folder, None, Clock())
    drafts = [decision(number, specId="gate" if number % 50 else "draft") for number in range(first, last + 1)]
    service.writer.commit_now([Append("L12", draft) for draft in drafts])
    asyncio.run(service.checkpoints.write_all_new())
    service.store.close()


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger whose first 256 decisions are known by kept rows."""
    folder = tmp_path_factory.mktemp("original")
    fill(folder, 1, ENTRIES)
    assert index_path(chains_folder(folder), "decisions").exists()
    return folder


@pytest.fixture
def filled(original: Path, folder: Path) -> Path:
    """A copy of it."""
    shutil.copytree(original, folder, dirs_exist_ok=True)
    return folder


def replace_in_place(path: Path, entry_id: int, change: Callable[[bytes], bytes]) -> None:
    lines = path.read_bytes().split(b"\n")
    lines[entry_id - 1] = change(lines[entry_id - 1])
    path.write_bytes(b"\n".join(lines))


def test_older_entries_are_read_without_parsing_the_lines_before_them(filled: Path) -> None:
    with open_chain(filled, "L12") as opened:
        assert opened.index.adopted == BLOCK_ENTRIES
        assert opened.index.head.size == ENTRIES
        assert opened.damage is None
        for entry_id in (1, BLOCK_ENTRIES, BLOCK_ENTRIES + 1, ENTRIES):
            assert json.loads(opened.entry(entry_id).line)["id"] == entry_id
            assert opened.id_of(ulid("c_", entry_id)) == entry_id
        drafts, damage = opened.entries(Filter(members=(("specId", "draft"),), newest_first=True, limit=3))
        assert ([entry.id for entry in drafts], damage) == ([250, 200, 150], None)


def test_a_chain_reads_the_same_without_what_was_kept_of_it(filled: Path) -> None:
    with open_chain(filled, "L12") as opened:
        spared = opened.index.head, opened.index.tree.root(), opened.entries(Filter())
    index_path(chains_folder(filled), "decisions").unlink()
    with open_chain(filled, "L12") as opened:
        assert opened.index.adopted == 0
        assert (opened.index.head, opened.index.tree.root(), opened.entries(Filter())) == spared


def test_an_entry_of_any_age_is_proven_under_the_newest_checkpoint(filled: Path) -> None:
    with open_chain(filled, "L12") as opened:
        for entry_id in (1, BLOCK_ENTRIES, ENTRIES):
            proof = opened.proof(opened.entry(entry_id))
            assert proof.holds()
            assert (proof.index, proof.checkpoint.checkpoint.size) == (entry_id - 1, ENTRIES)


def test_an_entry_behind_the_newest_checkpoint_is_not_proven_yet(filled: Path) -> None:
    service = open_service(filled, None, Clock())
    service.writer.commit_now([Append("L12", decision(ENTRIES + 1))])
    with open_chain(filled, "L12") as opened, pytest.raises(NotPossibleYetError, match=f"Entry {ENTRIES + 1} is newer"):
        opened.proof(opened.entry(ENTRIES + 1))
    service.store.close()


@pytest.mark.parametrize("entry_id", [7, BLOCK_ENTRIES + 10])
def test_nothing_is_proven_by_a_chain_that_is_not_what_its_checkpoint_was_signed_over(
    filled: Path, entry_id: int
) -> None:
    index_path(chains_folder(filled), "decisions").unlink()
    replace_in_place(chain_file(filled), entry_id, lambda line: line.replace(b'"latencyMs":12', b'"latencyMs":13'))
    with open_chain(filled, "L12") as opened, pytest.raises(LedgerDamagedError, match="nothing is proven by it"):
        opened.proof(opened.entry(1))
    replace_in_place(chain_file(filled), ENTRIES - 1, lambda _: b"garbage")
    with open_chain(filled, "L12") as opened, pytest.raises(LedgerDamagedError, match=f"Entry {ENTRIES - 1} "):
        opened.proof(opened.entry(1))


def test_a_reader_beside_a_live_writer_sees_what_is_committed_and_disturbs_nothing(folder: Path) -> None:
    fill(folder, 1, ENTRIES)
    service = open_service(folder, None, Clock())
    for number in range(ENTRIES + 1, ENTRIES + 4):
        service.writer.commit_now([Append("L12", decision(number))])
        with open_chain(folder, "L12") as opened:
            assert opened.index.head.size == number
        assert check_chain(folder, "L12").fault is None
    service.store.close()


def test_a_line_that_is_being_written_is_not_there_yet(filled: Path) -> None:
    with chain_file(filled).open("ab") as file:
        file.write(b'{"id":')
    with open_chain(filled, "L12") as opened:
        assert (opened.index.head.size, opened.damage) == (ENTRIES, None)


def test_the_good_entries_before_a_line_that_is_none_are_listed_with_a_sentence(filled: Path) -> None:
    replace_in_place(chain_file(filled), BLOCK_ENTRIES + 10, lambda line: b"x" * len(line))
    with open_chain(filled, "L12") as opened:
        found, damage = opened.entries(Filter(newest_first=True, limit=2))
        assert [entry.id for entry in found] == [BLOCK_ENTRIES + 9, BLOCK_ENTRIES + 8]
        assert damage is not None
        assert f"Entry {BLOCK_ENTRIES + 10} of the chain decisions is not what was recorded" in damage
        with pytest.raises(LedgerDamagedError, match=f"Entry {BLOCK_ENTRIES + 10} "):
            opened.require_whole()
        with pytest.raises(LedgerDamagedError, match=f"Entry {BLOCK_ENTRIES + 10} "):
            opened.id_of(ulid("c_", BLOCK_ENTRIES + 20))


def test_a_changed_line_under_kept_rows_is_left_out_of_a_list_and_named(filled: Path) -> None:
    replace_in_place(chain_file(filled), 7, lambda line: line.replace(b'"latencyMs":12', b'"latencyMs":13'))
    with open_chain(filled, "L12") as opened:
        found, damage = opened.entries(Filter(to_id=9))
        assert [entry.id for entry in found] == [1, 2, 3, 4, 5, 6, 8, 9]
        assert damage is not None
        assert "Entry 7 of the chain decisions is not what was recorded" in damage
        with pytest.raises(LedgerDamagedError, match="Entry 7 "):
            opened.entry(7)


def test_a_line_break_put_into_a_line_does_not_shift_the_others(filled: Path) -> None:
    replace_in_place(chain_file(filled), 7, lambda line: line[:50] + b"\n" + line[51:])
    with open_chain(filled, "L12") as opened:
        found, damage = opened.entries(Filter(to_id=9))
        assert [entry.id for entry in found] == [1, 2, 3, 4, 5, 6, 8, 9]
        assert damage is not None


@pytest.mark.parametrize("kept_of", ["other", "longer"])
def test_rows_of_another_history_are_not_believed(filled: Path, kept_of: str, tmp_path: Path) -> None:
    index = index_path(chains_folder(filled), "decisions")
    rows = index.read_bytes()
    if kept_of == "other":
        fill(tmp_path, 1, ENTRIES)
        index.write_bytes(index_path(chains_folder(tmp_path), "decisions").read_bytes())
    else:
        chain_file(filled).write_bytes(b"".join(chain_file(filled).read_bytes().splitlines(keepends=True)[:100]))
        index.write_bytes(rows)
    with open_chain(filled, "L12") as opened:
        assert opened.index.adopted == 0
        assert opened.index.head.size == (ENTRIES if kept_of == "other" else 100)


def test_a_filter_that_does_not_fit_the_chain_is_refused(filled: Path) -> None:
    with (
        open_chain(filled, "L10") as opened,
        pytest.raises(RequestRefusedError, match="cannot be filtered by specId; they can by: turnId sessionId"),
    ):
        opened.entries(Filter(members=(("specId", "gate"),)))


def test_an_entry_that_never_was_is_not_found(filled: Path) -> None:
    with open_chain(filled, "L12") as opened:
        for name in ("0", str(ENTRIES + 1), "c_nothing", "\u0662", "9" * 30):
            with pytest.raises(EntryNotFoundError, match="receipt-writer list --chain decisions"):
                opened.id_of(name)


def test_a_full_check_reads_every_line_whatever_was_kept(filled: Path) -> None:
    told: list[tuple[int, int]] = []
    finding = check_chain(filled, "L12", lambda done, total: told.append((done, total)))
    assert (finding.fault, finding.entries, finding.checkpoint_size) == (None, ENTRIES, ENTRIES)
    replace_in_place(chain_file(filled), 7, lambda line: line.replace(b'"latencyMs":12', b'"latencyMs":13'))
    fault = check_chain(filled, "L12").fault
    assert fault is not None
    assert "Entry 7 of the chain decisions" in fault


def test_a_ledger_that_has_keys_but_was_never_started_says_what_to_do(folder: Path) -> None:
    make_keys(folder, None)
    with (
        pytest.raises(SetupError, match="The chain turns has not begun yet; start the writer once"),
        open_chain(folder, "L10"),
    ):
        pass
