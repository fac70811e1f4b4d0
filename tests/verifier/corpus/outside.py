"""What only evidence from outside can show: strangers' keys, policies, checkpoints, cut tails, forks."""

from __future__ import annotations

from typing import Any

from tests.verifier.bodies import decision, iso
from tests.verifier.corpus.lines import SIZE
from tests.verifier.corpus.material import CHECKPOINT, ENTRY, NEXT, STRANGER, Corpus, chain, origin, trusting
from tests.verifier.ledger import START_MS, Chain, public, trust

RANGES: list[tuple[str, dict[str, Any], tuple[Any, ...]]] = [
    ("range-ends", {"toId": 3}, ("TAMPERED", 4, "key")),
    ("range-begins", {"fromId": 2}, ("TAMPERED", 1, "key")),
    ("range-fits", {"fromId": 1, "toId": 5}, ("PASS",)),
]


def add_to(corpus: Corpus) -> None:
    base = chain(size=SIZE)
    _strangers(corpus, base)
    _policies(corpus)
    _outside(corpus, base)
    _forks(corpus, base)


def _strangers(corpus: Corpus, base: Chain) -> None:
    attack = "re-sign everything with another key"
    stranger = chain(size=SIZE, key=STRANGER)
    corpus.case("trust/all-by-a-stranger", attack, stranger, "TAMPERED", 1, "key")
    corpus.given(
        "trust/all-by-a-stranger-without-a-policy", attack, ["trust/all-by-a-stranger.jsonl"], "UNANCHORED", policies=[]
    )
    corpus.given("trust/true-chain-without-a-policy", attack, ["golden/decisions.jsonl"], "UNANCHORED", policies=[])
    corpus.given(
        "trust/true-chain-under-a-trusted-key",
        attack,
        ["golden/decisions.jsonl"],
        policies=[],
        args=["--trusted-key", public(ENTRY)],
    )
    corpus.given(
        "trust/true-chain-under-another-trusted-key",
        attack,
        ["golden/decisions.jsonl"],
        "TAMPERED",
        1,
        "key",
        policies=[],
        args=["--trusted-key", public(STRANGER)],
    )
    half = Chain(base.origin, STRANGER, lines=base.lines[:3], head=chain(size=3).head).fill(SIZE)
    corpus.case("trust/half-by-a-stranger", attack, half, "TAMPERED", 4, "key")
    claimed = Chain(base.origin, STRANGER)
    for number in range(1, 4):
        claimed.add(decision(number), publicKey=public(ENTRY))
    corpus.case("trust/true-key-claimed", attack, claimed, "TAMPERED", 1, "signature")
    by_checkpoint_key = chain(size=3, key=CHECKPOINT)
    corpus.case(
        "trust/signed-by-the-checkpoint-key",
        "use a key for what it is not for",
        by_checkpoint_key,
        "TAMPERED",
        1,
        "key",
    )
    for name, ids, found in RANGES:
        policy = corpus.policy("decisions", trust(ENTRY, **ids), called=name)
        corpus.given(
            f"trust/{name}", "use a key beyond its range", ["golden/decisions.jsonl"], *found, policies=[policy]
        )
    mixed = Chain(base.origin, NEXT, lines=base.lines[:3], head=chain(size=3).head).fill(SIZE)
    two = corpus.policy("decisions", trust(ENTRY, toId=3), trust(NEXT, fromId=4), called="two-keys")
    late = corpus.policy("decisions", trust(ENTRY, toId=4), trust(NEXT, fromId=5), called="two-keys-late")
    corpus.case("trust/two-keys", "use a key beyond its range", mixed, policies=[two])
    corpus.given(
        "trust/two-keys-too-early",
        "use a key beyond its range",
        ["trust/two-keys.jsonl"],
        "TAMPERED",
        4,
        "key",
        policies=[late],
    )


def _policies(corpus: Corpus) -> None:
    """What is not exactly a policy is no root of trust."""
    good = trusting()
    for name, data in {
        "says-a-member-twice": good.replace(b'"fromId": 1,', b'"fromId": 2,\n   "fromId": 1,', 1),
        "says-more-than-is-known": good.replace(b'"fromId": 1,', b'"fromId": 1,\n   "comment": "x",', 1),
        "asks-for-witnesses": good.replace(b'"quorum": 0', b'"quorum": 1'),
        "has-a-use-of-its-own": good.replace(b'"entry"', b'"any"'),
        "counts-in-fractions": good.replace(b'"fromId": 1,', b'"fromId": 1.0,', 1),
        "has-a-key-in-another-alphabet": good.replace(public(ENTRY).encode(), b"_" * 43 + b"="),
        "is-cut": good[:-9],
    }.items():
        assert data != good
        file = corpus.file(f"policies/that-{name}.json", data)
        corpus.given(
            f"trust/policy-that-{name}",
            "a policy that could be misread",
            ["golden/decisions.jsonl"],
            None,
            policies=[file],
        )


def _outside(corpus: Corpus, base: Chain) -> None:
    attack = "truncate the tail; roll back to an older file"
    five, three = corpus.note("five", base, 5), corpus.note("three", base, 3)
    short = corpus.file("outside/three.jsonl", chain(size=3))
    golden = ["golden/decisions.jsonl"]
    corpus.given("outside/whole", attack, golden, checkpoints=[five, three])
    corpus.given("outside/cut", attack, [short], "TRUNCATED", None, "checkpoint", checkpoints=[five])
    corpus.given(
        "outside/cut-and-nothing-to-hold-it-against",
        attack,
        [short],
        note="without a checkpoint a cut tail cannot be seen; the report says so",
    )
    corpus.given(
        "outside/cut-below-min-entries", attack, [short], "TRUNCATED", None, "min-entries", args=["--min-entries", "5"]
    )
    corpus.given("outside/min-entries-met", attack, golden, args=["--min-entries", "5"])
    corpus.given("outside/old-checkpoint-of-a-longer-chain", attack, golden, checkpoints=[three])
    other = chain(size=4)
    other.add(decision(5, latencyMs=1))
    corpus.case("outside/last-entry-rewritten", attack, other, "FORKED", None, "checkpoint", checkpoints=[five])
    corpus.given("outside/older-root-still-met", attack, ["outside/last-entry-rewritten.jsonl"], checkpoints=[three])
    empty = corpus.file("outside/empty.jsonl", b"")
    corpus.given("outside/cut-to-nothing", attack, [empty], "TRUNCATED", None, "checkpoint", checkpoints=[three])
    corpus.given("outside/nothing", attack, [empty], checkpoints=[corpus.note("none", base, 0)])
    for name, more in (
        ("by-the-entry-key", {"key": ENTRY}),
        ("by-a-stranger", {"key": STRANGER}),
        ("for-another-chain", {"origin": origin("turns")}),
        ("for-another-ledger", {"origin": origin("decisions", substrate="other.example")}),
    ):
        corpus.given(
            f"outside/checkpoint-{name}",
            "a checkpoint that is no evidence",
            golden,
            None,
            checkpoints=[corpus.note(name, base, 5, **more)],
        )
    spoilt = base.checkpoint(5, key=CHECKPOINT) + base.checkpoint(4, key=CHECKPOINT).split(b"\n\n")[1]
    two = corpus.file("checkpoints/right-and-wrong.checkpoint", spoilt)
    name = "outside/checkpoint-with-a-right-and-a-wrong-signature"
    corpus.given(name, "a checkpoint that is no evidence", golden, None, checkpoints=[two])
    for count, found in ((16, ("PASS",)), (17, (None,))):
        many = base.checkpoint(5, key=CHECKPOINT).split(b"\n\n")
        name = f"checkpoint-with-{count}-signatures-by-one-key"
        file = corpus.file(f"checkpoints/{count}-by-one-key.checkpoint", many[0] + b"\n\n" + many[1] * count)
        corpus.given(f"outside/{name}", "a checkpoint that takes long to check", golden, *found, checkpoints=[file])
    strange = base.checkpoint(5, key=CHECKPOINT) + base.checkpoint(5, key=STRANGER).split(b"\n\n")[1]
    seen = corpus.file("checkpoints/and-a-stranger.checkpoint", strange)
    name = "outside/checkpoint-with-a-strangers-signature-too"
    corpus.given(name, "none: a witness signed too", golden, checkpoints=[seen])
    corpus.given(
        "outside/checkpoint-of-another-root",
        attack,
        golden,
        "FORKED",
        None,
        "checkpoint",
        checkpoints=[corpus.note("another-root", base, 5, root=bytes(32))],
    )
    stale = ["--max-age", "1s"]
    corpus.given(
        "outside/stale",
        "show an old chain as a new one",
        golden,
        "STALE",
        None,
        "max-age",
        checkpoints=[five],
        args=stale,
    )
    corpus.given(
        "outside/stale-without-a-checkpoint",
        "show an old chain as a new one",
        golden,
        "STALE",
        None,
        "max-age",
        args=["--max-age", "999999d"],
    )
    torn = base.content[:-1]
    corpus.case("outside/no-last-line-break", "a write that never finished", torn, "TORN_TAIL", None, "framing")
    corpus.given(
        "outside/torn-below-its-checkpoint",
        attack,
        ["outside/no-last-line-break.jsonl"],
        "TRUNCATED",
        None,
        "checkpoint",
        checkpoints=[five],
    )
    corpus.case("outside/half-a-line", "a write that never finished", base.content[:-400], "TORN_TAIL", None, "framing")
    corpus.case(
        "outside/zeros-at-the-end",
        "a write that never finished",
        base.content + bytes(512),
        "TORN_TAIL",
        None,
        "framing",
    )


def _forks(corpus: Corpus, base: Chain) -> None:
    attack = "fork in two copies"
    golden = "golden/decisions.jsonl"
    corpus.file("forks/short.jsonl", chain(size=2))
    corpus.given("forks/a-shorter-copy-agrees", attack, [golden, "forks/short.jsonl"])
    for number in (1, 3, 5):
        other = chain(size=number - 1)
        other.add(decision(number, latencyMs=1)).fill(SIZE)
        name = corpus.file(f"forks/at-{number}.jsonl", other)
        corpus.given(f"forks/at-{number}", attack, [golden, name], "FORKED", number, "copies")
        corpus.given(f"forks/at-{number}-told-the-other-way", attack, [name, golden], "FORKED", number, "copies")
    again = chain(size=3)
    again.add(decision(4), at=iso(START_MS + 9000)).fill(SIZE)
    corpus.given(
        "forks/signed-twice", attack, [golden, corpus.file("forks/signed-twice.jsonl", again)], "FORKED", 4, "copies"
    )
    bad = corpus.file("forks/bad.jsonl", base.content.replace(b'"latencyMs":1202', b'"latencyMs":2'))
    corpus.given("forks/a-bad-copy", attack, [golden, bad], "TAMPERED", 2, "hash")
