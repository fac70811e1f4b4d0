"""Whom this ledger's chains trust: the keys it began with, and what its key log makes of them (RF-28, RF-29)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from receipt_writer.errors import LedgerDamagedError
from receipt_writer.format.chain import genesis_head
from receipt_writer.format.digest import split_origin
from receipt_writer.format.entry import parse_line
from receipt_writer.format.errors import FormatError
from receipt_writer.format.keylog import (
    KEY_CHAIN,
    KEY_LAYER,
    KeyEvent,
    judge_key_log,
    read_event,
    ring_of,
    trusted_after,
)
from receipt_writer.format.policy import KeyUse, TrustedKey


@dataclass(frozen=True)
class Disowned:
    """Entries `first_id` to `last_id` of a chain, whose key entry `event_id` of the key log revoked from there on."""

    public_key: bytes
    first_id: int
    last_id: int
    event_id: int


@dataclass(frozen=True)
class Trust:
    """The keys that a ledger began with, and the judged events of its key log; event n is entry n of that chain."""

    roots: tuple[TrustedKey, ...]
    events: tuple[KeyEvent, ...] = ()

    def keys(self, chain: str) -> tuple[TrustedKey, ...]:
        """Return whose signatures count in a chain, and where."""
        return ring_of(self.roots, self.events, chain)

    def in_force(self, use: KeyUse) -> bytes | None:
        """Return the key that signs now, None when the last one was revoked."""
        present = [key for key in self.keys(KEY_CHAIN) if key.use == use and key.to_id is None]
        return present[-1].public_key if present else None

    def replaced(self, use: KeyUse) -> bytes | None:
        """Return the key that the last rotation ended, None when there was none or it is revoked since."""
        of_use = [event for event in self.events if event.use == use]
        last = next((event.previous_key for event in reversed(of_use) if event.event == "rotated"), None)
        return None if any(event.event == "revoked" and event.public_key == last for event in of_use) else last

    def journal_keys(self) -> list[bytes]:
        """Return whose signatures count in the intent journal: the entry key in force, then the one before it.

        A rotation signs the open rows anew; the key before counts for one that was cut off, until it is revoked.
        """
        return [key for key in (self.in_force("entry"), self.replaced("entry")) if key]

    def signing_keys(self, chain: str) -> tuple[TrustedKey, ...]:
        """Return the entry keys that were in force in a chain, and where, whatever was revoked afterwards."""
        strict = kept = self.roots
        for event in self.events:
            after = trusted_after(strict, event, chain)
            if event.event == "rotated" and after != strict:
                kept = trusted_after(kept, event, chain)
            strict = after
        return tuple(key for key in kept if key.use == "entry")

    def disowned(self, chain: str, size: int) -> list[Disowned]:
        """Return the entries of a chain of `size` entries that revocations reached back to (RF-28)."""
        signing = self.signing_keys(chain)
        found = []
        for event_id, event in enumerate(self.events, start=1):
            if (event.event, event.use) != ("revoked", "entry"):
                continue
            for key in signing:
                first, last = max(key.from_id, event.at(chain)), min(size if key.to_id is None else key.to_id, size)
                if key.public_key == event.public_key and first <= last:
                    found.append(Disowned(key.public_key, first, last, event_id))
        return found

    def with_event(self, event: KeyEvent) -> "Trust":
        """Return the trust after one more event."""
        return Trust(self.roots, (*self.events, event))


def first_keys(lines: Iterable[bytes]) -> tuple[TrustedKey, ...]:
    """Return the keys that a key log says the ledger began with, entry key first; nothing is judged here.

    Raises:
        LedgerDamagedError: A line is no key event.
    """
    found: dict[KeyUse, TrustedKey] = {}
    for number, line in enumerate(lines, start=1):
        try:
            event = read_event(parse_line(KEY_LAYER, line))
            if event.event == "created":
                found.setdefault(event.use, TrustedKey(event.public_key, event.use))
        except FormatError as error:
            raise _damaged(number, error) from error
    return tuple(found[use] for use in ("entry", "checkpoint") if use in found)


def judged_trust(origin: str, lines: Sequence[bytes], roots: Iterable[TrustedKey]) -> Trust:
    """Return the trust that a key log leads to from `roots`; `origin` is the key log's own.

    Raises:
        LedgerDamagedError: The first line of the key log that does not hold.
    """
    trust, known = Trust(tuple(roots)), list[bytes]()
    head, tenant_id = genesis_head(origin), split_origin(origin).tenant_id
    try:
        events = judge_key_log(head, _noted(lines, known), trust.roots, tenant_id=tenant_id)
    except FormatError as error:
        raise _damaged(len(known), error) from error
    return Trust(trust.roots, tuple(events))


def _noted(lines: Iterable[bytes], known: list[bytes]) -> Iterable[bytes]:
    for line in lines:
        known.append(line)
        yield line


def _damaged(entry_id: int, error: FormatError) -> LedgerDamagedError:
    why = str(error).removesuffix(".")
    return LedgerDamagedError(
        f"Entry {entry_id} of the chain {KEY_CHAIN} is not what was recorded. {why}. Nothing was changed; put a good "
        "copy back."
    )
