"""A scripted life of a writer, what it promised while it lived, and whether a later start keeps the promises."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from receipt_writer.app import Service, open_service
from receipt_writer.errors import ReceiptError, StorageFailedError
from receipt_writer.format.chain import Head, check_link, genesis_head
from receipt_writer.format.entry import Entry, parse_line
from receipt_writer.format.errors import FormatError
from receipt_writer.format.policy import TrustedKey
from receipt_writer.format.schema import LAYERS
from receipt_writer.ledger import Append, Begin
from receipt_writer.storage.filesystem import FileSystem
from service_runtime.errors import ServiceError
from tests.receipt_writer.format.material import START_MS
from tests.receipt_writer.parts import Clock, Draft, chain_file, decision, intent, policy_keys, turn

LAYERS_USED = ("L1", "L3", "L7", "L10", "L12")
LATER_MS = START_MS + 60_000
OpenService = Callable[..., Service]


@dataclass(frozen=True)
class Promise:
    """An acknowledgement: an entry's line under its layer, or a turn that began; `after` counts storage calls."""

    after: int
    layer: str
    line: bytes = b""
    draft: Draft = field(default_factory=dict)
    begun: str = ""


@dataclass
class Promises:
    """What callers were told so far."""

    calls: Callable[[], int] = lambda: 0
    made: list[Promise] = field(default_factory=list)

    async def append(self, service: Service, layer: str, draft: Draft) -> Entry:
        entry = await service.writer.append(layer, draft)
        self.made.append(Promise(self.calls(), layer, entry.line, draft))
        return entry

    def take(self, layer: str, entry: Entry) -> None:
        """Note an entry that the writer made by itself on request: nobody can ask for it again."""
        self.made.append(Promise(self.calls(), layer, entry.line))

    async def begin(self, service: Service, number: int) -> None:
        await service.writer.begin(Begin(intent(number)))
        self.made.append(Promise(self.calls(), "L10", begun=str(turn(number)["turnId"])))

    def by(self, calls: int) -> list[Promise]:
        """Return what had been promised when so many storage calls were done."""
        return [promise for promise in self.made if promise.after <= calls]


@asynccontextmanager
async def alive(folder: Path, files: FileSystem, clock: Clock) -> AsyncIterator[Service]:
    """Run a writer without its server until the block ends; whether it ends in order is the block's affair."""
    service = open_service(folder, files, clock)
    committer = asyncio.create_task(service.writer.run(lambda: None))
    try:
        yield service
    finally:
        committer.cancel()
        await asyncio.gather(committer, return_exceptions=True)


async def leave(service: Service) -> None:
    """End a writer in order, as `run_service` does."""
    await service.writer.drain()
    await service.checkpoints.write_all_new()
    service.store.close()


async def first_life(folder: Path, files: FileSystem, promises: Promises) -> None:
    """Make a ledger, record turns and decisions alone and in groups, sign checkpoints, and stop in the middle."""
    async with alive(folder, files, Clock()) as service:
        await promises.begin(service, 1)
        await promises.append(service, "L12", decision(1))
        await asyncio.gather(*(promises.append(service, "L12", decision(number)) for number in range(2, 6)))
        await promises.append(service, "L10", turn(1))
        await service.checkpoints.write("L12")
        await asyncio.gather(
            promises.begin(service, 2), *(promises.append(service, "L12", decision(number)) for number in (6, 7))
        )
        await asyncio.gather(
            promises.append(service, "L12", decision(8)), promises.append(service, "L10", turn(2, outcome="failed"))
        )
        await promises.begin(service, 3)


async def second_life(folder: Path, files: FileSystem, promises: Promises) -> None:
    """Recover from a kill in the middle of a write, go on, answer a repeated request, and stop in order."""
    tear(folder, files)
    clock = Clock()
    clock.now_ms += 5_000
    async with alive(folder, files, clock) as service:
        await promises.append(service, "L12", decision(8))
        await promises.begin(service, 4)
        await asyncio.gather(*(promises.append(service, "L12", decision(number)) for number in range(9, 13)))
        await promises.append(service, "L10", turn(4))
        await service.checkpoints.write("L10")
        await promises.append(service, "L12", decision(13))
        await leave(service)


async def third_life(folder: Path, files: FileSystem, promises: Promises) -> None:
    """Change both keys, revoke the old one, record the state, go on under the new keys, and stop in the middle."""
    clock = Clock()
    clock.now_ms += 10_000
    async with alive(folder, files, clock) as service:
        first = service.rotations.key_in_force("entry")
        promises.take("L3", await service.rotations.rotate("entry", first, "once a year"))
        await promises.append(service, "L12", decision(14))
        other = service.rotations.key_in_force("checkpoint")
        promises.take("L3", await service.rotations.rotate("checkpoint", other, "once a year"))
        await service.checkpoints.write("L12")
        promises.take("L3", await service.rotations.revoke("entry", first, "it is of no use any more"))
        promises.take("L1", await service.state.regenerate("requested"))
        await promises.append(service, "L12", decision(15))


LIVES = (first_life, second_life, third_life)
"""What happens to one folder, in this order."""


def tear(folder: Path, files: FileSystem) -> None:
    """Leave the first bytes of a further line at the end of a chain, as a kill in the middle of a write does."""
    handle = files.open(chain_file(folder), append=True)
    files.write(handle, b'{"id":9,"recordedAtMs":17646071')
    files.close(handle)


@dataclass
class ChainReader:
    """Reads chains as a verifier does; lines judged once are remembered, since chains are read again and again."""

    _judged: dict[tuple[Head, bytes], tuple[Head, Entry]] = field(default_factory=dict)

    def entries(self, folder: Path, layer: str, keys: Sequence[TrustedKey] = ()) -> list[Entry]:
        """Return the entries of a chain up to a torn tail; `keys` are trusted, else those of the folder's policy.

        Raises:
            FormatError: A complete line is not the next of its chain.
        """
        origin, policy = policy_keys(folder, layer)
        head = genesis_head(origin)
        entries = []
        for line in chain_file(folder, layer).read_bytes().split(b"\n")[:-1]:
            head, entry = self._linked(layer, head, line, tuple(keys) or policy)
            entries.append(entry)
        return entries

    def _linked(self, layer: str, head: Head, line: bytes, keys: tuple[TrustedKey, ...]) -> tuple[Head, Entry]:
        key = (head, line)
        if key not in self._judged:
            entry = parse_line(layer, line)
            self._judged[key] = (check_link(head, entry, keys=keys), entry)
        return self._judged[key]


@dataclass
class Inspector:
    """Starts a writer on what is left and holds it against what was promised; lines judged once are remembered."""

    opened: OpenService = open_service
    reader: ChainReader = field(default_factory=ChainReader)

    def fault(self, folder: Path, promises: Iterable[Promise]) -> str:
        """Return what is wrong, "" when a start needs no hand, every promise is kept and every chain verifies."""
        promised = list(promises)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            service = self.opened(folder, clock=Clock(LATER_MS))
        except (ServiceError, OSError) as refusal:
            return f"no start: {refusal}"
        try:
            return self._chain_fault(folder, service, promised) or self._repeated_fault(service, promised)
        finally:
            service.store.close()

    def _repeated_fault(self, service: Service, promised: list[Promise]) -> str:
        newest = [promise for promise in promised if promise.draft][-2:]
        try:
            outcomes = service.writer.commit_now([Append(one.layer, one.draft) for one in newest])
        except StorageFailedError as failure:
            return f"a repeated request failed: {failure}"
        for promise, outcome in zip(newest, outcomes, strict=True):
            if isinstance(outcome, ReceiptError) or not isinstance(outcome, Entry) or outcome.line != promise.line:
                return f"a repeated request got another answer: {getattr(outcome, 'line', outcome)!r}"
        return ""

    def _chain_fault(self, folder: Path, service: Service, promised: list[Promise]) -> str:
        for layer in LAYERS_USED:
            try:
                keys = service.rotations.trust.keys(LAYERS[layer].chain)
                entries = self.reader.entries(folder, layer, keys)
            except FormatError as error:
                return f"the chain of {layer} does not verify: {error}"
            lines = [entry.line for entry in entries]
            lost = [one for one in promised if one.layer == layer and one.line and lines.count(one.line) != 1]
            if lost:
                return f"{len(lost)} acknowledged entries of {layer} are not there once"
            turns = {str(entry.fields.get("turnId")) for entry in entries}
            silent = [one.begun for one in promised if one.layer == layer and one.begun and one.begun not in turns]
            if silent:
                return f"the turns {silent} began and left no trace"
        return ""
