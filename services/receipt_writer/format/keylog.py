"""The key log: events of keys, the signatures that prove who holds them, and whom they make trusted (RF-26 to RF-29).

    created   the ledger's first keys                  signed by the new key
    rotated   another key takes over from an id on     signed by the old key and by the new one
    revoked   a key is accepted no longer

An event's line is an L3 entry like any other, signed by the entry key in force before it. Trust still comes from
outside: the log only leads from the keys of a policy to those that followed them.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from receipt_writer.format.chain import Head, check_link, next_entry
from receipt_writer.format.entry import Entry, parse_line
from receipt_writer.format.errors import LinkError, SchemaError
from receipt_writer.format.policy import KeyUse, TrustedKey, is_trusted
from receipt_writer.format.signing import Signer, pae, verify

KEY_LAYER = "L3"
"""The layer whose entries are key events."""
KEY_CHAIN = "keys"
"""The chain that they stand in."""
EVENT_TYPE = "application/vnd.prometheus.key-event+json;layer=L3;form=v2"
"""What a possession signature binds beside the event itself (RF-27)."""

EventKind = Literal["created", "rotated", "revoked"]
"""What can happen to a key."""

_FORM = "v2"
_PREVIOUS_SIGNATURE, _NEW_SIGNATURE = "previousKeySignature", "publicKeySignature"
_SIGNATURES: Mapping[str, tuple[str, ...]] = {
    "created": (_NEW_SIGNATURE,),
    "rotated": (_PREVIOUS_SIGNATURE, _NEW_SIGNATURE),
    "revoked": (),
}


@dataclass(frozen=True, slots=True)
class KeyEvent:
    """What an L3 entry says.

    `public_key` is the key it is about, of a rotation the new one, and `previous_key` the one that it replaces.
    `chains` are pairs of a chain's name and the id, for a checkpoint key the tree size, from which on the event holds.
    """

    event: EventKind
    use: KeyUse
    public_key: bytes
    previous_key: bytes | None = None
    reason: str = ""
    chains: tuple[tuple[str, int], ...] = ()

    def at(self, chain: str) -> int:
        """Return from which id on the event holds in a chain; 1 when the chain is not listed (RF-26)."""
        return next((at_id for name, at_id in self.chains if name == chain), 1)

    def draft(self) -> dict[str, object]:
        """Return the event as an L3 draft without possession signatures."""
        return {
            "event": self.event,
            "use": self.use,
            "publicKey": _text(self.public_key),
            "previousKey": None if self.previous_key is None else _text(self.previous_key),
            "reason": self.reason,
            "chains": [{"chain": name, "atId": at_id} for name, at_id in self.chains],
        }


def possession_payload(body: bytes) -> bytes:
    """Return the part of an L3 body that its possession signatures cover, those members cut off (RF-27)."""
    # Quotes inside a string are escaped, so what is found is the member itself.
    cuts = [at for name in (_PREVIOUS_SIGNATURE, _NEW_SIGNATURE) if (at := body.find(f',"{name}":"'.encode())) >= 0]
    return body[: min(cuts)] + b"}" if cuts else body


def possession_message(body: bytes) -> bytes:
    """Return the bytes that the keys of an event sign to show that they are held (RF-27)."""
    return pae(EVENT_TYPE, possession_payload(body))


def next_event(
    head: Head,
    event: KeyEvent,
    *,
    now_ms: int,
    tenant_id: str | None,
    signer: Signer,
    holders: Sequence[Signer] = (),
) -> tuple[Entry, Head]:
    """Return the entry that records a key event after `head`, and the new head.

    `signer` is the entry key in force before the event; `holders` sign for the event's own keys, in any order: the new
    key of `created`, both keys of `rotated`, none of `revoked`.

    Raises:
        SchemaError: the event breaks RF-26, or a key's holder is missing.
        EncodingError: the reason or the whole line is too long.
    """
    by_key = {holder.public_key: holder for holder in holders}
    keys = {_PREVIOUS_SIGNATURE: event.previous_key, _NEW_SIGNATURE: event.public_key}
    needed = _SIGNATURES[event.event]
    missing = next((name for name in needed if keys[name] not in by_key), None)
    if missing:
        raise SchemaError(missing, "made by the key's holder")
    unsigned, _ = next_entry(head, KEY_LAYER, _FORM, event.draft(), now_ms=now_ms, tenant_id=tenant_id, signer=signer)
    message = possession_message(unsigned.body)
    signatures = {name: _text(by_key[cast("bytes", keys[name])].sign(message)) for name in needed}
    entry, after = next_entry(
        head, KEY_LAYER, _FORM, {**event.draft(), **signatures}, now_ms=now_ms, tenant_id=tenant_id, signer=signer
    )
    read_event(entry)
    return entry, after


def read_event(entry: Entry) -> KeyEvent:
    """Return what an L3 entry says, judged alone; its signatures are not checked yet (RF-26).

    Raises:
        SchemaError: a previousKey or a possession signature is missing, or is there where none belongs.
    """
    fields = cast("Mapping[str, Any]", entry.fields)
    kind = cast("EventKind", fields["event"])
    previous = fields["previousKey"]
    if (previous is not None) != (kind == "rotated"):
        raise SchemaError("previousKey", "a key when the event is rotated, else null")
    if previous == fields["publicKey"]:
        raise SchemaError("previousKey", "another key than publicKey")
    for name in (_PREVIOUS_SIGNATURE, _NEW_SIGNATURE):
        if name in _SIGNATURES[kind] and name not in fields:
            raise SchemaError(name, f"present when the event is {kind}")
        if name in fields and name not in _SIGNATURES[kind]:
            raise SchemaError(name, f"left out when the event is {kind}")
    return KeyEvent(
        event=kind,
        use=fields["use"],
        public_key=base64.b64decode(fields["publicKey"]),
        previous_key=None if previous is None else base64.b64decode(previous),
        reason=fields["reason"],
        chains=tuple((row["chain"], row["atId"]) for row in fields["chains"]),
    )


def check_possession(entry: Entry) -> None:
    """Check the signatures by which the keys of an event show that they are held (RF-27).

    Raises:
        SchemaError: as `read_event`.
        LinkError: one of them does not hold; the check is `signature`.
    """
    event, message = read_event(entry), possession_message(entry.body)
    keys = {_PREVIOUS_SIGNATURE: event.previous_key, _NEW_SIGNATURE: event.public_key}
    for name in _SIGNATURES[event.event]:
        signature = base64.b64decode(cast("str", entry.fields[name]))
        if not verify(cast("bytes", keys[name]), message, signature):
            raise LinkError("signature", entry.id, f"Entry {entry.id} does not carry the {name} of the key it names.")


def trusted_after(keys: Iterable[TrustedKey], event: KeyEvent, chain: str) -> tuple[TrustedKey, ...]:
    """Return whom a chain trusts after one more event of the key log (RF-28)."""
    ring, at_id = tuple(keys), event.at(chain)
    if event.event == "revoked":
        return _ended(ring, event.use, event.public_key, at_id)
    if event.event == "rotated" and event.previous_key and is_trusted(ring, event.previous_key, event.use, at_id):
        kept = _ended(ring, event.use, event.previous_key, at_id)
        to_id = _end_of(ring, event.use, event.previous_key, at_id)
        return (*kept, TrustedKey(event.public_key, event.use, at_id, to_id))
    return ring


def ring_of(keys: Iterable[TrustedKey], events: Iterable[KeyEvent], chain: str) -> tuple[TrustedKey, ...]:
    """Return whom a chain trusts: the keys of its policy, then what each event of the key log makes of them (RF-28)."""
    ring = tuple(keys)
    for event in events:
        ring = trusted_after(ring, event, chain)
    return ring


def key_log_ring(keys: Iterable[TrustedKey]) -> tuple[TrustedKey, ...]:
    """Return whose signature the key log's first line may carry: any entry key of a policy, without a range (RF-29)."""
    return tuple(replace(key, from_id=1, to_id=None) if key.use == "entry" else key for key in keys)


def judge_key_log(
    head: Head,
    lines: Iterable[bytes],
    keys: Iterable[TrustedKey],
    *,
    tenant_id: str | None = None,
) -> list[KeyEvent]:
    """Return the events of a key log, each line judged in full under what the lines before it left (RF-29).

    `head` is the genesis head of the log's origin, `keys` are those of a policy.

    Raises:
        FormatError: the first line that does not hold.
    """
    ring, events = key_log_ring(keys), list[KeyEvent]()
    for line in lines:
        entry = parse_line(KEY_LAYER, line)
        event = read_event(entry)
        head = check_link(head, entry, tenant_id=tenant_id, keys=ring)
        check_possession(entry)
        ring = trusted_after(ring, event, KEY_CHAIN)
        events.append(event)
    return events


def _end_of(ring: Iterable[TrustedKey], use: KeyUse, public_key: bytes, at_id: int) -> int | None:
    """Return the last id of a key that is trusted at `at_id`; None when it is trusted without an end."""
    covering = [key for key in ring if key.public_key == public_key and key.use == use and key.covers(at_id)]
    ends = [key.to_id for key in covering if key.to_id is not None]
    return max(ends) if len(ends) == len(covering) else None


def _ended(ring: Iterable[TrustedKey], use: KeyUse, public_key: bytes, at_id: int) -> tuple[TrustedKey, ...]:
    """Return the ring with every range of a key cut before `at_id`; a range of which nothing is left is gone."""
    kept = []
    for key in ring:
        if key.public_key != public_key or key.use != use:
            kept.append(key)
        elif key.from_id < at_id:
            kept.append(replace(key, to_id=at_id - 1 if key.to_id is None else min(key.to_id, at_id - 1)))
    return tuple(kept)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
