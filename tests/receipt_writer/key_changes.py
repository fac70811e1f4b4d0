"""Ledgers at work whose keys change, and an outsider who judges them with the old policies and the key log."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from receipt_writer.app import Service, open_service
from receipt_writer.format.checkpoint import verify_note
from receipt_writer.format.entry import Entry
from receipt_writer.format.policy import KeyUse
from receipt_writer.format.schema import LAYERS
from receipt_writer.identity import chains_folder
from receipt_writer.signers.file import Passphrase
from receipt_writer.signers.sealing import Limits
from receipt_writer.signers.source import KeySource
from receipt_writer.storage.filesystem import OsFileSystem
from receipt_writer.trust import Trust, judged_trust
from tests.receipt_writer.format.material import walk
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
