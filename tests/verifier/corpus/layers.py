"""Each layer of the table: one sound chain, and chains with one wrong member, hashed and signed all the same."""

from __future__ import annotations

from collections.abc import Callable

from tests.verifier.bodies import LAYERS
from tests.verifier.corpus.keylogs import rotated_log
from tests.verifier.corpus.material import Corpus, chain
from tests.verifier.ledger import Chain

ATTACK = "unknown field; missing field; wrong type"
WRONG: dict[str, tuple[bytes, bytes]] = {
    "state": (b'"chain":"decisions"', b'"chain":"Decisions"'),
    "specs": (b'"specId":"turn-router"', b'"specId":"turn_router"'),
    "keys": (b'"event":"created"', b'"event":"forgotten"'),
    "builds": (b'"gateVerdict":"passed"', b'"gateVerdict":"fine"'),
    "calls": (b'"state":"admitted"', b'"state":"guessed"'),
    "reviews": (b'"reviewId":"r_', b'"reviewId":"v_'),
    "regenerations": (b'"reason":"scheduled"', b'"reason":"bored"'),
    "turns": (b'"gateway":"cli"', b'"gateway":"fax"'),
    "components": (b'"kind":"skill"', b'"kind":"spell"'),
    "decisions": (b'"category":"router"', b'"category":"oracle"'),
}


def add_to(corpus: Corpus) -> None:
    for name, (right, wrong) in WRONG.items():
        policies = [corpus.policy(name)]
        sound = rotated_log() if name == "keys" else chain(name, 3)
        corpus.case(f"layers/{name}", "none: a sound chain", sound, policies=policies)
        spoils: dict[str, Callable[[bytes], bytes]] = {
            "wrong-word": lambda body, right=right, wrong=wrong: body.replace(right, wrong),  # type: ignore[misc]
            "unknown-member": lambda body: body.replace(b',"prevHash"', b',"mood":"fine","prevHash"'),
            "unknown-member-at-the-end": lambda body: body[:-1] + b',"mood":"fine"}',
            "tenant-of-no-name": lambda body: body[:-1] + b',"tenantId":""}',
        }
        for fault, spoil in spoils.items():
            spoilt = _second(name, spoil)
            corpus.case(f"layers/{name}-{fault}", ATTACK, spoilt, "MALFORMED", 2, "schema", policies=policies)
        corpus.given(f"layers/{name}-without-a-policy", ATTACK, [f"layers/{name}.jsonl"], "UNANCHORED", policies=[])


def _second(name: str, spoil: Callable[[bytes], bytes]) -> Chain:
    """Two entries, the second spoilt before it was hashed and signed."""
    if name == "keys":
        made: Chain = rotated_log()
        made.lines, made.head = made.lines[:1], _head(made.lines[0])
    else:
        made = chain(name, 1)
    return made.add(LAYERS[name][1](2), spoil=spoil)


def _head(line: bytes) -> str:
    return line.rsplit(b',"hash":"', 1)[1][:64].decode()
