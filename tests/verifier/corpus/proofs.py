"""Proofs of one entry (C2SP tlog-proof with the line as `extra`), and every part of one that can be wrong."""

from __future__ import annotations

import base64
from typing import Any

from tests.verifier.bodies import decision
from tests.verifier.corpus.material import CHECKPOINT, ENTRY, STRANGER, Corpus, chain, origin
from tests.verifier.evidence import audit_path, proof
from tests.verifier.ledger import Chain, tree_root

ATTACK = "a proof of one entry"
SIZE = 7


def add_to(corpus: Corpus) -> None:
    seven = chain(size=SIZE)
    corpus.case("proofs/seven", "none: the chain that the proofs are about", seven)
    for number, size in ((1, 1), (1, 7), (4, 7), (7, 7), (5, 6)):
        _proof(corpus, f"entry-{number}-of-{size}", _make(seven, number, size))
    good = _make(seven, 4, SIZE)
    corpus.given("proofs/without-a-policy", ATTACK, ["proofs/entry-4-of-7.tlog-proof"], "UNANCHORED", policies=[])
    _wrong_parts(corpus, seven)
    _spelled_otherwise(corpus, good)
    turns = chain("turns", 3)
    _proof(corpus, "of-a-turn", _make(turns, 2, 3), policies=[corpus.policy("turns")])
    _proof(corpus, "of-a-turn-under-the-policy-of-decisions", _make(turns, 2, 3), None)


def _make(of: Chain, number: int, size: int, **more: Any) -> bytes:
    more.setdefault("note", of.checkpoint(size, key=CHECKPOINT))
    return proof(of, number, size, **more)


def _proof(corpus: Corpus, name: str, data: bytes, *found: Any, **more: Any) -> None:
    file = corpus.file(f"proofs/{name}.tlog-proof", data)
    corpus.given(f"proofs/{name}", ATTACK, [file], *found, **more)


def _wrong_parts(corpus: Corpus, seven: Chain) -> None:
    path = audit_path(3, seven.lines)
    forked = ("FORKED", 4, "proof")
    other = chain(size=3)
    other.add(decision(4, latencyMs=1))
    wrong: dict[str, tuple[bytes, Any]] = {
        "wrong-index": (_make(seven, 4, 7, index=4), forked),
        "index-beyond-the-tree": (_make(seven, 4, 7, index=7), forked),
        "path-in-another-order": (_make(seven, 4, 7, path=path[::-1]), forked),
        "path-too-short": (_make(seven, 4, 7, path=path[:-1]), forked),
        "path-too-long": (_make(seven, 4, 7, path=[*path, bytes(32)]), forked),
        "path-empty": (_make(seven, 4, 7, path=[]), forked),
        "path-of-another-entry": (_make(seven, 4, 7, path=audit_path(4, seven.lines)), forked),
        "path-with-one-bit-turned": (
            _make(seven, 4, 7, path=[bytes([path[0][0] ^ 1]) + path[0][1:], *path[1:]]),
            forked,
        ),
        "line-signed-and-never-logged": (_make(seven, 4, 7, line=other.lines[3]), forked),
        "another-line-of-the-chain": (_make(seven, 4, 7, line=seven.lines[4]), ("FORKED", 5, "proof")),
        "line-edited": (_make(seven, 4, 7, line=seven.lines[3].replace(b":1204", b":1205")), ("TAMPERED", 4, "hash")),
        "line-by-a-stranger": (_make(chain(size=7, key=STRANGER), 4, 7), ("TAMPERED", 4, "key")),
        "line-of-another-tenant": (
            _make(chain(size=7, tenant="acme"), 4, 7, note=seven.checkpoint(7, key=CHECKPOINT)),
            ("TAMPERED", 4, "tenant"),
        ),
        "line-not-canonical": (
            _make(seven, 4, 7, line=seven.lines[3].replace(b'"id":4', b'"id": 4')),
            _bad("encoding"),
        ),
        "line-with-a-line-break": (_make(seven, 4, 7, line=seven.lines[3] + b"\n"), _bad("encoding")),
        "line-of-a-turn": (_make(seven, 4, 7, line=chain("turns", 4).lines[3]), _bad("schema")),
        "extra-missing": (_make(seven, 4, 7, extra=False), None),
        "checkpoint-by-the-entry-key": (_make(seven, 4, 7, note=seven.checkpoint(7, key=ENTRY)), None),
        "checkpoint-by-a-stranger": (_make(seven, 4, 7, note=seven.checkpoint(7, key=STRANGER)), None),
        "checkpoint-for-another-chain": (
            _make(seven, 4, 7, note=seven.checkpoint(7, key=CHECKPOINT, origin=origin("turns"))),
            None,
        ),
        "checkpoint-of-another-size": (_make(seven, 4, 7, note=seven.checkpoint(6, key=CHECKPOINT)), forked),
        "checkpoint-of-another-root": (
            _make(seven, 4, 7, note=seven.checkpoint(7, key=CHECKPOINT, root=bytes(32))),
            forked,
        ),
    }
    wrong |= _made_by_the_log_itself(seven)
    for name, (data, found) in wrong.items():
        _proof(corpus, name, data, *(found or (None,)))


def _made_by_the_log_itself(seven: Chain) -> dict[str, tuple[bytes, Any]]:
    """What only the holder of the checkpoint key can make, and still proves nothing."""
    pair, swapped = tree_root(seven.lines[:2]), chain(size=7)
    swapped.lines[3], swapped.lines[4] = swapped.lines[4], swapped.lines[3]
    elsewhere = Chain(origin("decisions", substrate="other.example"), ENTRY).fill(1)
    early = seven.checkpoint(4, key=CHECKPOINT, root=pair)
    foreign = elsewhere.checkpoint(1, key=CHECKPOINT, origin=seven.origin)
    return {
        "path-that-ends-early": (
            _make(seven, 1, 4, path=audit_path(0, seven.lines[:2]), note=early),
            ("FORKED", 1, "proof"),
        ),
        "entry-at-the-place-of-another": (_make(swapped, 4, 7), ("FORKED", 5, "proof")),
        "first-entry-of-another-ledger": (_make(elsewhere, 1, 1, note=foreign), ("TAMPERED", 1, "link")),
    }


def _bad(check: str) -> tuple[str, int, str]:
    return "MALFORMED", 4, check


def _spelled_otherwise(corpus: Corpus, good: bytes) -> None:
    _, extra, _, first, *_ = good.split(b"\n")
    changed = {
        "cut-before-the-checkpoint": good.split(b"\n\n")[0] + b"\n",
        "cut-in-the-checkpoint": good[:-90],
        "no-last-line-break": good[:-1],
        "carriage-returns": good.replace(b"\n", b"\r\n"),
        "version-from-the-future": good.replace(b"@v1", b"@v2", 1),
        "index-missing": good.replace(b"index 3\n", b""),
        "index-with-a-zero": good.replace(b"index 3\n", b"index 03\n"),
        "index-negative": good.replace(b"index 3\n", b"index -3\n"),
        "index-beyond-the-largest": good.replace(b"index 3\n", b"index 9007199254740991\n"),
        "index-huge": good.replace(b"index 3\n", b"index " + b"9" * 40 + b"\n"),
        "index-before-extra": _index_first(good),
        "extra-twice": good.replace(b"index 3\n", good.split(b"\n")[1] + b"\nindex 3\n"),
        "extra-that-is-no-base64": good.replace(good.split(b"\n")[1], b"extra " + b"*" * 40),
        "extra-with-loose-bits": good.replace(extra, _loosened(extra)),
        "node-of-31-bytes": good.replace(first, base64.b64encode(bytes(31))),
        "node-of-33-bytes": good.replace(first, base64.b64encode(bytes(33))),
        "node-in-url-alphabet": good.replace(first, b"_" * 42 + b"8="),
        "node-with-loose-bits": good.replace(first, first[:-2] + b"B="),
        "node-unpadded": good.replace(first, first[:-1]),
    }
    for name, data in changed.items():
        _proof(corpus, name, data, None)


def _loosened(extra: bytes) -> bytes:
    """The same bytes in base64 whose last character has a bit that says nothing."""
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    bare = extra.rstrip(b"=")
    assert bare != extra
    return bare[:-1] + alphabet[alphabet.index(bare[-1:]) + 1 :][:1] + extra[len(bare) :]


def _index_first(good: bytes) -> bytes:
    title, extra, index, rest = good.split(b"\n", 3)
    return b"\n".join([title, index, extra, rest])
