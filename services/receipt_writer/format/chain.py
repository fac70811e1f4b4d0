"""Joining entries: the next one after a head, and whether a given one really follows (RF-9, RF-10, RF-20).

A head is all that appending needs to know of a chain, however long it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from receipt_writer.format.digest import genesis_hash, sha256_hex
from receipt_writer.format.entry import Entry, build_line
from receipt_writer.format.errors import ForkError, LinkError
from receipt_writer.format.instant import iso_from_ms
from receipt_writer.format.policy import TrustedKey, is_trusted
from receipt_writer.format.signing import Signer, verify


class Head(msgspec.Struct, frozen=True):
    """Where a chain ends: the number of entries, the newest one's hash and time (for none: the genesis hash and 0)."""

    size: int
    hash: str
    recorded_at_ms: int


def genesis_head(origin: str) -> Head:
    """Return the head of the empty chain of this origin.

    Raises:
        OriginError: the origin is malformed.
    """
    return Head(size=0, hash=genesis_hash(origin), recorded_at_ms=0)


def next_entry(
    head: Head,
    layer: str,
    form: str,
    draft: Mapping[str, object],
    *,
    now_ms: int,
    tenant_id: str | None,
    signer: Signer,
) -> tuple[Entry, Head]:
    """Return the entry that records `draft` after `head`, and the new head.

    `recordedAtMs` is `now_ms`, or the head's time when the clock has stepped back; `signedAtIso` is the same instant.

    Raises:
        SchemaError, EncodingError, UnsupportedError: as `build_line`.
    """
    recorded_at_ms = max(now_ms, head.recorded_at_ms)
    entry = build_line(
        layer,
        form,
        draft,
        id=head.size + 1,
        recorded_at_ms=recorded_at_ms,
        prev_hash=head.hash,
        tenant_id=tenant_id,
        signed_at_iso=iso_from_ms(recorded_at_ms),
        signer=signer,
    )
    return entry, head_after(entry)


def head_after(entry: Entry) -> Head:
    """Return the head of the chain that ends with this entry."""
    return Head(size=entry.id, hash=entry.hash, recorded_at_ms=entry.recorded_at_ms)


def check_link(
    head: Head, entry: Entry, *, tenant_id: str | None = None, keys: Sequence[TrustedKey] | None = None
) -> Head:
    """Return the new head when `entry` follows from `head`, is whole and is signed (RF-20).

    The checks run in the order id, link, tenant, hash, time, key, signature. Without `keys` the key check is left out,
    and then a result says only that the chain agrees with itself: whoever holds any key can have made it.

    Raises:
        ForkError: the entry repeats the head's id.
        LinkError: the first check that fails.
    """
    _check_place(head, entry, tenant_id)
    attestation = entry.attestation
    if keys is not None and not is_trusted(keys, attestation.public_key, "entry", entry.id):
        raise LinkError("key", entry.id, f"Entry {entry.id} is signed by a key that the policy does not trust there.")
    if not verify(attestation.public_key, entry.signed_bytes, attestation.signature):
        raise LinkError("signature", entry.id, f"Entry {entry.id} does not carry its key's signature.")
    return head_after(entry)


def _check_place(head: Head, entry: Entry, tenant_id: str | None) -> None:
    if entry.id == head.size:
        raise ForkError("id", entry.id, f"Entry {entry.id} stands twice.")
    if entry.id != head.size + 1:
        raise LinkError("id", entry.id, f"Entry {entry.id} stands where entry {head.size + 1} belongs.")
    if entry.prev_hash != head.hash:
        raise LinkError("link", entry.id, f"Entry {entry.id} does not name the hash of what stands before it.")
    if entry.tenant_id != tenant_id:
        raise LinkError("tenant", entry.id, f"Entry {entry.id} belongs to another tenant than its chain.")
    if sha256_hex(entry.body) != entry.hash:
        raise LinkError("hash", entry.id, f"Entry {entry.id} is not what its hash was made of.")
    if entry.recorded_at_ms < head.recorded_at_ms:
        raise LinkError("time", entry.id, f"Entry {entry.id} was recorded before the entry that it follows.")
