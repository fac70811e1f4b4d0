"""Keys change between two commits, whatever happens meanwhile (RF-26 to RF-29)."""

from __future__ import annotations

import asyncio
import base64
import errno
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest

from receipt_writer.app import Service, open_service
from receipt_writer.errors import (
    DraftRefusedError,
    EntryNotFoundError,
    KeyFileError,
    LedgerBehindError,
    LedgerDamagedError,
    NotPossibleYetError,
    StorageFailedError,
    WriterStoppedError,
)
from receipt_writer.format.checkpoint import verify_note
from receipt_writer.format.entry import Entry
from receipt_writer.format.errors import LinkError
from receipt_writer.format.keylog import read_event
from receipt_writer.format.policy import KeyUse
from receipt_writer.format.schema import LAYERS
from receipt_writer.identity import chains_folder, create_identity, load_identity
from receipt_writer.ledger import Append
from receipt_writer.signers.file import Passphrase, load_key
from receipt_writer.signers.local import LocalSigner
from receipt_writer.signers.sealing import Limits
from receipt_writer.signers.source import KEY_NAMES, KeySource
from receipt_writer.storage.filesystem import OsFileSystem
from receipt_writer.storage.jsonl import JsonlStore
from receipt_writer.storage.lock import take_lock
from receipt_writer.storage.protocol import Batch, Mark
from receipt_writer.trust import Trust, judged_trust
from tests.receipt_writer.format.material import START_MS, decision_chain, walk
from tests.receipt_writer.parts import Clock, WatchedFiles, chain_file, decision, policy_keys

USES = get_args(KeyUse)
LOCK = KeySource(Passphrase(b"correct horse", Limits(1, 8192)))


@dataclass
class DyingFiles(WatchedFiles):
    """Real files until `after` changing calls were made; every later one fails, as on a disk that was pulled out."""

    after: int = 1 << 30

    def remove(self, path: Path) -> None:
        self._happen("remove", path.name)
        super().remove(path)

    def _happen(self, call: str, name: str) -> None:
        if len(self.calls) >= self.after:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super()._happen(call, name)


@asynccontextmanager
async def at_work(
    folder: Path, files: OsFileSystem | None = None, source: KeySource | None = None
) -> AsyncIterator[Service]:
    """Run a ledger's writer, without a server, until the block ends; a writer that failed is left as it is."""
    service = open_service(folder, files, Clock(), source=source)
    committer = asyncio.create_task(service.writer.run(lambda: None))
    try:
        yield service
        await service.writer.drain()
        await committer
    finally:
        committer.cancel()
        service.store._opened.close()  # type: ignore[attr-defined]  # as `kill -9` would: nothing is said


async def append(service: Service, number: int) -> Entry:
    return await service.writer.append("L12", decision(number))


def in_force(service: Service, use: KeyUse = "entry") -> bytes:
    return service.rotations.key_in_force(use)


def trust_of(folder: Path) -> Trust:
    """Return whom an outsider trusts who holds the ledger's policy of the key log and was handed the log."""
    origin, keys = policy_keys(folder, "L3")
    return judged_trust(origin, chain_file(folder, "L3").read_bytes().split(b"\n")[:-1], keys)


def judge(folder: Path) -> None:
    """Judge every chain and checkpoint of a ledger as an outsider does, with the policies and the key log."""
    trust = trust_of(folder)
    for name, layer in LAYERS.items():
        origin, _ = policy_keys(folder, name)
        walk(chain_file(folder, name).read_bytes(), origin, trust.keys(layer.chain))
        note = chains_folder(folder) / f"{layer.chain}.checkpoint"
        if note.exists():
            checkpoint_keys = [key for key in trust.keys(layer.chain) if key.use == "checkpoint"]
            size = int(note.read_text().split("\n")[1])
            assert verify_note(
                note.read_text(), origin, [key.public_key for key in checkpoint_keys if key.covers(size)]
            )


def key_files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("[!.]*.key*"))


def policy_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("policy-*.json")}


async def test_the_key_log_begins_with_the_first_keys(folder: Path) -> None:
    """RF-26."""
    async with at_work(folder):
        pass
    async with at_work(folder) as service:
        assert service.ledger.indexes["L3"].head.size == 2
    origin, keys = policy_keys(folder)
    assert origin.endswith("/decisions/-")
    assert [(event.event, event.use, event.public_key) for event in trust_of(folder).events] == [
        ("created", key.use, key.public_key) for key in keys
    ]


@pytest.mark.parametrize("source", [None, LOCK], ids=["plain", "locked"])
@pytest.mark.parametrize("use", USES)
async def test_a_rotation_puts_a_new_key_in_the_place_of_the_old(
    folder: Path, use: KeyUse, source: KeySource | None
) -> None:
    """RF-26 to RF-29: the old policies and the key log are enough to judge what the new key signs."""
    async with at_work(folder, source=source) as service:
        await append(service, 1)
        await service.checkpoints.write_all_new()
        old, old_file = in_force(service, use), (folder / KEY_NAMES[use]).read_bytes()
        policies = policy_files(folder)
        entry = await service.rotations.rotate(use, old, "yearly")
        new = in_force(service, use)
        second = await append(service, 2)
        await service.checkpoints.write_all_new()
    event = read_event(entry)
    assert (event.event, event.use, event.previous_key, event.public_key) == ("rotated", use, old, new)
    assert event.reason == "yearly"
    assert (second.attestation.public_key == new) == (use == "entry")
    assert load_key(folder / KEY_NAMES[use], use, source.passphrase if source else None).public_key == new
    assert ((folder / KEY_NAMES[use]).read_bytes() != old_file, key_files(folder)) == (True, sorted(KEY_NAMES.values()))
    assert policy_files(folder) == policies
    judge(folder)
    async with at_work(folder, source=source) as service:
        assert in_force(service, use) == new
        await append(service, 3)
        await service.checkpoints.write_all_new()
    judge(folder)


async def test_an_event_holds_from_the_next_entry_of_every_chain_on(folder: Path) -> None:
    """RF-26."""
    async with at_work(folder) as service:
        for number in range(1, 4):
            await append(service, number)
        entry = await service.rotations.rotate("entry", in_force(service), "")
        rows = {layer.chain: 1 for layer in LAYERS.values()} | {"decisions": 4, "keys": entry.id + 1}
        assert dict(read_event(entry).chains) == rows
        await service.checkpoints.write("L12")
        await append(service, 4)
        entry = await service.rotations.rotate("checkpoint", in_force(service, "checkpoint"), "")
        assert dict(read_event(entry).chains)["decisions"] == 4
    assert [name for name, _ in read_event(entry).chains] == [layer.chain for layer in LAYERS.values()]


async def test_a_key_change_is_told_in_a_new_state(folder: Path) -> None:
    """RF-30."""
    async with at_work(folder) as service:
        await service.rotations.rotate("entry", in_force(service), "")
        run = service.store.read("regenerations", 1, 1)
    assert b'"reason":"key_changed"' in run[0]
    assert (folder / "state.json").exists()
    judge(folder)


async def test_a_second_request_for_the_same_rotation_is_answered_with_the_first(folder: Path) -> None:
    async with at_work(folder) as service:
        old = in_force(service)
        first, again = await asyncio.gather(*(service.rotations.rotate("entry", old, word) for word in ("a", "b")))
        assert again.line == first.line
        middle = in_force(service)
        await service.rotations.rotate("entry", middle, "")
    async with at_work(folder) as service:
        assert (await service.rotations.rotate("entry", old, "c")).line == first.line
        assert service.ledger.indexes["L3"].head.size == 4
    judge(folder)


@pytest.mark.parametrize("use", USES)
async def test_a_key_that_does_not_sign_is_not_rotated(folder: Path, use: KeyUse) -> None:
    async with at_work(folder) as service:
        other = in_force(service, "checkpoint" if use == "entry" else "entry")
        with pytest.raises(NotPossibleYetError, match=rf"The {use} key in force is another one, with fingerprint"):
            await service.rotations.rotate(use, other, "")
        assert service.ledger.indexes["L3"].head.size == 2


async def test_a_reason_that_no_entry_can_hold_changes_nothing(folder: Path) -> None:
    async with at_work(folder) as service:
        old = in_force(service)
        with pytest.raises(DraftRefusedError, match="The key event was refused"):
            await service.rotations.rotate("entry", old, "x" * 5000)
        assert in_force(service) == old
        await append(service, 1)
    async with at_work(folder) as service:
        assert in_force(service) == old
    assert key_files(folder) == sorted(KEY_NAMES.values())


async def test_appends_go_on_around_a_rotation_and_all_of_them_hold(folder: Path) -> None:
    async with at_work(folder) as service:
        appends = [asyncio.create_task(append(service, number)) for number in range(60)]
        for _ in range(3):
            await service.rotations.rotate("entry", in_force(service), "")
            appends += [asyncio.create_task(append(service, 100 + number + len(appends))) for number in range(20)]
        entries = await asyncio.gather(*appends)
    assert len({entry.attestation.public_key for entry in entries}) > 1
    judge(folder)


async def test_a_writer_that_leaves_rotates_nothing(folder: Path) -> None:
    async with at_work(folder) as service:
        old = in_force(service)
    with pytest.raises(WriterStoppedError):
        await service.rotations.rotate("entry", old, "")
    assert f"{KEY_NAMES['entry']}.next" in key_files(folder)
    async with at_work(folder) as service:
        assert in_force(service) == old
    assert key_files(folder) == sorted(KEY_NAMES.values())


async def rotate_until(folder: Path, use: KeyUse, calls: int) -> tuple[bytes, bool]:
    """Rotate on a disk that dies after so many changing calls; return the old key, and whether nothing failed."""
    files = DyingFiles()
    async with at_work(folder, files) as service:
        await append(service, 1)
        old = in_force(service, use)
        files.after = len(files.calls) + calls
        try:
            await service.rotations.rotate(use, old, "")
        except StorageFailedError:
            return old, False
        return old, service.writer.failure is None


@pytest.mark.parametrize("use", USES)
async def test_a_rotation_that_stops_after_any_step_recovers_by_itself(tmp_path: Path, use: KeyUse) -> None:
    seen = set()
    for calls in range(200):
        place = tmp_path / f"{calls}"
        place.mkdir()
        old, whole = await rotate_until(place, use, calls)
        left = len(key_files(place))
        async with at_work(place) as service:
            recorded = service.ledger.indexes["L3"].head.size > 2
            assert (in_force(service, use) != old) == recorded
            assert key_files(place) == sorted(KEY_NAMES.values())
            assert load_key(place / KEY_NAMES[use], use).public_key == in_force(service, use)
            await append(service, 2)
            again = await service.rotations.rotate(use, old, "")
            assert read_event(again).previous_key == old
            await service.checkpoints.write_all_new()
        judge(place)
        async with at_work(place):
            pass
        seen.add((recorded, left))
        if whole:
            break
    assert whole
    assert seen == {(False, 2), (False, 3), (True, 3), (True, 2)}


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
    with pytest.raises(LedgerDamagedError, match="put back the file or the key that belongs"):
        open_service(folder)


async def test_a_disk_that_fails_during_the_change_ends_the_writer(folder: Path) -> None:
    files = WatchedFiles()
    async with at_work(folder, files) as service:
        files.fails = ("replace", "entry.key")
        with pytest.raises(StorageFailedError, match="The rotation is recorded; restart the writer to end it"):
            await service.rotations.rotate("entry", in_force(service), "")
        assert service.writer.failure
        with pytest.raises(WriterStoppedError):
            await append(service, 1)
    async with at_work(folder):
        judge(folder)


async def test_a_disk_that_takes_no_next_key_leaves_the_writer_at_work(folder: Path) -> None:
    files = WatchedFiles()
    async with at_work(folder, files) as service:
        files.fails = ("sync", ".entry.key.next.new")
        with pytest.raises(StorageFailedError, match="could not be made, and the old one stays"):
            await service.rotations.rotate("entry", in_force(service), "")
        await append(service, 1)
    judge(folder)


async def test_the_key_in_force_is_not_revoked(folder: Path) -> None:
    async with at_work(folder) as service:
        for use in USES:
            with pytest.raises(NotPossibleYetError, match="is in force; rotate it first, then revoke it"):
                await service.rotations.revoke(use, in_force(service, use), "stolen")


@pytest.mark.parametrize("use", USES)
async def test_a_key_that_was_replaced_can_be_revoked_and_nothing_recorded_suffers(folder: Path, use: KeyUse) -> None:
    """RF-28."""
    async with at_work(folder) as service:
        await append(service, 1)
        await service.checkpoints.write_all_new()
        old = in_force(service, use)
        await service.rotations.rotate(use, old, "")
        entry = await service.rotations.revoke(use, old, "stolen")
        again = await service.rotations.revoke(use, old, "stolen, really")
        assert again.line == entry.line
        assert (read_event(entry).event, read_event(entry).public_key) == ("revoked", old)
        await append(service, 2)
    judge(folder)
    async with at_work(folder) as service:
        assert in_force(service, use) != old
        assert (await service.rotations.revoke(use, old, "")).line == entry.line


async def test_a_revocation_into_the_past_is_told_to_verifiers_and_the_ledger_still_opens(folder: Path) -> None:
    """RF-28: the writer itself goes by the checkpoint that the present key signed over those entries."""
    async with at_work(folder) as service:
        for number in range(1, 6):
            await append(service, number)
        old = in_force(service)
        await service.rotations.rotate("entry", old, "")
        entry = await service.rotations.revoke("entry", old, "stolen on Monday", {"decisions": 3})
    assert read_event(entry).at("decisions") == 3
    with pytest.raises(LinkError, match="Entry 3 is signed by a key that the policy does not trust there"):
        judge(folder)
    async with at_work(folder) as service:
        await append(service, 6)


async def test_a_revocation_that_would_lock_the_ledger_is_refused(folder: Path) -> None:
    async with at_work(folder) as service:
        await append(service, 1)
        await service.checkpoints.write_all_new()
        old = in_force(service, "checkpoint")
        await service.rotations.rotate("checkpoint", old, "")
        with pytest.raises(NotPossibleYetError, match="chain decisions has no checkpoint yet that a later key signed"):
            await service.rotations.revoke("checkpoint", old, "", {"decisions": 1})
        await append(service, 2)
        await service.rotations.revoke("checkpoint", old, "", {"decisions": 1})
    async with at_work(folder):
        pass


async def test_a_revocation_of_a_stranger_or_in_no_chain_is_refused(folder: Path) -> None:
    async with at_work(folder) as service:
        old = in_force(service)
        await service.rotations.rotate("entry", old, "")
        with pytest.raises(EntryNotFoundError, match="ever signed for this ledger; nothing was revoked"):
            await service.rotations.revoke("entry", LocalSigner.generate().public_key, "")
        with pytest.raises(EntryNotFoundError):
            await service.rotations.revoke("checkpoint", old, "")
        for at_ids in ({"dreams": 1}, {"turns": 0}):
            with pytest.raises(DraftRefusedError, match="A revocation cannot begin at"):
                await service.rotations.revoke("entry", old, "", at_ids)


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
    (chains_folder(folder) / "head.json").unlink()
    with pytest.raises(KeyFileError, match="not the one in force"):
        open_service(folder, source=seeds(1))


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
