"""A copy of a ledger whose writer goes on while it is made."""

from __future__ import annotations

import asyncio
from pathlib import Path

from receipt_writer.exporting import export_ledger
from receipt_writer.format.schema import LAYERS
from receipt_writer.trust import judged_trust
from tests.receipt_writer.format.material import walk
from tests.receipt_writer.key_changes import append, at_work, in_force
from tests.receipt_writer.parts import policy_keys

LAYERS_BEFORE = list(LAYERS).index("L3") + 1
"""After so many chains in the table's order the key log would be among them."""


async def test_no_entry_of_a_copy_is_signed_by_a_key_that_its_key_log_does_not_know(
    folder: Path, tmp_path: Path
) -> None:
    async with at_work(folder) as service:
        await append(service, 1)
        loop = asyncio.get_running_loop()
        copied = 0

        async def rotate() -> None:
            await service.rotations.rotate("entry", in_force(service), "")
            await append(service, 2)

        def after_a_chain(_done: int, _total: int) -> None:
            nonlocal copied
            copied += 1
            if copied == LAYERS_BEFORE:
                asyncio.run_coroutine_threadsafe(rotate(), loop).result()

        exported = await asyncio.to_thread(export_ledger, folder, tmp_path / "copy", after_a_chain)
    assert len(exported) == copied == len(LAYERS)
    origin, keys = policy_keys(folder, "L3")
    trust = judged_trust(origin, (tmp_path / "copy" / "keys.jsonl").read_bytes().split(b"\n")[:-1], keys)
    for name, layer in LAYERS.items():
        content = (tmp_path / "copy" / f"{layer.chain}.jsonl").read_bytes()
        walk(content, policy_keys(folder, name)[0], trust.keys(layer.chain))
