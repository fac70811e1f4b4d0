"""Whom this ledger's chains trust: the keys it began with, and what its key log makes of them (RF-28, RF-29)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from receipt_writer.errors import LedgerDamagedError
from receipt_writer.format.chain import genesis_head
from receipt_writer.format.digest import split_origin
from receipt_writer.format.entry import parse_line
from receipt_writer.format.errors import FormatError
from receipt_writer.format.keylog import KEY_CHAIN, KEY_LAYER, KeyEvent, judge_key_log, read_event, ring_of
from receipt_writer.format.policy import KeyUse, TrustedKey


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
