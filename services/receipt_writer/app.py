"""The composition root: the only place that names a concrete store and signer, and where a ledger is opened."""

import asyncio
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from receipt_writer.errors import FolderInUseError, ReceiptError, StorageFailedError
from receipt_writer.format.entry import Entry
from receipt_writer.format.schema import LAYERS
from receipt_writer.identity import (
    Identity,
    chains_folder,
    create_identity,
    load_identity,
    require_no_keys,
    require_no_lost_key,
)
from receipt_writer.index import ChainIndex
from receipt_writer.intents import Intent, decode_intent, encode_intent
from receipt_writer.ledger import Interrupt, Ledger
from receipt_writer.listen import Address
from receipt_writer.query import Queries
from receipt_writer.replay import read_checkpoint, replay_chain, require_copy
from receipt_writer.storage.filesystem import FileSystem, OsFileSystem
from receipt_writer.storage.jsonl import HEAD_NAME, JsonlStore, chain_path
from receipt_writer.storage.lock import FolderLock, take_lock
from receipt_writer.storage.protocol import EntryStore
from receipt_writer.upkeep import Checkpoints, Upkeep
from receipt_writer.writer import Clock, Limits, Writer
from service_runtime.errors import SetupError
from service_runtime.shutdown import leave_within

_log = logging.getLogger("receipt_writer")
_UPKEEP_S = 1.0
_DRAIN_S = 2.0
_START_TIME = 19  # in /proc/PID/stat, counted behind the command's closing parenthesis


@dataclass(frozen=True)
class Service:
    """An opened ledger with everything that works on it; nothing runs yet."""

    ledger: Ledger
    store: EntryStore
    checkpoints: Checkpoints
    writer: Writer
    upkeep: Upkeep
    queries: Queries


def clock_ms() -> int:
    """Return the present time in milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000


def open_service(
    folder: Path,
    files: FileSystem | None = None,
    clock: Clock = clock_ms,
    *,
    host: str = "",
    limits: Limits | None = None,
) -> Service:
    """Take a receipts folder for this process, recover what an earlier one left, and wire the service up.

    Raises:
        SetupError: Another writer owns the folder, a key is missing or unusable, or the folder cannot be written.
        LedgerDamagedError: The chains are not what was committed; nothing was changed.
        StorageFailedError: The medium refused.
    """
    files = files or OsFileSystem()
    with ExitStack() as opened:
        lock = _own(folder, files)
        opened.callback(lock.release)
        identity = _identity(folder, files)
        opened.pop_all()  # from here on the store gives the lock back, also when it cannot be opened
        store = JsonlStore(files, lock, [layer.chain for layer in LAYERS.values()], identity.entry_signer, folder)
        opened.callback(store.close)
        sizes: dict[str, int] = {}
        indexes = [_replayed(store, identity, name, sizes) for name in LAYERS]
        ledger = Ledger(indexes, identity.entry_signer, host)
        writer = Writer(ledger, store, clock, limits or Limits())
        _record_interrupted(writer, _settle(ledger, store, clock))
        opened.pop_all()
    checkpoints = Checkpoints(ledger, store, identity.checkpoint_signer, sizes)
    upkeep = Upkeep(ledger, writer, checkpoints, clock, _UPKEEP_S)
    return Service(ledger, store, checkpoints, writer, upkeep, Queries(ledger, store, checkpoints))


def make_keys(folder: Path, substrate_id: str | None) -> Identity:
    """Create a new ledger's keys, name and policy files without starting to serve.

    Raises:
        SetupError: They exist already, one is missing although the ledger has been used, they cannot be written, or a
            writer runs on the folder.
    """
    files = OsFileSystem()
    lock = _own(folder, files)
    try:
        require_no_keys(folder)
        return _identity(folder, files, substrate_id)
    finally:
        lock.release()


async def run_service(service: Service, address: Address, leave: asyncio.Event) -> int:
    """Serve until `leave` is set (status 0) or the storage fails (status 1); every acknowledged entry is on disk then.

    Raises:
        ListenError: The address is taken or cannot be used; nothing was served.
    """
    from receipt_writer.rpc import SERVICE_NAME, register
    from receipt_writer.server import ReceiptServer

    writer = service.writer
    server = ReceiptServer(SERVICE_NAME, lambda grpc: register(grpc, writer, service.queries, leave.is_set))
    committer = asyncio.create_task(writer.run(service.upkeep.after_commit))
    keeper = asyncio.create_task(service.upkeep.run())
    try:
        bound = await server.start(address)
        _log.info("ready: receipt-writer serves %s on %s", _sizes(service.ledger), bound)
        leaving = asyncio.create_task(leave.wait())
        await asyncio.wait({committer, keeper, leaving}, return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        _require_upkeep(writer, keeper)
        await server.refuse_new_work()
        keeper.cancel()
        await _finish(service, committer)
        await server.stop()
    finally:
        keeper.cancel()
        committer.cancel()
        service.store.close()
    return 1 if writer.failure else 0


def serve_process(folder: Path, address: Address, *, exit_with_stdin: bool) -> int:
    """Serve as a process of its own: signals, or the end of stdin, end it within two seconds.

    With `exit_with_stdin` the host that holds the pipe rules: a Ctrl-C at its terminal is the host's affair.

    Raises:
        ServiceError: The service could not start.
    """

    async def serve() -> int:
        leave = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, leave.set)
        loop.add_signal_handler(signal.SIGINT, _ignore if exit_with_stdin else leave.set)
        if exit_with_stdin:
            _when_stdin_ends(lambda: loop.call_soon_threadsafe(leave.set))
        service = open_service(folder, host=_parent_process() if exit_with_stdin else "")
        limit = asyncio.create_task(_limit_drain(leave))
        status = await run_service(service, address, leave)
        limit.cancel()
        return status

    return asyncio.run(serve())


def _own(folder: Path, files: FileSystem) -> FolderLock:
    chains = chains_folder(folder)
    try:
        chains.mkdir(mode=0o700, exist_ok=True)
        return take_lock(files, chains)
    except FolderInUseError:
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SetupError(f"The chains folder {chains} cannot be used: {reason}.") from error


def _identity(folder: Path, files: FileSystem, substrate_id: str | None = None) -> Identity:
    chains = chains_folder(folder)
    paths = [chains / HEAD_NAME, *(chain_path(chains, layer.chain) for layer in LAYERS.values())]
    if any(path.exists() and path.stat().st_size for path in paths):
        require_no_lost_key(folder)
    else:
        create_identity(files, folder, substrate_id)
    return load_identity(files, folder)


def _replayed(store: EntryStore, identity: Identity, layer: str, sizes: dict[str, int]) -> ChainIndex:
    index = ChainIndex(LAYERS[layer], identity.substrate_id)
    chain, keys = index.layer.chain, identity.policies[layer].keys
    checkpoint = read_checkpoint(store.checkpoint(chain), index, keys)
    sizes[layer] = checkpoint.size if checkpoint else 0
    replay_chain(index, store.lines(chain), keys, checkpoint=checkpoint, committed=store.committed(chain))
    copy = read_checkpoint(store.checkpoint_copy(chain), index, keys)
    if copy != checkpoint:
        require_copy(index, copy)
    return index


def _settle(ledger: Ledger, store: EntryStore, clock: Clock) -> list[Intent]:
    """End the recovery; return the turns that nobody will report any more."""
    journal = [decode_intent(line) for line in store.intents()]
    intents = [intent for intent in journal if intent]
    if len(intents) < len(journal):
        _log.warning("%d damaged lines of the intent journal were left out.", len(journal) - len(intents))
    abandoned = ledger.restore_intents(intents)
    remaining = [encode_intent(intent) for intent in ledger.intents.values()]
    for report in store.settle(ledger.marks(), remaining, clock()):
        _log.warning("%s", report)
    return abandoned


def _record_interrupted(writer: Writer, abandoned: Sequence[Intent]) -> None:
    for outcome in writer.commit_now([Interrupt(intent) for intent in abandoned]):
        if isinstance(outcome, ReceiptError):
            _log.warning("A turn that never reported could not be recorded: %s", outcome)
        elif isinstance(outcome, Entry):
            _log.warning("Entry %d records a turn that never reported as interrupted.", outcome.id)


def _require_upkeep(writer: Writer, keeper: "asyncio.Task[None]") -> None:
    """End the writer when its upkeep ended: without it there are no checkpoints, and silence leaves no trace."""
    if keeper.done() and writer.failure is None:
        _log.critical("The upkeep of checkpoints and deadlines ended.", exc_info=keeper.exception())
        writer.fail(StorageFailedError("The writer's upkeep ended unexpectedly; restart it."))


async def _finish(service: Service, committer: "asyncio.Task[None]") -> None:
    await service.writer.drain()
    await committer
    try:
        if service.writer.failure is None:
            await service.checkpoints.write_all_new()
    except StorageFailedError as failure:
        service.writer.fail(failure)
    await service.checkpoints.rest()


async def _limit_drain(leave: asyncio.Event) -> None:
    await leave.wait()
    leave_within(_DRAIN_S)  # a disk that hangs must not keep the process


def _when_stdin_ends(tell: Callable[[], object]) -> None:
    def watch() -> None:
        try:
            while os.read(0, 4096):
                pass
        except OSError:
            _log.info("stdin cannot be read, which counts as its end")
        tell()

    threading.Thread(target=watch, name="stdin", daemon=True).start()


def _parent_process() -> str:
    """Name the process that started this one, so that another process with its number later is not mistaken for it."""
    parent = os.getppid()
    try:
        status = Path(f"/proc/{parent}/stat").read_text(encoding="utf-8")
    except OSError:
        return f"{parent}"
    return f"{parent}.{status.rpartition(')')[2].split()[_START_TIME]}"


def _sizes(ledger: Ledger) -> str:
    sizes = [f"{index.layer.chain} ({index.head.size})" for index in ledger.indexes.values() if index.head.size]
    return ", ".join(sizes) or "an empty ledger"


def _ignore() -> None:
    """Let a signal pass."""
