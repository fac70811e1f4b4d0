"""Keys are revoked without locking the ledger that they signed for (RF-28)."""

from __future__ import annotations

from pathlib import Path

import pytest

from receipt_writer.errors import (
    DraftRefusedError,
    EntryNotFoundError,
    NotPossibleYetError,
)
from receipt_writer.format.errors import LinkError
from receipt_writer.format.keylog import read_event
from receipt_writer.format.policy import KeyUse
from receipt_writer.fsck import check_chain
from receipt_writer.signers.local import LocalSigner
from tests.receipt_writer.key_changes import (
    USES,
    append,
    at_work,
    in_force,
    judge,
)


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


async def test_the_lines_of_the_key_log_that_lead_to_the_present_key_cannot_be_disowned(folder: Path) -> None:
    async with at_work(folder) as service:
        old = in_force(service)
        await service.rotations.rotate("entry", old, "")
        middle = in_force(service)
        await service.rotations.rotate("entry", middle, "")
        for key, at_id in ((old, 1), (old, 3), (middle, 4)):
            with pytest.raises(DraftRefusedError, match=r"lead to the key in force, .*; leave keys out"):
                await service.rotations.revoke("entry", key, "stolen", {"keys": at_id})
        await service.rotations.revoke("entry", old, "stolen", {"keys": 4, "decisions": 1})
    judge(folder)
    assert check_chain(folder, "L3").disowned == []
