"""One entry: from a draft to its signed line, and from a line back, strictly (RF-6 to RF-12, RF-21).

    body = {"id":1,…,"prevHash":"…"}
    line = body without its last "}" + ,"hash":"…","attestation":{…}}

The hash and the signature cover the body's own bytes, sliced out of the line. Nothing is ever hashed after it was
parsed and written again.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, cast

import msgspec

from receipt_writer.format.canonical import MAX_LINE_BYTES, decode_canonical, encode_accepted
from receipt_writer.format.digest import sha256_hex
from receipt_writer.format.errors import EncodingError, FormatError, SchemaError, UnsupportedError
from receipt_writer.format.instant import iso_from_ms
from receipt_writer.format.kinds import Member, Record, Text
from receipt_writer.format.schema import ATTESTATION, CHAIN_MEMBERS, Form, layer
from receipt_writer.format.signing import (
    ALGORITHM,
    SIGNATURE_BYTES,
    Signer,
    pae,
    payload_type,
)

__all__ = ["Attestation", "Entry", "build_line", "check_draft", "iso_from_ms", "parse_line"]

_HASH_MEMBER = b',"hash":"'
_NO_SIGNATURE = base64.b64encode(bytes(SIGNATURE_BYTES)).decode()
_IN_ORDER = "an object whose members stand in the table's order, at every depth"

# An attestation before its algorithm and form are known to be ours: the same members, any strings.
_CLAIM = Record(tuple(Member(member.name, Text()) for member in ATTESTATION.members))


class Attestation(msgspec.Struct, frozen=True):
    """Who signed an entry, when they said it was, and the signature: 32 and 64 bytes."""

    public_key: bytes
    signature: bytes
    signed_at_iso: str


class Entry(msgspec.Struct, frozen=True):
    """One signed line of a chain.

    `line` has no line break and is the truth; `fields` are the body's members in order; the rest repeats parts of it.
    That the line is well-formed says nothing about its hash, place or signature: `chain.check_link` judges those.
    """

    layer: str
    form: str
    id: int
    recorded_at_ms: int
    hash: str
    prev_hash: str
    fields: Mapping[str, object]
    line: bytes
    attestation: Attestation

    @property
    def body(self) -> bytes:
        """The bytes that the hash and the signature cover (RF-7)."""
        # No string holds these bytes, since a quote inside a string is escaped, so the last match is the member.
        return self.line[: self.line.rindex(_HASH_MEMBER)] + b"}"

    @property
    def signed_bytes(self) -> bytes:
        """The bytes that were given to the signer (RF-12)."""
        return pae(payload_type(self.layer, self.form, self.attestation.signed_at_iso), self.body)

    @property
    def tenant_id(self) -> str | None:
        """Whose entry this is; None in a chain without a tenant."""
        return cast("str | None", self.fields.get("tenantId"))

    @property
    def draft(self) -> dict[str, object]:
        """What the caller asked to record: the body without the members that the chain set."""
        return {name: value for name, value in self.fields.items() if name not in CHAIN_MEMBERS}


def check_draft(layer_name: str, form_name: str, draft: Mapping[str, object]) -> None:
    """Accept a draft that `build_line` will take, before its place in a chain is known (RF-23).

    Raises:
        SchemaError, EncodingError, UnsupportedError: as `build_line`; only a line that is too long shows later.
    """
    _refuse_chain_members(draft)
    encode_accepted(layer(layer_name).form(form_name).draft.conform(dict(draft)))


def build_line(
    layer_name: str,
    form_name: str,
    draft: Mapping[str, object],
    *,
    id: int,  # noqa: A002 -- the ledger's own word
    recorded_at_ms: int,
    prev_hash: str,
    tenant_id: str | None,
    signed_at_iso: str,
    signer: Signer,
) -> Entry:
    """Return the signed entry that records `draft` at this place of a chain.

    The draft's members may come in any order, at any depth; the table's order is restored.

    Raises:
        SchemaError: the draft lacks a member, brings one that the chain sets or nobody knows, or holds a wrong value.
        EncodingError: a string, an integer or the whole line is too large, or a string is no Unicode text.
        UnsupportedError: no such layer or form.
    """
    form = layer(layer_name).form(form_name)
    chain_members: dict[str, object] = {
        "id": id,
        "recordedAtMs": recorded_at_ms,
        "recordedAtIso": iso_from_ms(recorded_at_ms),
        "prevHash": prev_hash,
    }
    if tenant_id is not None:
        chain_members["tenantId"] = tenant_id
    _refuse_chain_members(draft)
    fields = form.body.conform({**chain_members, **draft})
    body = encode_accepted(fields)
    message = pae(payload_type(layer_name, form_name, signed_at_iso), body)
    attestation = Attestation(signer.public_key, signer.sign(message), signed_at_iso)
    entry_hash = sha256_hex(body)
    line = b'%b,"hash":"%b","attestation":%b}' % (
        body[:-1],
        entry_hash.encode(),
        _attestation_bytes(attestation, form_name),
    )
    if len(line) > MAX_LINE_BYTES:
        raise EncodingError(f"The entry's line would have {len(line)} bytes; at most {MAX_LINE_BYTES} are allowed.")
    return Entry(layer_name, form_name, id, recorded_at_ms, entry_hash, prev_hash, fields, line, attestation)


def parse_line(layer_name: str, line: bytes) -> Entry:
    """Return the entry that `line` (without its line break) spells, judged alone (RF-21).

    Raises:
        EncodingError: the bytes are not canonical JSON, or too many.
        UnsupportedError: a layer, form or algorithm that this build does not know; comes before a wrong body.
        SchemaError: a member breaks the table, or the two spellings of the time differ.
    """
    form_name, members = _members_of(layer_name, line)
    recorded_at_ms = cast("int", members["recordedAtMs"])
    if members["recordedAtIso"] != iso_from_ms(recorded_at_ms):
        raise SchemaError("recordedAtIso", "the time of recordedAtMs, as YYYY-MM-DDTHH:MM:SS.mmmZ")
    attested = cast("dict[str, str]", members.pop("attestation"))
    entry_hash = cast("str", members.pop("hash"))
    return Entry(
        layer=layer_name,
        form=form_name,
        id=cast("int", members["id"]),
        recorded_at_ms=recorded_at_ms,
        hash=entry_hash,
        prev_hash=cast("str", members["prevHash"]),
        fields=members,
        line=line,
        attestation=Attestation(
            public_key=base64.b64decode(attested["publicKey"]),
            signature=base64.b64decode(attested["signature"]),
            signed_at_iso=attested["signedAtIso"],
        ),
    )


def _members_of(layer_name: str, line: bytes) -> tuple[str, dict[str, object]]:
    """Return a line's form and members.

    Bytes that the table's own reading of them gives back are canonical and in order; only others are judged step by
    step, for the refusal that RF-21 puts first.
    """
    with suppress(FormatError, ValueError, TypeError, LookupError, RecursionError):
        guess: Any = msgspec.json.decode(line) if len(line) <= MAX_LINE_BYTES else None
        form_name = guess["attestation"]["canonicalForm"]
        members = layer(layer_name).form(form_name).line.conform(guess)
        if encode_accepted(members) == line:
            return form_name, members
    value = decode_canonical(line)
    form_name, form = _form_of(layer_name, value)
    members = form.line.conform(value)
    if encode_accepted(members) != line:
        raise SchemaError("", _IN_ORDER)
    return form_name, members


def _refuse_chain_members(draft: Mapping[str, object]) -> None:
    if not CHAIN_MEMBERS.isdisjoint(draft):
        name = next(name for name in draft if name in CHAIN_MEMBERS)
        raise SchemaError(name, "left out of a draft: the chain sets it")


@lru_cache(maxsize=64)
def _attestation_frame(public_key: bytes, signed_at_iso: str, form_name: str) -> tuple[bytes, bytes]:
    """Return what stands before and behind the signature; the entries of one commit have it in common.

    Raises:
        SchemaError: The key's length, the time or the form is not what the table accepts.
    """
    members = ATTESTATION.conform(
        {
            "algorithm": ALGORITHM,
            "publicKey": base64.b64encode(public_key).decode(),
            "signature": _NO_SIGNATURE,
            "signedAtIso": signed_at_iso,
            "canonicalForm": form_name,
        }
    )
    before, _, behind = encode_accepted(members).rpartition(_NO_SIGNATURE.encode())
    return before, behind


def _attestation_bytes(attestation: Attestation, form_name: str) -> bytes:
    if len(attestation.signature) != SIGNATURE_BYTES:
        raise SchemaError("signature", f"{SIGNATURE_BYTES} bytes")
    before, behind = _attestation_frame(attestation.public_key, attestation.signed_at_iso, form_name)
    return before + base64.b64encode(attestation.signature) + behind


def _form_of(layer_name: str, value: object) -> tuple[str, Form]:
    """Return the form that a line claims, before anything that depends on the form is judged (RF-21)."""
    if not isinstance(value, dict) or next(reversed(value), None) != "attestation":
        raise SchemaError("", "an object that ends with an attestation")
    try:
        claim = _CLAIM.conform(value["attestation"])
    except SchemaError as error:
        raise error.within("attestation") from None
    if list(claim) != list(value["attestation"]):
        raise SchemaError("attestation", _IN_ORDER)
    if claim["algorithm"] != ALGORITHM:
        raise UnsupportedError("algorithm", f"The signature's algorithm is not {ALGORITHM}, the only one known here.")
    form_name = cast("str", claim["canonicalForm"])
    return form_name, layer(layer_name).form(form_name)
