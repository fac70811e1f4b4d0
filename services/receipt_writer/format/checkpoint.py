"""Checkpoints: signed tree heads as C2SP signed notes (RF-17).

    prometheus.example/decisions/-          the origin, which is also the signer's name
    40                                      the number of entries
    vzRKTTOBJ5RCWgsuasJS9YEWpHnGzpdbzVjOcegQSvU=      the root, base64

    — prometheus.example/decisions/- ++sVx7oZ…        key id and Ed25519 signature over the text above, base64

Other parties may add signature lines of their own below; lines under unknown keys are passed over. Lines between the
root and the empty line are signed too and mean nothing here; this ledger writes none.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from receipt_writer.format.canonical import MAX_INTEGER
from receipt_writer.format.digest import split_origin
from receipt_writer.format.errors import CheckpointError, OriginError, SchemaError
from receipt_writer.format.kinds import Base64
from receipt_writer.format.signing import Signer, verify

MAX_NOTE_CHARACTERS = 65_536
"""Longest note that is read."""

_ED25519 = b"\x01"
_KEY_ID_BYTES = 4
_ROOT = Base64(32)
_SIGNATURE_LINE = re.compile(r"\u2014 (?P<name>[^\s+]+) (?P<signature>[A-Za-z0-9+/]+=*)")
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")
_SIZE = re.compile(r"0|[1-9][0-9]{0,15}")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A tree head: whose chain, how many entries, and the 32-byte root over their lines."""

    origin: str
    size: int
    root_hash: bytes

    def text(self) -> str:
        """Return the three lines that are signed, the last line break included."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root_hash).decode()}\n"


@dataclass(frozen=True, slots=True)
class NoteSignature:
    """One signature line: the signer's name, its 4-byte key id, and what follows it (64 bytes for Ed25519)."""

    name: str
    key_id: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class Note:
    """A checkpoint, the exact text that was signed, and the signature lines; nothing is verified yet."""

    checkpoint: Checkpoint
    text: str
    signatures: tuple[NoteSignature, ...]


def key_id(name: str, public_key: bytes) -> bytes:
    """Return the 4 bytes by which a signature line names its Ed25519 key (C2SP signed-note)."""
    return hashlib.sha256(name.encode() + b"\n" + _ED25519 + public_key).digest()[:_KEY_ID_BYTES]


def sign_checkpoint(checkpoint: Checkpoint, signer: Signer) -> str:
    """Return the note in which `signer`, the holder of the checkpoint key, signs `checkpoint`."""
    text = checkpoint.text()
    blob = key_id(checkpoint.origin, signer.public_key) + signer.sign(text.encode())
    return f"{text}\n\u2014 {checkpoint.origin} {base64.b64encode(blob).decode()}\n"


def parse_note(text: str) -> Note:
    """Return the checkpoint and the signature lines of a note.

    Raises:
        CheckpointError: the note is not origin, size, root, an empty line and signature lines, spelled exactly.
    """
    if len(text) > MAX_NOTE_CHARACTERS:
        raise CheckpointError(f"A checkpoint note has at most {MAX_NOTE_CHARACTERS} characters.")
    if _CONTROL.search(text):
        raise CheckpointError("A checkpoint note has no control characters but line breaks.")
    head, blank, tail = text.rpartition("\n\n")
    if not blank or not tail.endswith("\n"):
        raise CheckpointError("A checkpoint note ends with an empty line and whole signature lines.")
    signatures = tuple(_signature(line) for line in tail[:-1].split("\n"))
    return Note(_checkpoint(head.split("\n")), head + "\n", signatures)


def verify_note(text: str, origin: str, trusted_keys: Iterable[bytes]) -> Checkpoint:
    """Return the checkpoint of a note that is for `origin` and signed by a trusted checkpoint key.

    Raises:
        CheckpointError: malformed, for another chain, without a trusted key's signature, or with a wrong one.
    """
    note = parse_note(text)
    if note.checkpoint.origin != origin:
        raise CheckpointError("The checkpoint is for another chain; a checkpoint is evidence for its own origin only.")
    keys = {key_id(origin, public_key): public_key for public_key in trusted_keys}
    message = note.text.encode()
    signed = False
    for line in note.signatures:
        if line.name != origin or line.key_id not in keys:
            continue
        if not verify(keys[line.key_id], message, line.signature):
            raise CheckpointError("The checkpoint carries a wrong signature under a trusted checkpoint key.")
        signed = True
    if not signed:
        raise CheckpointError("The checkpoint is not signed by a trusted checkpoint key.")
    return note.checkpoint


def _checkpoint(lines: list[str]) -> Checkpoint:
    match lines:
        case [origin, size, root, *extensions] if all(extensions):
            pass
        case _:
            raise CheckpointError("A checkpoint starts with three lines: origin, size and root.")
    try:
        split_origin(origin)
        _ROOT.conform(root)
    except (OriginError, SchemaError) as error:
        raise CheckpointError(f"The checkpoint cannot be read: {error}") from None
    if not _SIZE.fullmatch(size) or int(size) > MAX_INTEGER:
        raise CheckpointError("A checkpoint's second line is the number of entries, in decimal.")
    return Checkpoint(origin, int(size), base64.b64decode(root))


def _signature(line: str) -> NoteSignature:
    match = _SIGNATURE_LINE.fullmatch(line)
    try:
        blob = base64.b64decode(match["signature"], validate=True) if match else b""
    except binascii.Error:
        blob = b""
    if match is None or len(blob) <= _KEY_ID_BYTES:
        raise CheckpointError("A signature line is a dash, a name, and base64 of key id and signature.")
    return NoteSignature(match["name"], blob[:_KEY_ID_BYTES], blob[_KEY_ID_BYTES:])
