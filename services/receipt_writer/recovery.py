"""What a start does with what the last process left: judge the chains, end the recovery, tell of silent turns."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from receipt_writer.covered import ReadLine, newest_state, require_covered
from receipt_writer.errors import ReceiptError
from receipt_writer.format.entry import Entry
from receipt_writer.format.keylog import KEY_CHAIN
from receipt_writer.format.schema import LAYERS
from receipt_writer.format.state import STATE_LAYER
from receipt_writer.identity import Identity, LedgerName
from receipt_writer.index import ChainIndex, Rows
from receipt_writer.intents import TURN_LAYER, Intent
from receipt_writer.journal import read_journal
from receipt_writer.ledger import Interrupt, Ledger
from receipt_writer.replay import adopt_kept, read_checkpoint, replay_chain, require_copy
from receipt_writer.storage.protocol import EntryStore
from receipt_writer.trust import Trust, first_keys, judged_trust
from receipt_writer.writer import Clock, Limits, Writer

_log = logging.getLogger(__name__)
_MOST_AT_START = 256  # turns; a start is somebody's first prompt


def trust_of(store: EntryStore, identity: Identity) -> Trust:
    """Return whom the chains of a store trust, by the ledger's own key log, which is judged here before all others.

    The log must lead from the keys that it began with to a key that this writer holds (`Identity.in_force`), so that
    nobody without our keys can have made it.

    Raises:
        LedgerDamagedError: The key log is not what was recorded.
        StorageFailedError: It could not be read.
    """
    return trust_in(list(store.lines(KEY_CHAIN)), identity)


def trust_in(lines: Sequence[bytes], identity: Identity) -> Trust:
    """Return whom the lines of a ledger's key log lead to.

    Raises:
        LedgerDamagedError: The key log is not what was recorded.
    """
    found = {key.use: key for key in first_keys(lines)}
    roots = tuple(found.get(key.use, key) for key in identity.own_keys)
    return judged_trust(identity.name.origin(KEY_CHAIN), lines, roots)


def new_index(name: LedgerName, layer: str) -> ChainIndex:
    """Return the empty index of a ledger's chain."""
    return ChainIndex(LAYERS[layer], name.substrate_id, name.tenant_id)


def replay(store: EntryStore, index: ChainIndex, trust: Trust, kept: Iterator[Rows]) -> int:
    """Fill an empty index from its chain, judged; return the size of its newest checkpoint, 0 when it has none.

    Raises:
        LedgerDamagedError: The chain is not what was committed.
        StorageFailedError: It could not be read.
    """
    chain = index.layer.chain
    keys = trust.keys(chain)
    checkpoint = read_checkpoint(store.checkpoint(chain), index, keys)
    committed = store.committed(chain)
    adopt_kept(index, kept, partial(store.recognise, chain), checkpoint, committed)
    replay_chain(index, store.lines(chain, index.adopted), keys, checkpoint=checkpoint, committed=committed)
    copy = read_checkpoint(store.checkpoint_copy(chain), index, keys)
    if copy != checkpoint:
        require_copy(index, copy)
    return checkpoint.size if checkpoint else 0


def require_state(store: EntryStore, indexes: Mapping[str, ChainIndex], trust: Trust, file: bytes | None) -> None:
    """Judge every replayed chain against the newest state that this ledger signed; `file` is `state.json`.

    Also say so when there is no commit point over chains that have entries: without it less of them is vouched for.

    Raises:
        LedgerBehindError, LedgerDamagedError: A chain is not what the state was signed over.
        StorageFailedError: It could not be read.
    """
    states = indexes[STATE_LAYER]
    chain, size = states.layer.chain, states.head.size
    lines = [*store.read(chain, size, 1), *(file or b"").split(b"\n")[:1]]
    state = newest_state(lines, trust.keys(chain), states.tenant_id)
    for index in indexes.values():
        require_covered(index, state, _reader(store, index.layer.chain))
    used = [index for index in indexes.values() if index.head.size]
    if used and not any(store.committed(index.layer.chain) for index in used):
        _log.warning(
            "head.json is missing although the chains have entries; it is made again from %s. If nobody moved it away, "
            "compare these numbers with a checkpoint or state that was kept elsewhere.",
            sizes_of(indexes),
        )


def checkpoint_keys(trust: Trust, chain: str) -> list[bytes]:
    """Return the checkpoint key in force in a chain, whose word on kept rows counts; a former one may be stolen."""
    return [key.public_key for key in trust.keys(chain) if key.use == "checkpoint" and key.to_id is None]


def settle(ledger: Ledger, store: EntryStore, clock: Clock, trust: Trust) -> list[Intent]:
    """End the recovery; return the turns that nobody will report any more.

    Raises:
        StorageFailedError: The medium refused.
    """
    turns = ledger.indexes[TURN_LAYER]
    journal = read_journal(
        store.intents(),
        turns.origin,
        trust.journal_keys(),
        lambda turn_id: turns.id_of(turn_id) is not None,
        takes_unsigned=not store.has_signed_intents(),
    )
    if journal.unsigned:
        _log.warning(
            "%d rows of the intent journal are a former version's and unsigned; they were believed this once.",
            journal.unsigned,
        )
    abandoned = ledger.restore_intents(journal.intents.values(), journal.rows)
    for report in store.settle(ledger.marks(), ledger.turns.rows(), clock(), journal.refused):
        _log.warning("%s", report)
    return abandoned


def record_interrupted(writer: Writer, abandoned: Sequence[Intent]) -> None:
    """Record the turns that nobody will report any more; of very many the rest is left to the upkeep.

    Raises:
        StorageFailedError: The medium refused.
    """
    recorded = list[Entry]()
    size = Limits().batch
    for start in range(0, min(len(abandoned), _MOST_AT_START), size):
        for outcome in writer.commit_now([Interrupt(intent) for intent in abandoned[start : start + size]]):
            if isinstance(outcome, ReceiptError):
                _log.warning("A turn that never reported could not be recorded: %s", outcome)
            elif isinstance(outcome, Entry):
                recorded.append(outcome)
    writer.ledger.turns.abandoned.update(intent.turn_id for intent in abandoned[_MOST_AT_START:])
    if len(recorded) == 1:
        _log.warning("Entry %d records a turn that never reported as interrupted.", recorded[0].id)
    elif recorded:
        _log.warning(
            "Entries %d to %d record %d turns that never reported as interrupted; %d more follow.",
            *(recorded[0].id, recorded[-1].id, len(recorded), len(writer.ledger.turns.abandoned)),
        )


def _reader(store: EntryStore, chain: str) -> ReadLine:
    return lambda entry_id: store.read(chain, entry_id, 1)[0]


def sizes_of(indexes: Mapping[str, ChainIndex]) -> str:
    """Return the names and sizes of the chains that have entries, for people."""
    sizes = [f"{index.layer.chain} ({index.head.size})" for index in indexes.values() if index.head.size]
    return ", ".join(sizes) or "an empty ledger"
