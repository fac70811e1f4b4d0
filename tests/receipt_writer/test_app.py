from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from receipt_writer.app import make_keys, open_service
from receipt_writer.errors import FolderInUseError, KeyFileError, LedgerBehindError, LedgerDamagedError, ReceiptError
from receipt_writer.format.entry import Entry
from receipt_writer.format.policy import parse_policy
from receipt_writer.format.schema import LAYERS
from receipt_writer.identity import chains_folder
from receipt_writer.ledger import Append, Begin
from service_runtime.errors import ServiceError, SetupError
from tests.receipt_writer.format.material import SeedSigner
from tests.receipt_writer.parts import WatchedFiles, chain_file, decision, intent, turn, ulid, verified

MORE = {"publicKey": base64.b64encode(SeedSigner(b"\7" * 32).public_key).decode(), "use": "entry"}
"""One more key, as a policy file writes it."""


def fill(folder: Path, first: int, last: int, *, checkpoint: bool = False) -> list[Entry]:
    """Start, record decisions, and stop as `kill -9` would: nothing is said to the store."""
    service = open_service(folder)
    outcomes = service.writer.commit_now([Append("L12", decision(number)) for number in range(first, last + 1)])
    if checkpoint:
        asyncio.run(service.checkpoints.write_all_new())
    service.store._opened.close()  # type: ignore[attr-defined]
    return [outcome for outcome in outcomes if isinstance(outcome, Entry)]


def begin_and_die(folder: Path, number: int, host: str = "") -> None:
    service = open_service(folder, host=host)
    service.writer.commit_now([Begin(intent(number)), Append("L12", decision(number, turnId=ulid("t_", number)))])
    service.store._opened.close()  # type: ignore[attr-defined]


def without_policies(folder: Path) -> None:
    for path in folder.glob("policy-*.json"):
        path.unlink()


def reopened(folder: Path, host: str = "") -> None:
    open_service(folder, host=host).store.close()


def test_the_first_start_makes_keys_and_policy_files(folder: Path) -> None:
    reopened(folder)
    names = {path.name for path in folder.iterdir()}
    policies = {f"policy-{layer.chain}.json" for layer in LAYERS.values()}
    assert names == {"chains", "checkpoint.key", "entry.key", "ledger.json"} | policies
    policy = parse_policy((folder / "policy-turns.json").read_bytes())
    assert policy.origin.endswith("/turns/-")
    assert [key.use for key in policy.keys] == ["entry", "checkpoint"]


def test_a_later_start_changes_neither_keys_nor_policies(folder: Path) -> None:
    reopened(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    reopened(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_a_policy_file_that_was_lost_is_made_again(folder: Path) -> None:
    reopened(folder)
    before = (folder / "policy-turns.json").read_bytes()
    (folder / "policy-turns.json").unlink()
    reopened(folder)
    assert (folder / "policy-turns.json").read_bytes() == before


def test_a_policy_file_that_its_owner_extended_is_left_alone(folder: Path) -> None:
    reopened(folder)
    policy = json.loads((folder / "policy-turns.json").read_bytes())
    extended = json.dumps(policy | {"keys": [MORE, *policy["keys"]], "witnesses": ["one"], "quorum": 1}).encode()
    for content in (extended, b"my own words"):
        (folder / "policy-turns.json").write_bytes(content)
        reopened(folder)
        assert (folder / "policy-turns.json").read_bytes() == content


@pytest.mark.parametrize("name", ["policy-turns.json", "policy-decisions.json"])
@pytest.mark.parametrize("changed", ["origin", "entry", "checkpoint"])
def test_a_policy_file_of_another_ledger_or_other_keys_is_refused(folder: Path, name: str, changed: str) -> None:
    reopened(folder)
    policy = json.loads((folder / name).read_bytes())
    if changed == "origin":
        policy["origin"] = policy["origin"].replace("home-", "away-")
    else:
        policy["keys"] = [MORE | {"use": changed}, *(key for key in policy["keys"] if key["use"] != changed)]
    (folder / name).write_text(json.dumps(policy))
    with pytest.raises(SetupError, match=rf"{name} is not about this ledger"):
        open_service(folder)


@pytest.mark.parametrize("name", ["entry.key", "checkpoint.key"])
def test_a_lost_key_is_never_replaced_by_a_new_one(folder: Path, name: str) -> None:
    fill(folder, 1, 2)
    (folder / name).unlink()
    with pytest.raises(KeyFileError, match="has entries; put it back"):
        open_service(folder)
    assert not (folder / name).exists()


@pytest.mark.parametrize("name", ["entry.key", "checkpoint.key"])
@pytest.mark.parametrize("trace", ["head.json", "decisions.jsonl"])
def test_keygen_makes_no_new_key_for_a_ledger_that_was_used(folder: Path, name: str, trace: str) -> None:
    fill(folder, 1, 2)
    for path in chains_folder(folder).iterdir():
        if path.name != trace:
            path.unlink()
    (folder / name).unlink()
    with pytest.raises(KeyFileError, match="has entries; put it back"):
        make_keys(folder, None)
    assert not (folder / name).exists()


def test_a_start_that_was_cut_off_while_making_keys_is_completed(folder: Path) -> None:
    make_keys(folder, None)
    without_policies(folder)
    (folder / "checkpoint.key").unlink()
    reopened(folder)
    assert (folder / "checkpoint.key").exists()


def test_a_swapped_key_is_noticed(folder: Path, tmp_path: Path) -> None:
    fill(folder, 1, 2)
    make_keys(tmp_path, None)
    own = (folder / "entry.key").read_bytes()
    (folder / "entry.key").write_bytes((tmp_path / "entry.key").read_bytes())
    for _ in ("with the commit point", "without it"):
        with pytest.raises(
            KeyFileError, match=r"not the one in force, which by the key log is fingerprint [0-9a-f]{64}"
        ):
            open_service(folder)
        (chains_folder(folder) / "head.json").unlink(missing_ok=True)
    (folder / "entry.key").write_bytes(own)
    (folder / "checkpoint.key").write_bytes((tmp_path / "checkpoint.key").read_bytes())
    with pytest.raises(KeyFileError, match="The checkpoint key that this writer was given is not the one in force"):
        open_service(folder)


def test_a_second_writer_is_refused_and_told_who_is_first(folder: Path) -> None:
    service = open_service(folder)
    with pytest.raises(FolderInUseError, match=r"belong to a running writer, process \d+"):
        open_service(folder)
    service.store.close()
    reopened(folder)


def test_a_start_that_fails_gives_the_folder_back(folder: Path) -> None:
    fill(folder, 1, 3)
    good = chain_file(folder).read_bytes()
    chain_file(folder).write_bytes(good.replace(b'"latencyMs":12', b'"latencyMs":13', 1))
    for _ in range(2):
        with pytest.raises(LedgerDamagedError, match="Entry 1 "):
            open_service(folder)
    chain_file(folder).write_bytes(good)
    reopened(folder)


def test_a_retry_after_a_crash_returns_the_same_bytes_and_other_fields_are_refused(folder: Path) -> None:
    first, _ = fill(folder, 1, 2)
    service = open_service(folder)
    again, clash = service.writer.commit_now(
        [Append("L12", decision(1)), Append("L12", decision(2, latencyMs=99))],
    )
    assert isinstance(again, Entry)
    assert again.line == first.line
    assert isinstance(clash, ReceiptError)
    service.store.close()


def test_a_torn_tail_is_set_aside_and_told(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    fill(folder, 1, 2)
    good = chain_file(folder).read_bytes()
    chain_file(folder).write_bytes(good + b'{"id":3,"recordedAt')
    reopened(folder)
    assert chain_file(folder).read_bytes() == good
    assert "19 bytes of a write that was cut off" in caplog.text


def test_a_complete_bad_last_line_is_refused_and_stays(folder: Path) -> None:
    fill(folder, 1, 2)
    bad = chain_file(folder).read_bytes() + b'{"id":3}\n'
    chain_file(folder).write_bytes(bad)
    with pytest.raises(LedgerDamagedError, match="Entry 3 of the chain decisions"):
        open_service(folder)
    assert chain_file(folder).read_bytes() == bad


def without_last_entry(folder: Path) -> None:
    lines = chain_file(folder).read_bytes().splitlines(keepends=True)
    chain_file(folder).write_bytes(b"".join(lines[:-1]))


def without_last_entry_and_head(folder: Path) -> None:
    without_last_entry(folder)
    (chains_folder(folder) / "head.json").unlink()


@pytest.mark.parametrize("cut", [without_last_entry, without_last_entry_and_head])
def test_a_chain_that_lost_its_last_entry_is_refused(folder: Path, cut: Callable[[Path], None]) -> None:
    fill(folder, 1, 5, checkpoint=True)
    cut(folder)
    with pytest.raises(LedgerBehindError, match="put the newer copy back"):
        open_service(folder)


def test_old_chains_that_were_put_back_are_refused(folder: Path) -> None:
    fill(folder, 1, 3, checkpoint=True)
    old = {path: path.read_bytes() for path in chains_folder(folder).iterdir()}
    fill(folder, 4, 5, checkpoint=True)
    for path, content in old.items():
        path.write_bytes(content)
    with pytest.raises(LedgerBehindError, match=r"ends with entry 3, but .* kept beside the chains .* over 5 entries"):
        open_service(folder)


def test_chains_that_were_made_again_with_the_same_keys_are_refused(folder: Path) -> None:
    fill(folder, 1, 3, checkpoint=True)
    for path in chains_folder(folder).iterdir():
        path.unlink()
    (folder / "keys.checkpoint").unlink()
    kept = (folder / "decisions.checkpoint").rename(folder / "kept")
    fill(folder, 7, 9)
    kept.rename(folder / "decisions.checkpoint")
    with pytest.raises(LedgerDamagedError, match="kept beside the chains was signed over; put"):
        open_service(folder)


def test_an_older_copy_of_a_checkpoint_or_none_holds_up_no_start(folder: Path) -> None:
    fill(folder, 1, 3, checkpoint=True)
    older = (folder / "decisions.checkpoint").read_bytes()
    fill(folder, 4, 5, checkpoint=True)
    (folder / "decisions.checkpoint").write_bytes(older)
    reopened(folder)
    (folder / "decisions.checkpoint").unlink()
    reopened(folder)
    fill(folder, 6, 6, checkpoint=True)
    assert (folder / "decisions.checkpoint").read_bytes() == (
        chains_folder(folder) / "decisions.checkpoint"
    ).read_bytes()


def test_a_turn_that_never_reported_is_interrupted_at_the_next_start(folder: Path) -> None:
    begin_and_die(folder, 1)
    reopened(folder)
    (entry,) = verified(folder, "L10")
    assert entry.fields["outcome"] == "interrupted"
    assert entry.fields["decisions"] == {"n": 1, "firstId": 1, "lastId": 1}
    reopened(folder)
    assert len(verified(folder, "L10")) == 1


def test_a_late_report_of_an_interrupted_turn_is_a_further_entry_of_it(folder: Path) -> None:
    begin_and_die(folder, 1)
    service = open_service(folder)
    (late,) = service.writer.commit_now([Append("L10", turn(1))])
    service.store._opened.close()  # type: ignore[attr-defined]
    service = open_service(folder)
    again, other = service.writer.commit_now([Append("L10", turn(1)), Append("L10", turn(1, iterations=9))])
    service.store.close()
    assert isinstance(late, Entry)
    assert isinstance(again, Entry)
    assert again.line == late.line
    assert "that record stands" in str(other)
    assert [entry.fields["outcome"] for entry in verified(folder, "L10")] == ["interrupted", "replied"]


def test_a_host_that_starts_its_writer_again_still_reports_its_turn(folder: Path) -> None:
    begin_and_die(folder, 1, host="77.1")
    service = open_service(folder, host="77.1")
    (reported,) = service.writer.commit_now([Append("L10", turn(1))])
    assert isinstance(reported, Entry)
    service.store.close()
    assert [entry.fields["outcome"] for entry in verified(folder, "L10")] == ["replied"]


def test_the_turns_of_a_host_that_is_gone_are_interrupted(folder: Path) -> None:
    begin_and_die(folder, 1, host="77.1")
    reopened(folder, host="78.2")
    assert [entry.fields["outcome"] for entry in verified(folder, "L10")] == ["interrupted"]


def test_a_damaged_journal_line_costs_its_own_turn_only(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    begin_and_die(folder, 1)
    journal = chains_folder(folder) / "intents.jsonl"
    journal.write_bytes(b"\0\0\0garbage\n" + journal.read_bytes() + b'{"torn')
    with caplog.at_level(logging.WARNING):
        reopened(folder)
    assert "1 rows of the intent journal are damaged or not signed by this ledger" in caplog.text
    (aside,) = chains_folder(folder).glob("intents.refused-*")
    assert aside.read_bytes() == b"\0\0\0garbage\n"
    assert len(verified(folder, "L10")) == 1


def test_the_journal_is_shortened_at_start(folder: Path) -> None:
    service = open_service(folder)
    for number in range(1, 20):
        service.writer.commit_now([Begin(intent(number))])
        service.writer.commit_now([Append("L10", turn(number))])
    service.store.close()
    assert len((chains_folder(folder) / "intents.jsonl").read_bytes().splitlines()) == 19
    reopened(folder)
    assert (chains_folder(folder) / "intents.jsonl").read_bytes() == b""


def test_a_folder_that_cannot_be_used_is_named(folder: Path) -> None:
    (folder / "chains").write_text("in the way")
    with pytest.raises(SetupError, match="chains cannot be used: file exists"):
        open_service(folder)


@pytest.mark.parametrize("substrate_id", ["UPPER", "a/b", "x" * 300, "ä"])
def test_a_name_that_no_origin_can_have_is_refused(folder: Path, substrate_id: str) -> None:
    with pytest.raises(SetupError, match="cannot be called"):
        make_keys(folder, substrate_id)


def test_a_ledger_keeps_its_name(folder: Path) -> None:
    make_keys(folder, "berlin-1")
    (folder / "checkpoint.key").unlink()
    without_policies(folder)
    with pytest.raises(ServiceError, match="called berlin-1 for good"):
        make_keys(folder, "berlin-2")
    make_keys(folder, "berlin-1")
    reopened(folder)
    assert parse_policy((folder / "policy-decisions.json").read_bytes()).origin == "berlin-1/decisions/-"


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"substrateId":"NO"}', b'{"substrateId":5}', b"[" * 9999])
def test_a_broken_name_file_is_told(folder: Path, content: bytes) -> None:
    reopened(folder)
    (folder / "ledger.json").write_bytes(content)
    with pytest.raises(SetupError, match=r"ledger\.json does not name the ledger"):
        open_service(folder)


def test_a_start_writes_nothing_in_place_but_the_head(folder: Path) -> None:
    fill(folder, 1, 3)
    files = WatchedFiles()
    open_service(folder, files).store.close()
    assert {name for call, name in files.calls if call == "write_at"} == {"head.json"}
    assert ("truncate", "decisions.jsonl") not in files.calls
