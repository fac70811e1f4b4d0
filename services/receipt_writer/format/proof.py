"""The proof of one entry as a text that travels alone: a C2SP tlog-proof (RF-32).

c2sp.org/tlog-proof@v1
extra eyJpZCI6MSwi…                     the entry's line, base64
index 0                                 its leaf, counted from 0
dmxlk2rT…                               the nodes from its sibling up, base64, one a line

prometheus.example/decisions/-          a checkpoint that covers it
…
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass

from receipt_writer.format.canonical import MAX_INTEGER, MAX_LINE_BYTES
from receipt_writer.format.checkpoint import MAX_NOTE_CHARACTERS, Note, parse_note
from receipt_writer.format.errors import CheckpointError, ProofError
from receipt_writer.format.merkle import HASH_BYTES, Tree, inclusion_path, leaf_hash, verify_inclusion

FIRST_LINE = "c2sp.org/tlog-proof@v1"
"""By this a reader knows such a text from a chain or a checkpoint."""

_MAX_PATH = 63  # a tree of 2^53 leaves is no higher
_MAX_CHARACTERS = MAX_LINE_BYTES * 4 // 3 + MAX_NOTE_CHARACTERS + _MAX_PATH * 45 + 100
_INDEX = re.compile(r"0|[1-9][0-9]{0,15}")


@dataclass(frozen=True, slots=True)
class Proof:
    """A line, its leaf index, the inclusion path, and the note of the checkpoint; nothing is verified yet."""

    line: bytes
    index: int
    path: tuple[bytes, ...]
    note: str

    @property
    def checkpoint(self) -> Note:
        """The checkpoint, its signatures not yet verified."""
        return parse_note(self.note)

    def holds(self) -> bool:
        """Say whether the path leads from the line to the checkpoint's root; who signed that is another question."""
        head = self.checkpoint.checkpoint
        return verify_inclusion(leaf_hash(self.line), self.index, head.size, self.path, head.root_hash)

    def text(self) -> str:
        """Return the tlog-proof."""
        nodes = "".join(f"{_encoded(node)}\n" for node in self.path)
        return f"{FIRST_LINE}\nextra {_encoded(self.line)}\nindex {self.index}\n{nodes}\n{self.note}"


def prove_entry(tree: Tree, entry_id: int, line: bytes, note: str) -> Proof:
    """Return the proof that an entry, whose line has no line break here, is under the checkpoint of a note.

    Raises:
        CheckpointError: the note is none.
        TreeError: the checkpoint does not cover the entry, or reaches beyond the tree.
    """
    size = parse_note(note).checkpoint.size
    return Proof(line, entry_id - 1, tuple(inclusion_path(tree, entry_id - 1, size)), note)


def parse_proof(text: str) -> Proof:
    """Return the proof of a text that spells one, exactly.

    Raises:
        ProofError: the first part that is wrong: the first line, `extra`, `index`, a node, or the checkpoint.
    """
    if len(text) > _MAX_CHARACTERS:
        raise ProofError(f"A proof of one entry has at most {_MAX_CHARACTERS} characters.")
    head, blank, note = text.partition("\n\n")
    first, *rest = head.split("\n")
    if first != FIRST_LINE:
        raise ProofError(f"A proof of one entry begins with the line {FIRST_LINE}.")
    if len(rest) < 2 or not blank:  # noqa: PLR2004 -- extra and index
        raise ProofError("A proof of one entry has lines extra and index, a path, an empty line and a checkpoint.")
    extra, index, *path = rest
    line = _decoded(extra.removeprefix("extra ")) if extra.startswith("extra ") else None
    if not line or len(line) > MAX_LINE_BYTES:
        raise ProofError("The second line of a proof of one entry is extra and the entry's line in base64.")
    number = index.removeprefix("index ")
    if not index.startswith("index ") or not _INDEX.fullmatch(number) or int(number) >= MAX_INTEGER:
        raise ProofError("The third line of a proof of one entry is index and the entry's id less one, in decimal.")
    nodes = tuple(node for text in path if (node := _decoded(text)) and len(node) == HASH_BYTES)
    if len(nodes) != len(path) or len(path) > _MAX_PATH:
        raise ProofError(f"The path of a proof of one entry is at most {_MAX_PATH} hashes in base64, one a line.")
    try:
        parse_note(note)
    except CheckpointError as error:
        raise ProofError(f"The proof of one entry does not end with a checkpoint. {error}") from error
    return Proof(line, int(number), nodes, note)


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decoded(text: str) -> bytes | None:
    """Return what canonical base64 says, None when the text is not that."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if _encoded(data) == text else None
