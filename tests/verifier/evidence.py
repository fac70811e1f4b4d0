"""Key logs, proofs of one entry and states of a whole ledger, of the tests' own making.

They follow docs/receipt-format.md and share no code with the writer or the verifiers.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from nacl.signing import SigningKey

from tests.verifier.bodies import Body, canonical, key_event, sha, state
from tests.verifier.ledger import Chain, public, tree_root

KEYS = "prometheus.example/keys/-"
EVENT_TYPE = b"application/vnd.prometheus.key-event+json;layer=L3;form=v2"
SIGNATURES = ("previousKeySignature", "publicKeySignature")
At = Mapping[str, int]


class KeyLog(Chain):
    """An L3 chain: each event is signed by the keys it is about, then as a line by the key in force before it."""

    def created(self, key: SigningKey, use: str = "entry", **changes: Any) -> KeyLog:
        return self.event({"publicKeySignature": key}, event="created", use=use, publicKey=public(key), **changes)

    def rotated(self, old: SigningKey, new: SigningKey, at: At, use: str = "entry", **changes: Any) -> KeyLog:
        said: Body = {"event": "rotated", "use": use, "publicKey": public(new), "previousKey": public(old)}
        said |= {"reason": "yearly", "chains": rows(at)}
        return self.event({"previousKeySignature": old, "publicKeySignature": new}, **said | changes)

    def revoked(self, key: SigningKey, at: At, use: str = "entry", **changes: Any) -> KeyLog:
        said = {"event": "revoked", "use": use, "publicKey": public(key), "reason": "stolen", "chains": rows(at)}
        return self.event({}, **said | changes)

    def event(
        self,
        signers: Mapping[str, SigningKey],
        *,
        by: SigningKey | None = None,
        kind: bytes = EVENT_TYPE,
        says: Body | None = None,
        **changes: Any,
    ) -> KeyLog:
        """Append an event that `signers` sign, or sign as if it said `says`, and then `by` signs as a line."""
        body = key_event(len(self.lines) + 1, **{"prevHash": self.head, **changes})
        whole = {name: value for name, value in body.items() if value is not ...}
        unsigned = {n: v for n, v in {**whole, **(says or {})}.items() if n not in SIGNATURES}
        for name, key in signers.items():
            body[name] = base64.b64encode(key.sign(pae(kind, canonical(unsigned))).signature).decode()
        self.add(body, key=by)
        return self


def rows(at: At) -> list[dict[str, Any]]:
    return [{"chain": chain, "atId": number} for chain, number in at.items()]


def pae(kind: bytes, payload: bytes) -> bytes:
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def audit_path(index: int, leaves: Sequence[bytes]) -> list[bytes]:
    """PATH(m, D[n]) of RFC 6962 section 2.1.1, as its definition reads."""
    if len(leaves) == 1:
        return []
    split = 1 << (len(leaves) - 1).bit_length() - 1
    if index < split:
        return [*audit_path(index, leaves[:split]), tree_root(leaves[split:])]
    return [*audit_path(index - split, leaves[split:]), tree_root(leaves[:split])]


def proof(
    chain: Chain,
    number: int,
    size: int,
    *,
    line: bytes | None = None,
    index: int | str | None = None,
    path: Sequence[bytes] | None = None,
    note: bytes = b"",
    extra: bool = True,
) -> bytes:
    """C2SP's tlog-proof of entry `number` under the tree of a size, with parts changed."""
    path = audit_path(number - 1, chain.lines[:size]) if path is None else path
    text = ["c2sp.org/tlog-proof@v1"]
    text += ["extra " + base64.b64encode(chain.lines[number - 1] if line is None else line).decode()] if extra else []
    text += [f"index {number - 1 if index is None else index}", *(base64.b64encode(node).decode() for node in path)]
    return "\n".join([*text, "", ""]).encode() + (note or chain.checkpoint(size))


def row(chain: Chain, size: int | None = None, **changes: Any) -> dict[str, Any]:
    """What a state says of a chain, here at one of its sizes."""
    lines = chain.lines if size is None else chain.lines[:size]
    head = sha(f"prometheus-receipts genesis v1\n{chain.origin}\n")
    if lines:
        head = hashlib.sha256(lines[-1][: lines[-1].rindex(b',"hash":"')] + b"}").hexdigest()
    name = chain.origin.split("/")[1]
    return {"chain": name, "size": len(lines), "rootHash": tree_root(lines).hex(), "headHash": head, **changes}


def state_of(number: int, chains: Sequence[dict[str, Any]], **changes: Any) -> Body:
    """An L1 body with these rows."""
    return state(number, chains=list(chains), **changes)
