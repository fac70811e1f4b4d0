"""Attacks on whole lines: edited, deleted, inserted, re-signed, replayed, cut, forked; clocks that go astray."""

from __future__ import annotations

import base64
from typing import Any

from tests.verifier.bodies import ULID, call, decision, iso, turn
from tests.verifier.corpus.material import (
    CHECKPOINT,
    ENTRY,
    NEXT,
    STRANGER,
    Corpus,
    chain,
    origin,
    trusting,
)
from tests.verifier.ledger import START_MS, Chain, public, trust

SIZE = 5
FAR_MS = 253_402_300_799_999
RANGES: list[tuple[str, dict[str, Any], tuple[Any, ...]]] = [
    ("range-ends", {"toId": 3}, ("TAMPERED", 4, "key")),
    ("range-begins", {"fromId": 2}, ("TAMPERED", 1, "key")),
    ("range-fits", {"fromId": 1, "toId": 5}, ("PASS",)),
]
TENANT: dict[str, Any] = {"tenantId": "acme"}


def add_to(corpus: Corpus) -> None:
    base = chain(size=SIZE)
    corpus.file("golden/decisions.jsonl", base)
    _edits(corpus, base)
    _futures(corpus)
    _strangers(corpus, base)
    _policies(corpus)
    _replays(corpus, base)
    _outside(corpus, base)
    _forks(corpus, base)
    _clocks(corpus)
    _twice(corpus)


def _edits(corpus: Corpus, base: Chain) -> None:
    attack = "edit a field"
    whole = base.content
    corpus.case("lines/edited", attack, whole.replace(b'"latencyMs":1203', b'"latencyMs":3'), "TAMPERED", 3, "hash")
    last = base.lines[-1]
    at = last.rindex(b',"hash":"') + len(b',"hash":"')
    corpus.case(
        "lines/last-hash-edited",
        attack,
        _joined([*base.lines[:-1], last[:at] + b"0" * 64 + last[at + 64 :]]),
        "TAMPERED",
        5,
        "hash",
    )
    long = chain(size=1)
    corpus.case(
        "lines/long-string-in-the-middle",
        "huge string",
        long.add(decision(2, productId="x" * 4097)).fill(3),
        "MALFORMED",
        2,
        "encoding",
    )
    unreal = chain(size=1)
    unreal.add(decision(2), at="2025-02-30T00:00:00.000Z").fill(3)
    corpus.case("lines/signing-time-of-no-calendar", attack, unreal, "MALFORMED", 2, "schema")
    rehashed = chain(size=2)
    good = Chain(base.origin, ENTRY, lines=list(rehashed.lines), head=rehashed.head).add(decision(3))
    rehashed.add(decision(3, latencyMs=3), signature=_signature(good.lines[2]), at=iso(START_MS + 2000))
    rehashed.fill(SIZE)
    corpus.case("lines/edited-and-rehashed", attack, rehashed, "TAMPERED", 3, "signature")
    resigned = [*base.lines]
    resigned[2] = chain(size=2).add(decision(3, latencyMs=3)).lines[2]
    corpus.case("lines/edited-and-signed-by-the-true-key", attack, _joined(resigned), "TAMPERED", 4, "link")
    other_time = base.content.replace(
        b'"signedAtIso":"' + iso(START_MS + 2000).encode(),
        b'"signedAtIso":"' + b"2030" + iso(START_MS + 2000)[4:].encode(),
    )
    corpus.case("lines/signing-time-changed", attack, other_time, "TAMPERED", 3, "signature")
    swapped = base.content.replace(_signature(base.lines[2]).encode(), _signature(base.lines[3]).encode())
    corpus.case("lines/signature-of-another-entry", attack, swapped, "TAMPERED", 3, "signature")
    inserted = [*base.lines[:2], chain(size=2).add(decision(3, latencyMs=3)).lines[2], *base.lines[2:]]
    corpus.case("lines/inserted", "insert in the middle", _joined(inserted), "FORKED", 3, "id")
    gap = chain(size=2)
    gap.add(decision(4)).add(decision(5))
    corpus.case("lines/id-skipped", "delete in the middle", gap, "TAMPERED", 4, "id")
    back = chain(size=3)
    back.add(decision(2))
    corpus.case("lines/id-goes-back", "insert in the middle", back, "TAMPERED", 2, "id")
    corpus.case("lines/first-id-is-2", "delete at the start", chain().add(decision(2)), "TAMPERED", 2, "id")


def _futures(corpus: Corpus) -> None:
    attack = "a line from the future"
    futures: list[tuple[str, dict[str, Any], str]] = [
        ("algorithm-from-the-future", {"algorithm": "ml-dsa-44"}, "algorithm"),
        ("form-from-the-future", {"canonicalForm": "v3"}, "form"),
    ]
    for name, changes, check in futures:
        made = chain(size=1)
        made.add(decision(2), **changes)
        corpus.case(f"lines/{name}", attack, made, "UNSUPPORTED", 2, check)


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


def _replays(corpus: Corpus, base: Chain) -> None:
    attack = "replay under another tenant or service"
    acme = chain(size=3, tenant="acme")
    acme_policy = corpus.policy(called="decisions-acme", tenant="acme")
    corpus.case("replay/tenant", attack, acme, policies=[acme_policy])
    corpus.given("replay/tenant-as-none", attack, ["replay/tenant.jsonl"], "TAMPERED", 1, "link")
    corpus.given(
        "replay/none-as-tenant", attack, ["golden/decisions.jsonl"], "TAMPERED", 1, "link", policies=[acme_policy]
    )
    corpus.file("replay/other-tenant.jsonl", chain(size=3, tenant="globex"))
    corpus.given(
        "replay/tenant-as-another", attack, ["replay/other-tenant.jsonl"], "TAMPERED", 1, "link", policies=[acme_policy]
    )
    inside = chain(size=2)
    inside.add(decision(3, **TENANT)).fill(4)
    corpus.case("replay/tenant-in-one-entry", attack, inside, "TAMPERED", 3, "tenant")
    outside = chain(size=2, tenant="acme")
    outside.add(decision(3))
    corpus.case("replay/tenant-left-out-of-one-entry", attack, outside, "TAMPERED", 3, "tenant", policies=[acme_policy])
    other = chain(size=2, tenant="acme")
    other.add(decision(3, tenantId="globex"))
    corpus.case("replay/another-tenant-in-one-entry", attack, other, "TAMPERED", 3, "tenant", policies=[acme_policy])
    spliced = [*base.lines[:2], *chain(size=4, tenant="acme").lines[2:]]
    corpus.case("replay/lines-of-a-tenant", attack, _joined(spliced), "TAMPERED", 3, "link")
    elsewhere = Chain(origin("decisions", substrate="other.example"), ENTRY).fill(3)
    corpus.case("replay/another-ledger", attack, elsewhere, "TAMPERED", 1, "link")
    turns = corpus.policy("turns")
    corpus.given(
        "replay/decisions-as-turns", attack, ["golden/decisions.jsonl"], "MALFORMED", 1, "schema", policies=[turns]
    )
    layered = chain()
    layered.add(decision(1), layer="L10")
    corpus.case("replay/signed-for-another-layer", attack, layered, "TAMPERED", 1, "signature")
    formed = chain()
    formed.add(decision(1), form="v1", canonicalForm="v2")
    corpus.case("replay/signed-for-another-form", attack, formed, "TAMPERED", 1, "signature")
    bare = chain()
    line = bare.add(decision(1)).lines[0]
    body = line[: line.rindex(b',"hash":"')] + b"}"
    corpus.case("replay/signed-without-a-type", attack, _with_signature(bare, body), "TAMPERED", 1, "signature")


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


def _clocks(corpus: Corpus) -> None:
    attack = "clock backwards or far ahead"

    def timed(*times_ms: int) -> Chain:
        made = chain()
        for number, ms in enumerate(times_ms, 1):
            made.add(decision(number, recordedAtMs=ms, recordedAtIso=iso(ms)), at=iso(ms))
        return made

    now = START_MS
    corpus.case("clocks/steps-back-by-a-millisecond", attack, timed(now, now + 1, now), "TAMPERED", 3, "time")
    corpus.case("clocks/steps-back-to-1970", attack, timed(now, 0), "TAMPERED", 2, "time")
    corpus.case("clocks/stands-still", attack, timed(now, now, now))
    corpus.case(
        "clocks/from-1970-to-9999",
        attack,
        timed(0, FAR_MS, FAR_MS),
        note="time never decreases; the order comes from the ids, and no clock is compared with another",
    )
    signed_later = chain()
    signed_later.add(decision(1), at="2001-01-01T00:00:00.000Z")
    corpus.case(
        "clocks/signing-time-of-its-own",
        attack,
        signed_later,
        note="signedAtIso is signed, and not compared with recordedAtIso",
    )


def _twice(corpus: Corpus) -> None:
    """Entries that claim to be the same call or turn: all in order one by one, so only --unique looks for them."""
    attack, asked = "one act recorded twice", ["--unique"]
    repeated = ("TAMPERED", 2, "unique")
    corpus.given("twice/calls-and-nobody-asked", attack, ["golden/decisions.jsonl"])
    corpus.given("twice/calls", attack, ["golden/decisions.jsonl"], *repeated, args=asked)
    apart = chain()
    for number in range(1, 4):
        apart.add(decision(number, callId=f"c_{ULID[:-1]}{number}"))
    corpus.case("twice/calls-of-their-own", attack, apart, args=asked)
    turns = [corpus.policy("turns")]
    corpus.case("twice/turns", attack, chain("turns", 2), *repeated, args=asked, policies=turns)
    late = chain("turns")
    late.add(turn(1, outcome="interrupted")).add(turn(2))
    corpus.case("twice/turn-reported-late", attack, late, args=asked, policies=turns)
    late.add(turn(3))
    corpus.case("twice/turn-reported-late-twice", attack, late, "TAMPERED", 3, "unique", args=asked, policies=turns)
    served = chain("calls")
    served.add(call(1)).add(call(2, state="completed"))
    calls = [corpus.policy("calls")]
    corpus.case("twice/call-admitted-and-completed", attack, served, args=asked, policies=calls)
    served.add(call(3, state="completed"))
    corpus.case("twice/call-completed-twice", attack, served, "TAMPERED", 3, "unique", args=asked, policies=calls)


def _signature(line: bytes) -> str:
    return line.split(b'"signature":"')[1].split(b'"')[0].decode()


def _with_signature(made: Chain, message: bytes) -> bytes:
    """The chain's one line with a signature over other bytes than PAE's."""
    line = made.lines[0]

    other = base64.b64encode(ENTRY.sign(message).signature)
    return line.replace(_signature(line).encode(), other) + b"\n"


def _joined(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)
