"""Errors of the ledger format.

FormatError                     base; `check` is the check that failed, as a verifier reports it
├── EncodingError               bytes that are not one canonical JSON line, or a value that has no such bytes
├── SchemaError                 a member is missing, unknown, misplaced or not what the table accepts
├── UnsupportedError            a layer, form or algorithm that this build does not know
├── LinkError                   an entry that does not follow from the head before it
│   └── ForkError               a second entry under the id of the entry before it
├── OriginError                 a chain's origin, or a part of one, that cannot be used
├── OpeningError                an opening key that is not 32 bytes
├── UnsafeKeyError              a public key that implementations would judge differently
├── UnsafeSignatureError        a signature that implementations would judge differently
├── TreeError                   an index or a size outside the tree
├── ProofError                  a text that is no proof of one entry
├── CheckpointError             a note that is no checkpoint of this chain under a trusted key
└── PolicyError                 a trust policy that cannot be used

A Merkle proof or a signature that does not hold is an answer (`False`), not an error.
"""

from __future__ import annotations

_SHOWN_CHARACTERS = 80


def shown(name: str) -> str:
    """Return a name from a stranger's bytes as a message may show it: at most 80 characters, all printable."""
    cut = name if len(name) <= _SHOWN_CHARACTERS else name[:_SHOWN_CHARACTERS] + "…"
    return cut if cut.isprintable() else ascii(cut)


class FormatError(Exception):
    """Base of every error of the format: one sentence, and the name of the check that failed."""

    check = "format"


class EncodingError(FormatError):
    """Bytes that are not one canonical JSON line, or a value that has no canonical bytes."""

    check = "encoding"


class SchemaError(FormatError):
    """A member breaks the table.

    `path` names the member from the outermost object (`tools[0].status`), `accepted` says in words what belongs there.
    Neither repeats the refused value, which may be long or private; a stranger's name for a member is cut to be shown.
    """

    check = "schema"

    def __init__(self, path: str, accepted: str) -> None:
        super().__init__(f"{shown(path) if path else 'The value'} must be {accepted}.")
        self.path = path
        self.accepted = accepted

    def within(self, outer: str) -> SchemaError:
        """Return the same refusal as seen from the object that holds it under the name `outer`."""
        joint = "." if self.path and not self.path.startswith("[") else ""
        return SchemaError(f"{outer}{joint}{self.path}", self.accepted)


class UnsupportedError(FormatError):
    """A layer, form or algorithm that this build does not know; `check` is `layer`, `form` or `algorithm`."""

    def __init__(self, check: str, message: str) -> None:
        super().__init__(message)
        self.check = check


class LinkError(FormatError):
    """An entry that does not follow from the head before it.

    `check` is the first that fails of `id link tenant hash time key signature`; `id` is the entry's own id.
    """

    def __init__(self, check: str, entry_id: int, message: str) -> None:
        super().__init__(message)
        self.check = check
        self.id = entry_id


class ForkError(LinkError):
    """A second entry under the id of the entry before it: two histories, not a damaged one."""


class OriginError(FormatError):
    """An origin, or a part of one, that cannot name a chain."""

    check = "origin"


class OpeningError(FormatError):
    """An opening key that is not 32 bytes."""

    check = "commitment"


class UnsafeKeyError(FormatError):
    """A public key that the byte checks refuse before any curve arithmetic."""

    check = "key"


class UnsafeSignatureError(FormatError):
    """A signature that the byte checks refuse before any curve arithmetic."""

    check = "signature"


class TreeError(FormatError):
    """An index or a size outside the tree."""

    check = "proof"


class ProofError(FormatError):
    """A text that is no proof of one entry; the message says which part is wrong."""

    check = "proof"


class CheckpointError(FormatError):
    """A note that is no checkpoint of this chain under a trusted checkpoint key."""

    check = "checkpoint"


class PolicyError(FormatError):
    """A trust policy that cannot be used."""

    check = "policy"
