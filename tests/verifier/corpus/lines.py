"""Attacks on whole lines: edited, deleted, inserted, replayed, recorded twice; clocks that go astray."""

from __future__ import annotations

import base64
from typing import Any

from tests.verifier.bodies import ULID, call, decision, iso, spec, turn
from tests.verifier.corpus.material import ENTRY, Corpus, chain, joined, origin, signature_of
from tests.verifier.ledger import START_MS, Chain

SIZE = 5
FAR_MS = 253_402_300_799_999
TENANT: dict[str, Any] = {"tenantId": "acme"}


def add_to(corpus: Corpus) -> None:
    base = chain(size=SIZE)
    corpus.file("golden/decisions.jsonl", base)
    _edits(corpus, base)
    _futures(corpus)
    _replays(corpus, base)
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
        joined([*base.lines[:-1], last[:at] + b"0" * 64 + last[at + 64 :]]),
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
    foul = chain(size=1)
    foul.add(decision(2), spoil=lambda body: body.replace(b"prometheus-agent", b"\xc0\xaf")).fill(3)
    corpus.case("lines/no-text-in-the-middle", "bytes that are no text", foul, "MALFORMED", 2, "encoding")
    unreal = chain(size=1)
    unreal.add(decision(2), at="2025-02-30T00:00:00.000Z").fill(3)
    corpus.case("lines/signing-time-of-no-calendar", attack, unreal, "MALFORMED", 2, "schema")
    rehashed = chain(size=2)
    good = Chain(base.origin, ENTRY, lines=list(rehashed.lines), head=rehashed.head).add(decision(3))
    rehashed.add(decision(3, latencyMs=3), signature=signature_of(good.lines[2]), at=iso(START_MS + 2000))
    rehashed.fill(SIZE)
    corpus.case("lines/edited-and-rehashed", attack, rehashed, "TAMPERED", 3, "signature")
    resigned = [*base.lines]
    resigned[2] = chain(size=2).add(decision(3, latencyMs=3)).lines[2]
    corpus.case("lines/edited-and-signed-by-the-true-key", attack, joined(resigned), "TAMPERED", 4, "link")
    other_time = base.content.replace(
        b'"signedAtIso":"' + iso(START_MS + 2000).encode(),
        b'"signedAtIso":"' + b"2030" + iso(START_MS + 2000)[4:].encode(),
    )
    corpus.case("lines/signing-time-changed", attack, other_time, "TAMPERED", 3, "signature")
    swapped = base.content.replace(signature_of(base.lines[2]).encode(), signature_of(base.lines[3]).encode())
    corpus.case("lines/signature-of-another-entry", attack, swapped, "TAMPERED", 3, "signature")
    inserted = [*base.lines[:2], chain(size=2).add(decision(3, latencyMs=3)).lines[2], *base.lines[2:]]
    corpus.case("lines/inserted", "insert in the middle", joined(inserted), "FORKED", 3, "id")
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
    corpus.case("replay/lines-of-a-tenant", attack, joined(spliced), "TAMPERED", 3, "link")
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
    again = chain("specs")
    again.add(spec(1)).add(spec(2)).add(spec(3, specHash=spec(1)["specHash"]))
    of_specs = [corpus.policy("specs")]
    corpus.case("twice/spec-registered-twice", attack, again, "TAMPERED", 3, "unique", args=asked, policies=of_specs)


def _with_signature(made: Chain, message: bytes) -> bytes:
    """The chain's one line with a signature over other bytes than PAE's."""
    line = made.lines[0]

    other = base64.b64encode(ENTRY.sign(message).signature)
    return line.replace(signature_of(line).encode(), other) + b"\n"
