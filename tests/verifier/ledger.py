"""A ledger of the tests' own making: bodies, lines, chains, policies and checkpoints, signed with PyNaCl.

It follows docs/receipt-format.md and shares no code with the writer or the verifiers.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nacl.signing import SigningKey

from tests.verifier.bodies import LAYERS, START_MS, ULID, Body, canonical, decision, decision_v1, iso, sha, turn

__all__ = ["START_MS", "ULID", "Body", "Chain", "canonical", "decision", "decision_v1", "iso", "sha", "turn"]

ORIGIN = "prometheus.example/decisions/-"
TURNS = "prometheus.example/turns/-"
ENTRY_KEY, OTHER_KEY, CHECKPOINT_KEY = (
    SigningKey(hashlib.sha256(name).digest()) for name in (b"entry", b"other", b"cp")
)


def public(key: SigningKey) -> str:
    return base64.b64encode(bytes(key.verify_key)).decode()


@dataclass
class Chain:
    """Entries added one by one, each linked to the one before and signed; any of them may be spoilt on the way in."""

    origin: str = ORIGIN
    key: SigningKey = ENTRY_KEY
    form: str = "v2"
    lines: list[bytes] = field(default_factory=list)
    head: str = ""

    def __post_init__(self) -> None:
        self.head = self.head or sha(f"prometheus-receipts genesis v1\n{self.origin}\n")

    @property
    def layer(self) -> str:
        return LAYERS[self.origin.split("/")[1]][0]

    @property
    def content(self) -> bytes:
        return b"".join(line + b"\n" for line in self.lines)

    def add(self, body: Body, *, spoil: Callable[[bytes], bytes] | None = None, **attestation: Any) -> Chain:
        """Append a body; `spoil` rewrites its bytes before they are hashed and signed, so that only they are wrong."""
        filled = {
            "prevHash": self.head,
            **{n: v for n, v in body.items() if v is not ... and (n, v) != ("prevHash", "")},
        }
        data = canonical({name: filled[name] for name in body if name in filled})
        return self.add_bytes(spoil(data) if spoil else data, **attestation)

    def add_bytes(self, data: bytes, **attestation: Any) -> Chain:
        """Append ready body bytes, hashed, linked to by the next entry, and signed."""
        self.head = sha(data)
        block = self.attest(data, **attestation)
        self.lines.append(b'%b,"hash":"%b","attestation":%b}' % (data[:-1], self.head.encode(), block))
        return self

    def attest(
        self,
        data: bytes,
        *,
        key: SigningKey | None = None,
        layer: str = "",
        form: str = "",
        at: str = "",
        **changes: Any,
    ) -> bytes:
        """Sign a body; `key`, `layer`, `form` and `at` are signed, `changes` are made to the block afterwards."""
        key, form, at = key or self.key, form or self.form, at or iso(START_MS + len(self.lines) * 1000)
        kind = f"application/vnd.prometheus.receipt+json;layer={layer or self.layer};form={form};signedAt={at}".encode()
        message = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(data), data)
        block = {
            "algorithm": "ed25519",
            "publicKey": public(key),
            "signature": base64.b64encode(key.sign(message).signature).decode(),
            "signedAtIso": at,
            "canonicalForm": form,
        }
        return canonical({**block, **changes})

    def fill(self, upto: int, **changes: Any) -> Chain:
        """Append sound entries until the chain has so many."""
        make = LAYERS[self.origin.split("/")[1]][1] if self.form == "v2" else decision_v1
        while len(self.lines) < upto:
            self.add(make(len(self.lines) + 1, **changes))
        return self

    def checkpoint(self, size: int, *, key: SigningKey = CHECKPOINT_KEY, origin: str = "", root: bytes = b"") -> bytes:
        """A signed note of this chain's root at a size (RF-17)."""
        origin = origin or self.origin
        head = base64.b64encode(root or tree_root(self.lines[:size])).decode()
        return note(f"{origin}\n{size}\n{head}\n", origin, key)


def note(text: str, name: str, *keys: SigningKey) -> bytes:
    """Sign a text as C2SP's signed-note says, one line a key."""
    lines = ""
    for key in keys:
        key_id = hashlib.sha256(f"{name}\n\x01".encode() + bytes(key.verify_key)).digest()[:4]
        blob = base64.b64encode(key_id + key.sign(text.encode()).signature).decode()
        lines += f"\u2014 {name} {blob}\n"
    return f"{text}\n{lines}".encode()


def tree_root(lines: Sequence[bytes]) -> bytes:
    """The tree of RFC 6962 section 2.1, as its definition reads."""
    if not lines:
        return hashlib.sha256(b"").digest()
    if len(lines) == 1:
        return hashlib.sha256(b"\x00" + lines[0]).digest()
    split = 1 << (len(lines) - 1).bit_length() - 1
    return hashlib.sha256(b"\x01" + tree_root(lines[:split]) + tree_root(lines[split:])).digest()


def trust(key: SigningKey, use: str = "entry", **ids: Any) -> dict[str, Any]:
    return {"publicKey": public(key), "use": use, "fromId": 1, "toId": None, **ids}


def policy(origin: str = ORIGIN, keys: Sequence[Mapping[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    """A policy that trusts the entry key and the checkpoint key, unless other keys are given."""
    keys = [trust(ENTRY_KEY), trust(CHECKPOINT_KEY, "checkpoint")] if keys is None else keys
    return {"origin": origin, "keys": list(keys), "witnesses": [], "quorum": 0, **more}
