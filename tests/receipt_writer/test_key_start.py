"""What a start makes of keys and the key log: first, seeded, old, edited, lost (RF-26, RF-29)."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from receipt_writer.app import open_service
from receipt_writer.errors import (
    KeyFileError,
    LedgerBehindError,
    LedgerDamagedError,
    NotPossibleYetError,
)
from receipt_writer.format.entry import Entry
from receipt_writer.identity import chains_folder, create_identity, load_identity
from receipt_writer.ledger import Append
from receipt_writer.signers.local import LocalSigner
from receipt_writer.signers.source import KeySource
from receipt_writer.storage.filesystem import OsFileSystem
from receipt_writer.storage.jsonl import JsonlStore
from receipt_writer.storage.lock import take_lock
from receipt_writer.storage.protocol import Batch, Mark
from tests.receipt_writer.format.material import START_MS, decision_chain
from tests.receipt_writer.key_changes import (
    append,
    at_work,
    in_force,
    judge,
    key_files,
    trust_of,
)
from tests.receipt_writer.parts import chain_file, decision


@pytest.mark.parametrize("word", [b'"yearly"', b'"event":"rotated"', b'"chain":"turns","atId":1'])
async def test_a_start_refuses_a_key_log_that_was_edited(folder: Path, word: bytes) -> None:
    """RF-29: also under its checkpoint, which spares other chains the signatures."""
    async with at_work(folder) as service:
        await service.rotations.rotate("entry", in_force(service), "yearly")
        await service.checkpoints.write_all_new()
    log = chain_file(folder, "L3").read_bytes()
    edited = log.replace(word, word[:-2] + bytes([word[-2] ^ 1]) + word[-1:])
    assert edited != log
    chain_file(folder, "L3").write_bytes(edited)
    with pytest.raises(LedgerDamagedError, match="Entry 3 of the chain keys is not what was recorded"):
        open_service(folder)


async def test_a_start_refuses_a_ledger_whose_key_log_is_gone(folder: Path) -> None:
    async with at_work(folder) as service:
        await service.rotations.rotate("entry", in_force(service), "")
    chain_file(folder, "L3").unlink()
    with pytest.raises(LedgerBehindError, match="chain keys has 0 bytes"):
        open_service(folder)


async def test_an_old_key_file_is_refused_after_a_rotation(folder: Path) -> None:
    async with at_work(folder) as service:
        old = (folder / "entry.key").read_bytes()
        await service.rotations.rotate("entry", in_force(service), "")
    (folder / "entry.key").write_bytes(old)
    with pytest.raises(KeyFileError, match="The entry key that this writer was given is not the one in force"):
        open_service(folder)


def seeds(entry: int, following: int | None = None) -> KeySource:
    def text(number: int) -> str:
        return base64.b64encode(bytes([number]) * 32).decode()

    return KeySource(
        seeds={"entry": text(entry), "checkpoint": text(9)},
        next_seeds={} if following is None else {"entry": text(following)},
    )


async def test_a_key_from_the_environment_changes_with_its_variables(folder: Path) -> None:
    async with at_work(folder, source=seeds(1)) as service:
        old = in_force(service)
        with pytest.raises(NotPossibleYetError, match="set PROMETHEUS_RECEIPTS_ENTRY_SEED_NEXT to base64"):
            await service.rotations.rotate("entry", old, "")
        await append(service, 1)
    async with at_work(folder, source=seeds(1, 2)) as service:
        assert in_force(service) == old
        await service.rotations.rotate("entry", old, "")
        await append(service, 2)
    for source in (seeds(1, 2), seeds(2)):
        async with at_work(folder, source=source) as service:
            assert in_force(service) == LocalSigner.from_seed(b"\2" * 32).public_key
    assert key_files(folder) == []
    judge(folder)
    for _ in ("with the commit point", "without it"):
        with pytest.raises(KeyFileError, match=r"not the one in force, .*put back the key file, or the seed"):
            open_service(folder, source=seeds(1))
        (chains_folder(folder) / "head.json").unlink(missing_ok=True)


def test_one_seed_for_both_uses_is_refused(folder: Path) -> None:
    with pytest.raises(KeyFileError, match="are one key"):
        open_service(folder, source=seeds(9))


async def test_a_ledger_of_the_version_before_opens_and_gets_its_key_log(folder: Path) -> None:
    """RF-26: only the chains turns and decisions, two policies, no key log."""
    files = OsFileSystem()
    chains_folder(folder).mkdir()
    create_identity(files, folder, KeySource())
    identity = load_identity(files, folder, KeySource())
    signer = identity.entry_signer
    store = JsonlStore(files, take_lock(files, chains_folder(folder)), ["turns", "decisions"], signer, folder)
    assert [list(store.lines(chain)) for chain in ("turns", "decisions")] == [[], []]
    store.settle({chain: Mark(0, "0" * 64) for chain in ("turns", "decisions")}, [], START_MS)
    origin = identity.name.origin("decisions")
    entries = decision_chain([decision(number) for number in range(3)], signer, origin)  # type: ignore[arg-type]
    store.commit(Batch({"decisions": entries}))
    store.close()
    async with at_work(folder) as service:
        assert service.ledger.indexes["L12"].head.size == 3
        await append(service, 1)
        outcome = service.writer.commit_now([Append("L12", decision(3))])
        assert isinstance(outcome[0], Entry)
        await service.rotations.rotate("entry", in_force(service), "")
    assert [event.event for event in trust_of(folder).events] == ["created", "created", "rotated"]
    judge(folder)
