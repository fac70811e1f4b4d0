"""Changing keys: a rotation or revocation is an entry of the key log, made between two commits (spec section 7).

A rotation's order, each step durable before the next:

    1  the next key exists beside the one in force
    2  the key log records the rotation; its line is the old key's, and both keys sign the event
    3  the commit point is signed by the new key (entry key only)
    4  the next key takes the place of the old one, which is gone
    5  the new key signs

A process that ends between 1 and 2 leaves a key that nobody knows, and the next start drops it. From 2 on the key log
says which key is in force, and the next start goes on from there. So no step is ever done by hand.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from receipt_writer.errors import (
    DraftRefusedError,
    EntryNotFoundError,
    KeyFileError,
    NotPossibleYetError,
    ReceiptError,
    StorageFailedError,
)
from receipt_writer.format.chain import Head
from receipt_writer.format.entry import Entry, parse_line
from receipt_writer.format.errors import FormatError
from receipt_writer.format.keylog import KEY_CHAIN, KEY_LAYER, KeyEvent, next_event
from receipt_writer.format.policy import KeyUse
from receipt_writer.format.schema import LAYERS
from receipt_writer.format.signing import Signer, fingerprint
from receipt_writer.identity import Identity
from receipt_writer.ledger import Ledger, Plan
from receipt_writer.signers.custody import KeyCustody
from receipt_writer.state import State
from receipt_writer.storage.protocol import EntryStore
from receipt_writer.trust import Trust
from receipt_writer.upkeep import Checkpoints
from receipt_writer.writer import Clock, Writer

_log = logging.getLogger(__name__)

FIRST_KEY_REASON = "first key of the ledger"
"""What the events say that begin a key log."""


class KeyLog:
    """The key log of an open ledger: whom it trusts now, and how it grows by events that only the writer records."""

    def __init__(self, ledger: Ledger, store: EntryStore, clock: Clock, trust: Trust) -> None:
        """Go on from a judged key log."""
        self.trust = trust
        self.store = store
        self._ledger, self._clock = ledger, clock

    def begin(self, signers: Mapping[KeyUse, Signer]) -> None:
        """Record the ledger's first keys, unless that is done; also for a ledger of a version without a key log.

        Raises:
            StorageFailedError: The medium refused.
        """
        known = {event.use for event in self.trust.events if event.event == "created"}
        events = [
            KeyEvent("created", use, signer.public_key, reason=FIRST_KEY_REASON)
            for use, signer in signers.items()
            if use not in known
        ]
        if events:
            self.record(events, list(signers.values()))

    def record(self, events: Sequence[KeyEvent], holders: Sequence[Signer]) -> list[Entry]:
        """Record events in one commit, durably; `holders` sign for the events' own keys. Nothing else may be in flight.

        Raises:
            DraftRefusedError: An event cannot be recorded; nothing was.
            StorageFailedError: The medium refused.
        """
        index, now_ms = self._ledger.indexes[KEY_LAYER], self._clock()
        head: Head = index.head
        entries = []
        for event in events:
            try:
                entry, head = next_event(
                    head, event, now_ms=now_ms, tenant_id=index.tenant_id, signer=self._ledger.signer, holders=holders
                )
            except FormatError as error:
                raise DraftRefusedError(f"The key event was refused: {error}") from error
            entries.append(entry)
        plan = Plan(entries={KEY_LAYER: entries}, heads={KEY_LAYER: head})
        self.store.commit(plan.batch())
        self._ledger.apply(plan)
        for event in events:
            self.trust = self.trust.with_event(event)
        return entries

    def entry_of(self, said: Callable[[KeyEvent], bool]) -> Entry | None:
        """Return the newest entry whose event `said` accepts, None when there is none.

        Raises:
            StorageFailedError, LedgerDamagedError: It cannot be read back as it was recorded.
        """
        numbered = list(enumerate(self.trust.events, start=1))
        entry_id = next((number for number, event in reversed(numbered) if said(event)), None)
        if entry_id is None:
            return None
        (line,) = self.store.read(LAYERS[KEY_LAYER].chain, entry_id, 1)
        self._ledger.indexes[KEY_LAYER].require_recorded(entry_id, line)
        return parse_line(KEY_LAYER, line)


def end_rotations(identity: Identity, signers: Mapping[KeyUse, Signer]) -> None:
    """End at start what a rotation left: `signers` are in force, so a prepared key is one of them, or nobody's.

    Raises:
        KeyFileError: The disk refused.
    """
    for use, signer in signers.items():
        if signer.public_key == identity.signers[use].public_key:
            identity.custody[use].discard_next()
        else:
            identity.custody[use].promote_next()
            _log.warning("The %s key's rotation, which was cut off, has been completed.", use)


class Rotations:
    """Rotates and revokes the keys of one ledger, one change at a time."""

    def __init__(
        self,
        key_log: KeyLog,
        custody: Mapping[KeyUse, KeyCustody],
        writer: Writer,
        checkpoints: Checkpoints,
        state: State,
    ) -> None:
        """Change the keys that `custody` keeps, and whatever signs with them."""
        self._key_log, self._custody = key_log, custody
        self._writer, self._ledger, self._checkpoints, self._state = writer, writer.ledger, checkpoints, state
        self._changing = asyncio.Lock()

    @property
    def trust(self) -> Trust:
        """Whom the ledger's chains trust now."""
        return self._key_log.trust

    def key_in_force(self, use: KeyUse) -> bytes:
        """Return the public key that signs now."""
        return self._signer(use).public_key

    async def rotate(self, use: KeyUse, previous_key: bytes, reason: str) -> Entry:
        """Put a new key in the place of `previous_key`; return the L3 entry, durable when this returns.

        A rotation that was asked for before is answered with its own entry, so a lost answer can be asked for again.

        Raises:
            NotPossibleYetError: Another key is in force, or this ledger's keys cannot be changed from here.
            DraftRefusedError: The reason is too long.
            StorageFailedError: The medium refused. During the change itself it ends the writer; a start recovers.
            WriterStoppedError: The writer takes no more work.
        """
        async with self._changing:
            done = self._key_log.entry_of(
                lambda event: (event.event, event.use, event.previous_key) == ("rotated", use, previous_key)
            )
            if done:
                return done
            self._require_in_force(use, previous_key)
            following = await asyncio.to_thread(self._prepared, use)
            async with self._checkpoints.paused():
                entry = await self._writer.run_alone(partial(self._take_over, use, following, reason))
            await self._publish()
        _log.warning("The %s key was rotated to fingerprint %s.", use, fingerprint(following.public_key))
        return entry

    async def revoke(
        self, use: KeyUse, public_key: bytes, reason: str, at_ids: Mapping[str, int] | None = None
    ) -> Entry:
        """Accept a key no longer; return the L3 entry, durable when this returns.

        `at_ids` are by chain name the ids (sizes, for a checkpoint key) from which on it does not count; left out, and
        in chains it leaves out, that is what comes next, so nothing recorded loses its trust. The same revocation
        again is answered with its own entry.

        Raises:
            EntryNotFoundError: The key never signed for this ledger.
            NotPossibleYetError: It is in force, or an id reaches behind what a checkpoint of a later key covers.
            DraftRefusedError: The reason is too long, there is no such chain or id, or the key log would lose the trust
                in its own lines.
            StorageFailedError, WriterStoppedError: As `rotate`.
        """
        async with self._changing:
            done = self._key_log.entry_of(
                lambda event: (
                    (event.event, event.use, event.public_key) == ("revoked", use, public_key)
                    and all(event.at(chain) == at_id for chain, at_id in (at_ids or {}).items())
                )
            )
            if done:
                return done
            self._require_known(use, public_key)
            if public_key == self.key_in_force(use):
                raise NotPossibleYetError(f"That {use} key is in force; rotate it first, then revoke it.")
            self._require_chains(at_ids or {})
            if at_ids:
                await self._checkpoints.write_all_new()
            async with self._checkpoints.paused():
                entry = await self._writer.run_alone(partial(self._revoke, use, public_key, reason, at_ids or {}))
            await self._publish()
        _log.warning("The %s key with fingerprint %s was revoked.", use, fingerprint(public_key))
        return entry

    def _prepared(self, use: KeyUse) -> Signer:
        try:
            return self._custody[use].prepare_next()
        except KeyFileError as error:
            raise StorageFailedError(f"The next {use} key could not be made, and the old one stays: {error}") from error

    def _take_over(self, use: KeyUse, following: Signer, reason: str) -> Entry:
        present = self._signer(use)
        rows = tuple(self._next_ids(use))
        event = KeyEvent("rotated", use, following.public_key, present.public_key, reason, rows)
        (entry,) = self._key_log.record([event], [present, following])
        if use == "entry":
            self._key_log.store.change_signer(following)
        try:
            self._custody[use].promote_next()
        except KeyFileError as error:
            raise StorageFailedError(f"{error} The rotation is recorded; restart the writer to end it.") from error
        if use == "entry":
            self._ledger.change_signer(following)
            self._key_log.store.replace_intents(self._ledger.turns.rows())
        else:
            self._checkpoints.signer = following
        return entry

    def _revoke(self, use: KeyUse, public_key: bytes, reason: str, at_ids: Mapping[str, int]) -> Entry:
        rows = tuple((chain, min(at_ids.get(chain, at_id), at_id)) for chain, at_id in self._next_ids(use))
        event = KeyEvent("revoked", use, public_key, None, reason, rows)
        self._require_whole_key_log(event)
        for layer in self._ledger.indexes:
            self._require_later_checkpoint(event, layer)
        (entry,) = self._key_log.record([event], [])
        return entry

    def _next_ids(self, use: KeyUse) -> Iterator[tuple[str, int]]:
        """Yield for every chain from where on a change holds that touches nothing that is signed already."""
        for layer, index in self._ledger.indexes.items():
            if use == "checkpoint":
                yield index.layer.chain, self._checkpoints.size(layer) + 1
            else:  # the event's own line is the old key's
                yield index.layer.chain, index.head.size + (2 if layer == KEY_LAYER else 1)

    def _signer(self, use: KeyUse) -> Signer:
        return self._ledger.signer if use == "entry" else self._checkpoints.signer

    def _require_in_force(self, use: KeyUse, previous_key: bytes) -> None:
        present = self.key_in_force(use)
        if previous_key != present:
            raise NotPossibleYetError(
                f"The {use} key in force is another one, with fingerprint {fingerprint(present)}; ask for its "
                "rotation, not for that of a key that does not sign."
            )

    def _require_known(self, use: KeyUse, public_key: bytes) -> None:
        trust = self._key_log.trust
        known = {key.public_key for key in trust.roots if key.use == use}
        known |= {event.public_key for event in trust.events if event.use == use and event.event == "rotated"}
        if public_key not in known:
            raise EntryNotFoundError(
                f"No {use} key with fingerprint {fingerprint(public_key)} ever signed for this ledger; nothing was "
                "revoked."
            )

    def _require_whole_key_log(self, event: KeyEvent) -> None:
        """Refuse to disown events: the key's last line there is the rotation that brought in the one after it."""
        if event.use != "entry":
            return
        at_id = event.at(KEY_CHAIN)
        spans = [key for key in self._key_log.trust.keys(KEY_CHAIN) if (key.public_key, key.use) == _key_of(event)]
        if any(key.to_id is not None and at_id <= key.to_id for key in spans):
            raise DraftRefusedError(
                f"The lines of the chain {KEY_CHAIN} that this key signed lead to the key in force, so they cannot be "
                f"disowned; leave {KEY_CHAIN} out and name the other chains."
            )

    def _require_later_checkpoint(self, event: KeyEvent, layer: str) -> None:
        """Refuse a revocation after which this ledger could not be opened: it would no longer trust its own tail.

        Under a checkpoint of a key that stays the root vouches for the entries, whoever signed them.
        """
        index, size = self._ledger.indexes[layer], self._checkpoints.size(layer)
        chain, newest = index.layer.chain, index.head.size
        spans = [key for key in self._key_log.trust.keys(chain) if (key.public_key, key.use) == _key_of(event)]
        last = max((newest if key.to_id is None else min(key.to_id, newest) for key in spans), default=0)
        if event.at(chain) <= last and size < last + (event.use == "checkpoint"):
            raise NotPossibleYetError(
                f"The chain {chain} has no checkpoint yet that a later key signed over more than entry {last}; record "
                "something there and ask again in a minute."
            )

    def _require_chains(self, at_ids: Mapping[str, int]) -> None:
        known = {index.layer.chain for index in self._ledger.indexes.values()}
        for chain, at_id in at_ids.items():
            if chain not in known or at_id < 1:
                raise DraftRefusedError(
                    f"A revocation cannot begin at {at_id} of {chain!r}; name an id from 1 on of one of: "
                    f"{' '.join(sorted(known))}."
                )

    async def _publish(self) -> None:
        try:
            await self._state.regenerate("key_changed")
        except ReceiptError as refusal:  # the change itself is durable; the next state tells of it
            _log.info("The state was not recorded after the key change: %s", refusal)


def _key_of(event: KeyEvent) -> tuple[bytes, KeyUse]:
    return event.public_key, event.use
