"""Keys change between two commits, whatever happens meanwhile (RF-26 to RF-29)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from receipt_writer.errors import (
    DraftRefusedError,
    NotPossibleYetError,
    StorageFailedError,
    WriterStoppedError,
)
from receipt_writer.format.keylog import read_event
from receipt_writer.format.policy import KeyUse
from receipt_writer.format.schema import LAYERS
from receipt_writer.signers.file import load_key
from receipt_writer.signers.source import KEY_NAMES, KeySource
from tests.receipt_writer.key_changes import (
    LOCK,
    USES,
    DyingFiles,
    append,
    at_work,
    in_force,
    judge,
    key_files,
    policy_files,
    trust_of,
)
from tests.receipt_writer.parts import WatchedFiles, policy_keys


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
