"""The composition root: the only place that names a concrete store and signer, and where a ledger is opened."""

import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from receipt_writer.errors import FolderInUseError, LedgerDamagedError
from receipt_writer.format.digest import split_origin
from receipt_writer.format.keylog import KEY_CHAIN
from receipt_writer.format.schema import LAYERS
from receipt_writer.format.signing import Signer
from receipt_writer.identity import (
    STATE_NAME,
    USES,
    Identity,
    LedgerName,
    chains_folder,
    create_identity,
    load_identity,
    require_name,
    require_no_keys,
    require_no_lost_key,
    restore_policies,
)
from receipt_writer.index import ChainIndex
from receipt_writer.ledger import Ledger
from receipt_writer.query import Queries
from receipt_writer.recovery import (
    checkpoint_keys,
    new_index,
    record_interrupted,
    replay,
    require_state,
    settle,
    trust_in,
    trust_of,
)
from receipt_writer.rotation import KeyLog, Rotations, end_rotations
from receipt_writer.signers.custody import Use
from receipt_writer.signers.source import KeySource
from receipt_writer.state import STATE_EVERY_MS, State, StateFile
from receipt_writer.storage.filesystem import FileSystem, OsFileSystem, read_whole
from receipt_writer.storage.index_file import IndexFile, index_path
from receipt_writer.storage.jsonl import HEAD_NAME, JsonlStore, chain_path
from receipt_writer.storage.lock import FolderLock, take_lock
from receipt_writer.storage.protocol import EntryStore
from receipt_writer.tenants import Tenants, tenant_folder
from receipt_writer.tokens import TOKENS_NAME, Tokens
from receipt_writer.trust import Trust
from receipt_writer.upkeep import Checkpoints, Upkeep
from receipt_writer.uses import Uses
from receipt_writer.writer import Clock, Limits, Writer
from service_runtime.errors import SetupError

_UPKEEP_S = 1.0


@dataclass(frozen=True)
class Service:
    """An opened ledger with everything that works on it; nothing runs yet."""

    ledger: Ledger
    store: EntryStore
    checkpoints: Checkpoints
    writer: Writer
    state: State
    rotations: Rotations
    upkeep: Upkeep
    queries: Queries
    folder: Path
    uses: Uses


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
    state_every_ms: int = STATE_EVERY_MS,
    source: KeySource | None = None,
    name: LedgerName | None = None,
    take_over: bool = False,
) -> Service:
    """Take a receipts folder for this process, recover what an earlier one left, and wire the service up.

    `source` says where the keys are, `name` what the ledger is called; a new one takes a random name, an old one keeps
    its own and refuses another. `take_over` is the operator's word that a writer that hangs is to lose the folder.

    Raises:
        SetupError: Another writer owns the folder, a key is missing or unusable, or the folder cannot be written.
        LedgerDamagedError: The chains are not what was committed; nothing was changed.
        StorageFailedError: The medium refused.
    """
    files, source = files or OsFileSystem(), source or KeySource()
    with ExitStack() as opened:
        lock = _own(folder, files, take_over=take_over)
        opened.callback(lock.release)
        identity = _identity(folder, files, source, name)
        opened.pop_all()  # from here on the store gives the lock back, also when it cannot be opened
        store = _store(files, lock, folder, identity)
        opened.callback(store.close)
        judged = _judged(folder, files, store, identity)
        ledger = Ledger(judged.indexes.values(), judged.signers["entry"], host)
        writer = Writer(ledger, store, clock, limits or Limits())
        key_log = _recovered(writer, store, clock, identity, judged)
        state = State(ledger, store, writer, StateFile(files, folder / STATE_NAME), state_every_ms)
        state.restore()
        opened.pop_all()
    checkpoints = Checkpoints(ledger, store, judged.signers["checkpoint"], judged.sizes, judged.kept)
    rotations = Rotations(key_log, identity.custody, writer, checkpoints, state)
    upkeep = Upkeep(writer, checkpoints, state, clock, _UPKEEP_S)
    queries = Queries(ledger, store, checkpoints)
    return Service(ledger, store, checkpoints, writer, state, rotations, upkeep, queries, folder, Uses())


def open_tenant(
    own: Service,
    tenant_id: str,
    files: FileSystem | None = None,
    clock: Clock = clock_ms,
    *,
    source: KeySource | None = None,
    take_over: bool = False,
) -> Service:
    """Open the ledger of a tenant beside the writer's own, making it when there is none.

    Raises:
        As `open_service`; also `OSError` when its folder cannot be made.
    """
    folder = tenant_folder(own.folder, tenant_id)
    folder.parent.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    name = LedgerName(split_origin(own.queries.origin("L1")).substrate_id, tenant_id)
    every_ms, host = own.state.every_ms, own.ledger.host
    return open_service(
        folder, files, clock, host=host, state_every_ms=every_ms, source=source, name=name, take_over=take_over
    )


def make_keys(folder: Path, substrate_id: str | None, source: KeySource | None = None) -> Identity:
    """Create a new ledger's keys, name and policy files without starting to serve.

    Raises:
        SetupError: They exist already, one is missing although the ledger has been used, they cannot be written, or a
            writer runs on the folder.
    """
    files, source = OsFileSystem(), source or KeySource()
    lock = _own(folder, files)
    try:
        require_no_keys(files, folder, source)
        identity = _identity(folder, files, source, LedgerName(substrate_id) if substrate_id else None)
        restore_policies(files, folder, identity.name, identity.own_keys)
        return identity
    finally:
        lock.release()


def make_tenants(
    own: Service, *, source: KeySource | None = None, take_over: bool = False, is_token_required: bool = False
) -> Tenants[Service]:
    """Return every ledger of a process, of which only its own is open yet; nothing runs."""
    keys = (source or KeySource()).for_tenant()
    tokens = Tokens(own.folder / TOKENS_NAME)
    opener = partial(open_tenant, own, source=keys, take_over=take_over)
    return Tenants(own, tokens, opener, is_token_required=is_token_required)


def _own(folder: Path, files: FileSystem, *, take_over: bool = False) -> FolderLock:
    chains = chains_folder(folder)
    try:
        chains.mkdir(mode=0o700, exist_ok=True)
        return take_lock(files, chains, take_over=take_over)
    except FolderInUseError:
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SetupError(f"The chains folder {chains} cannot be used: {reason}.") from error


def _identity(folder: Path, files: FileSystem, source: KeySource, name: LedgerName | None) -> Identity:
    chains = chains_folder(folder)
    paths = [chains / HEAD_NAME, *(chain_path(chains, layer.chain) for layer in LAYERS.values())]
    if any(path.exists() and path.stat().st_size for path in paths):
        require_no_lost_key(files, folder, source)
        if name:
            require_name(files, folder, name)
    else:
        create_identity(files, folder, source, name)
    return load_identity(files, folder, source)


def _store(files: FileSystem, lock: FolderLock, folder: Path, identity: Identity) -> JsonlStore:
    chains = [layer.chain for layer in LAYERS.values()]
    following = identity.next_signers.get("entry")
    other_keys = [following.public_key] if following else []  # a key change may have been cut off in the middle
    try:
        return JsonlStore(files, lock, chains, identity.entry_signer, folder, other_keys=other_keys)
    except LedgerDamagedError:
        _require_keys_in_force(files, folder, identity)
        raise


@dataclass(frozen=True)
class _Judged:
    """What a start knows when every chain was found good: whom they trust, the keys in force, and the chains by layer.

    `sizes` are those of the newest checkpoints, `kept` what is kept of each index beside its chain.
    """

    trust: Trust
    signers: dict[Use, Signer]
    indexes: dict[str, ChainIndex]
    sizes: dict[str, int]
    kept: dict[str, IndexFile]


def _judged(folder: Path, files: FileSystem, store: EntryStore, identity: Identity) -> _Judged:
    """Judge every chain, the key log first; nothing is changed but policy files that are missing.

    Raises:
        SetupError: A key is not the one in force.
        LedgerDamagedError: The chains are not what was committed.
        StorageFailedError: The medium refused.
    """
    trust = trust_of(store, identity)
    signers: dict[Use, Signer] = {use: identity.in_force(trust, use) for use in USES}
    restore_policies(files, folder, identity.name, trust.roots)
    indexes = {layer: new_index(identity.name, layer) for layer in LAYERS}
    kept = {layer: _index_file(files, folder, index) for layer, index in indexes.items()}
    sizes = {
        layer: replay(store, index, trust, kept[layer].rows(checkpoint_keys(trust, index.layer.chain)))
        for layer, index in indexes.items()
    }
    require_state(store, indexes, trust, read_whole(files, folder / STATE_NAME))
    return _Judged(trust, signers, indexes, sizes, kept)


def _recovered(writer: Writer, store: EntryStore, clock: Clock, identity: Identity, judged: _Judged) -> KeyLog:
    """End what the last process left open, in this order: torn writes, a key change, turns that nobody will report.

    Raises:
        StorageFailedError: The medium refused.
    """
    store.change_signer(judged.signers["entry"])
    abandoned = settle(writer.ledger, store, clock, judged.trust)
    end_rotations(identity, judged.signers)
    key_log = KeyLog(writer.ledger, store, clock, judged.trust)
    key_log.begin(judged.signers)
    record_interrupted(writer, abandoned)
    return key_log


def _require_keys_in_force(files: FileSystem, folder: Path, identity: Identity) -> None:
    """Say which key is another than the one in force, when that is why nothing in `head.json` is signed by it."""
    log = read_whole(files, chain_path(chains_folder(folder), KEY_CHAIN)) or b""
    trust = trust_in(log.split(b"\n")[:-1], identity)
    for use in USES:
        identity.in_force(trust, use)


def _index_file(files: FileSystem, folder: Path, index: ChainIndex) -> IndexFile:
    return IndexFile(files, index_path(chains_folder(folder), index.layer.chain), index)
