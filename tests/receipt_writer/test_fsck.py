"""The full check of a chain as it lies on disk: what it finds, and what it must not call damage."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from receipt_writer.app import open_service
from receipt_writer.format.schema import LAYERS
from receipt_writer.format.signing import fingerprint
from receipt_writer.fsck import check_chain
from receipt_writer.identity import chains_folder
from receipt_writer.ledger import Append, Regenerate
from receipt_writer.signers.file import load_key
from receipt_writer.storage.head_file import HeadRecord, encode_slot, newest_record
from tests.receipt_writer.key_changes import append, at_work, in_force
from tests.receipt_writer.parts import Clock, chain_file, decision


def faults(folder: Path) -> dict[str, str]:
    found = {layer.chain: check_chain(folder, name).fault for name, layer in LAYERS.items()}
    return {chain: fault for chain, fault in found.items() if fault}


def recorded(folder: Path, decisions: int = 2) -> None:
    """Record decisions and a state of them, with checkpoints, as one run of the writer."""
    service = open_service(folder, None, Clock())
    service.writer.commit_now([Append("L12", decision(number)) for number in range(1, decisions + 1)])
    service.writer.commit_now([Regenerate("requested")])
    service.state.restore()
    asyncio.run(service.checkpoints.write_all_new())
    service.store.close()


def without_marks(folder: Path, chain: str = "decisions") -> None:
    """Take away the commit point, and the checkpoint of a chain with its copy."""
    (chains_folder(folder) / "head.json").unlink()
    for place in (folder, chains_folder(folder)):
        (place / f"{chain}.checkpoint").unlink()


def keep_lines(folder: Path, layer: str, lines: int) -> None:
    path = chain_file(folder, layer)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:lines]))


def test_a_good_ledger_is_good_in_every_chain(folder: Path) -> None:
    recorded(folder)
    assert faults(folder) == {}


def test_a_chain_behind_the_newest_state_is_damaged(folder: Path) -> None:
    recorded(folder)
    without_marks(folder)
    keep_lines(folder, "L12", 1)
    assert faults(folder) == {
        "decisions": "The chain decisions ends with entry 1, but state 1 was signed over 2 entries of it; put the "
        "newer copy back."
    }


def test_another_history_than_that_of_the_newest_state_is_damaged(folder: Path) -> None:
    recorded(folder)
    without_marks(folder)
    chain_file(folder, "L12").write_bytes(b"")
    for path in (chain_file(folder, "L1"), chain_file(folder, "L7"), folder / "state.json"):
        path.rename(path.with_suffix(".kept"))
    for chain in ("state", "regenerations"):
        (chains_folder(folder) / f"{chain}.checkpoint").unlink()
        (folder / f"{chain}.checkpoint").unlink()
    service = open_service(folder, None, Clock())
    service.writer.commit_now([Append("L12", decision(number, latencyMs=99)) for number in (1, 2)])
    service.store.close()
    (folder / "state.kept").rename(folder / "state.json")
    assert faults(folder)["decisions"] == (
        "The first 2 entries of the chain decisions are not those that state 1 was signed over; put the chains back "
        "that belong to it."
    )


def test_a_state_chain_behind_its_own_file_is_damaged(folder: Path) -> None:
    recorded(folder)
    without_marks(folder, "state")
    keep_lines(folder, "L1", 0)
    assert "The chain state ends with entry 0, but state 1 was signed over 1" in faults(folder)["state"]


@pytest.mark.parametrize("content", [b"", b"{}\n", b"garbage", b"\xff\n"])
def test_a_state_file_that_is_none_says_nothing_about_the_chains(folder: Path, content: bytes) -> None:
    recorded(folder)
    (folder / "state.json").write_bytes(content)
    assert faults(folder) == {}


def test_a_chain_shorter_than_its_commit_point_has_no_unfinished_write(folder: Path) -> None:
    recorded(folder)
    chain = chain_file(folder)
    chain.write_bytes(chain.read_bytes()[:-3])
    assert check_chain(folder, "L12").torn_bytes == 0
    assert "decisions" in faults(folder)


async def revoked_into_the_past(folder: Path) -> bytes:
    """Record six decisions; the first five are the old key's, which is disowned from the third on."""
    async with at_work(folder) as service:
        for number in range(1, 6):
            await append(service, number)
        old = in_force(service)
        await service.rotations.rotate("entry", old, "stolen")
        await service.rotations.revoke("entry", old, "stolen on Monday", {"decisions": 3})
        await append(service, 6)
    return old


async def test_entries_that_a_revocation_reached_back_to_are_told_and_are_no_damage(folder: Path) -> None:
    old = await revoked_into_the_past(folder)
    assert faults(folder) == {}
    finding = check_chain(folder, "L12")
    assert finding.entries == 6
    (sentence,) = finding.disowned
    assert sentence.startswith(
        f"Entries 3 to 5 are signed by the entry key with fingerprint {fingerprint(old)}, which entry 4 of the chain "
        "keys revoked from 3 on"
    )
    assert [check_chain(folder, layer).disowned for layer in LAYERS if layer != "L12"] == [[]] * (len(LAYERS) - 1)


async def test_damage_behind_disowned_entries_is_still_found(folder: Path) -> None:
    await revoked_into_the_past(folder)
    path = chain_file(folder)
    for entry_id in (4, 6):
        lines = path.read_bytes().split(b"\n")
        spoilt = [*lines]
        spoilt[entry_id - 1] = spoilt[entry_id - 1].replace(b'"latencyMs":12', b'"latencyMs":13')
        path.write_bytes(b"\n".join(spoilt))
        assert f"Entry {entry_id} of the chain decisions is not what was recorded" in faults(folder)["decisions"]
        path.write_bytes(b"\n".join(lines))


async def test_a_commit_point_signed_by_a_former_key_is_none(folder: Path) -> None:
    async with at_work(folder) as service:
        await append(service, 1)
        former = load_key(folder / "entry.key", "entry")
        await service.rotations.rotate("entry", former.public_key, "")
        await append(service, 2)
        present = in_force(service)
    head = chains_folder(folder) / "head.json"
    record, _ = newest_record(head.read_bytes(), present)
    older = HeadRecord(record.epoch, record.commit + 1, record.chains)
    head.write_bytes(encode_slot(older, former, 0) + encode_slot(older, former, 1))
    assert "head.json holds no record signed by this" in faults(folder)["decisions"]
    (folder / "entry.key.next").touch()  # as in the middle of a rotation
    assert faults(folder) == {}
