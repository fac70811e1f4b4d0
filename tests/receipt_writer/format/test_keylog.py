from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from receipt_writer.format.chain import Head, genesis_head, next_entry
from receipt_writer.format.entry import Entry, parse_line
from receipt_writer.format.errors import FormatError, LinkError, SchemaError
from receipt_writer.format.keylog import (
    EventKind,
    KeyEvent,
    check_possession,
    judge_key_log,
    key_log_ring,
    next_event,
    possession_message,
    read_event,
    ring_of,
    trusted_after,
)
from receipt_writer.format.policy import KeyUse, TrustedKey, is_trusted
from receipt_writer.format.signing import verify
from tests.receipt_writer.format.material import START_MS, SeedSigner
from verifier import verify as verifier

ORIGIN = "prometheus.example/keys/-"
KEYS = {name: SeedSigner(name.encode().ljust(32, b".")) for name in ("a", "b", "c", "d")}
A, B, C, D = KEYS.values()
POLICY = (TrustedKey(A.public_key, "entry"), TrustedKey(D.public_key, "checkpoint"))


def created(key: SeedSigner, use: KeyUse = "entry", **fields: Any) -> KeyEvent:
    return KeyEvent("created", use, key.public_key, **fields)


def rotated(old: SeedSigner, new: SeedSigner, use: KeyUse = "entry", **chains: int) -> KeyEvent:
    return KeyEvent("rotated", use, new.public_key, old.public_key, "yearly", tuple(chains.items()))


def revoked(key: SeedSigner, use: KeyUse = "entry", **chains: int) -> KeyEvent:
    return KeyEvent("revoked", use, key.public_key, None, "stolen", tuple(chains.items()))


def holders(event: KeyEvent) -> list[SeedSigner]:
    return [key for key in KEYS.values() if key.public_key in {event.public_key, event.previous_key}]


def log(*events: tuple[KeyEvent, SeedSigner], tenant: str | None = None) -> list[Entry]:
    """Return the key log of these events, each with the key that signs its line."""
    head, entries = genesis_head(ORIGIN.replace("-", tenant or "-")), []
    for event, signer in events:
        signing = [] if event.event == "revoked" else holders(event)
        entry, head = next_event(head, event, now_ms=START_MS, tenant_id=tenant, signer=signer, holders=signing)
        entries.append(entry)
    return entries


def judged(entries: Sequence[Entry], keys: Sequence[TrustedKey] = POLICY) -> list[KeyEvent]:
    return judge_key_log(genesis_head(ORIGIN), [entry.line for entry in entries], keys)


def forged(event: KeyEvent, signer: SeedSigner, **changes: Any) -> Entry:
    """Return the first entry of a log with members of its draft changed, or left out where the change is None."""
    (good,) = log((event, signer))
    draft = {name: value for name, value in (good.draft | changes).items() if value is not ...}
    return next_entry(genesis_head(ORIGIN), "L3", "v2", draft, now_ms=START_MS, tenant_id=None, signer=signer)[0]


@pytest.mark.parametrize("event", [created(A), rotated(A, B, turns=7, keys=2), revoked(B, decisions=3)])
def test_an_event_comes_back_as_it_was_recorded(event: KeyEvent) -> None:
    """RF-26."""
    (entry,) = log((event, A))
    assert read_event(parse_line("L3", entry.line)) == event
    check_possession(entry)
    assert judged([entry]) == [event]


@pytest.mark.parametrize(
    ("event", "signatures"),
    [
        (created(A), ["publicKeySignature"]),
        (rotated(A, B), ["previousKeySignature", "publicKeySignature"]),
        (revoked(A), []),
    ],
)
def test_the_keys_of_an_event_sign_it_without_their_signatures(event: KeyEvent, signatures: list[str]) -> None:
    """RF-27."""
    (entry,) = log((event, A))
    assert [name for name in entry.fields if name.endswith("Signature")] == signatures
    plain = {name: value for name, value in entry.fields.items() if name not in signatures}
    payload = json.dumps(plain, separators=(",", ":")).encode()
    kind = b"application/vnd.prometheus.key-event+json;layer=L3;form=v2"
    assert possession_message(entry.body) == b"DSSEv1 58 %b %d %b" % (kind, len(payload), payload)
    keys = {"previousKeySignature": event.previous_key, "publicKeySignature": event.public_key}
    for name in signatures:
        signature = base64.b64decode(str(entry.fields[name]))
        assert verify(keys[name] or b"", possession_message(entry.body), signature)


def test_a_reason_that_looks_like_a_signature_cuts_nothing() -> None:
    """RF-27."""
    reason = 'x","publicKeySignature":"AAAA","previousKeySignature":"'
    (entry,) = log((created(A, reason=reason), A))
    assert b"recordedAtMs" in possession_message(entry.body)
    assert possession_message(entry.body).endswith(b'"prevHash":"%b"}' % entry.prev_hash.encode())
    assert judged([entry])[0].reason == reason


def test_a_tenants_event_binds_the_tenant() -> None:
    """RF-27, RF-31."""
    (entry,) = log((created(A), A), tenant="acme")
    assert possession_message(entry.body).endswith(b'"tenantId":"acme"}')
    head = genesis_head("prometheus.example/keys/acme")
    assert judge_key_log(head, [entry.line], POLICY, tenant_id="acme") == [created(A)]
    with pytest.raises(LinkError):
        judge_key_log(head, [entry.line], POLICY)


@pytest.mark.parametrize(
    ("event", "changes", "member"),
    [
        (created(A), {"previousKey": base64.b64encode(B.public_key).decode()}, "previousKey"),
        (revoked(A), {"previousKey": base64.b64encode(B.public_key).decode()}, "previousKey"),
        (rotated(A, B), {"previousKey": None}, "previousKey"),
        (rotated(A, B), {"previousKey": base64.b64encode(B.public_key).decode()}, "previousKey"),
        (created(A), {"publicKeySignature": ...}, "publicKeySignature"),
        (rotated(A, B), {"publicKeySignature": ...}, "publicKeySignature"),
        (rotated(A, B), {"previousKeySignature": ...}, "previousKeySignature"),
        (created(A), {"previousKeySignature": "A" * 86 + "=="}, "previousKeySignature"),
        (revoked(A), {"publicKeySignature": "A" * 86 + "=="}, "publicKeySignature"),
        (revoked(A), {"previousKeySignature": "A" * 86 + "=="}, "previousKeySignature"),
    ],
)
def test_an_event_with_the_wrong_keys_or_signatures_is_malformed(
    event: KeyEvent, changes: dict[str, Any], member: str
) -> None:
    """RF-26."""
    entry = forged(event, A, **changes)
    for refuse in (lambda: read_event(entry), lambda: judged([entry])):
        with pytest.raises(SchemaError, match=rf"^{member} must be") as refusal:
            refuse()
        assert refusal.value.check == "schema"


def test_an_event_is_malformed_before_it_is_out_of_place() -> None:
    """RF-22, RF-26: judged alone first."""
    entry = forged(created(A), A, publicKeySignature=...)
    with pytest.raises(SchemaError):
        judge_key_log(Head(5, "0" * 64, 0), [entry.line], POLICY)


@pytest.mark.parametrize("name", ["previousKeySignature", "publicKeySignature"])
def test_a_possession_signature_that_does_not_hold_is_found(name: str) -> None:
    """RF-27."""
    stranger = base64.b64encode(C.sign(b"something else")).decode()
    entry = forged(rotated(A, B), A, **{name: stranger})
    with pytest.raises(LinkError, match=rf"Entry 1 does not carry the {name}") as refusal:
        judged([entry])
    assert refusal.value.check == "signature"


def test_possession_shown_for_another_event_is_worth_nothing() -> None:
    """RF-27."""
    (other,) = log((rotated(A, B, turns=3), A))
    entry = forged(rotated(A, B, turns=4), A, previousKeySignature=other.fields["previousKeySignature"])
    with pytest.raises(LinkError, match="previousKeySignature"):
        judged([entry])


def test_a_key_whose_holder_does_not_sign_is_not_brought_in() -> None:
    """RF-27."""
    with pytest.raises(SchemaError, match="previousKeySignature must be made by the key's holder"):
        next_event(genesis_head(ORIGIN), rotated(A, B), now_ms=1, tenant_id=None, signer=A, holders=[B])


def test_a_rotation_to_the_same_key_cannot_be_built() -> None:
    """RF-26."""
    with pytest.raises(SchemaError, match="another key than publicKey"):
        next_event(genesis_head(ORIGIN), rotated(A, A), now_ms=1, tenant_id=None, signer=A, holders=[A])


def test_the_log_leads_from_one_key_to_the_next() -> None:
    """RF-26, RF-29: the line of a rotation is the old key's, the one after it the new key's."""
    events = [created(A), created(D, "checkpoint"), rotated(A, B, keys=4, turns=10), rotated(B, C, keys=5, turns=20)]
    entries = log((events[0], A), (events[1], A), (events[2], A), (events[3], B))
    assert judged(entries) == events
    assert ring_of(POLICY, events, "turns") == (
        TrustedKey(A.public_key, "entry", 1, 9),
        TrustedKey(D.public_key, "checkpoint"),
        TrustedKey(B.public_key, "entry", 10, 19),
        TrustedKey(C.public_key, "entry", 20),
    )


@pytest.mark.parametrize("signer", [B, C, D])
def test_a_rotation_that_the_key_in_force_did_not_sign_is_no_evidence(signer: SeedSigner) -> None:
    """RF-29."""
    entries = log((created(A), A), (rotated(A, B, keys=3), signer))
    with pytest.raises(LinkError, match="Entry 2 is signed by a key that the policy does not trust") as refusal:
        judged(entries)
    assert refusal.value.check == "key"


def test_the_old_key_signs_nothing_more_in_the_key_log() -> None:
    """RF-29."""
    entries = log((created(A), A), (rotated(A, B, keys=3), A), (revoked(B, keys=4), A))
    with pytest.raises(LinkError, match="Entry 3") as refusal:
        judged(entries)
    assert refusal.value.check == "key"


def test_a_log_that_starts_with_a_stranger_is_no_evidence() -> None:
    """RF-29: a key that only the log itself introduces is no trusted key."""
    with pytest.raises(LinkError, match="Entry 1"):
        judged(log((created(B), B)))


def test_a_policys_ranges_are_not_about_the_key_log() -> None:
    """RF-29."""
    late = (TrustedKey(A.public_key, "entry", 500, 600), TrustedKey(D.public_key, "checkpoint", 3))
    assert judged(log((created(A), A)), late) == [created(A)]
    assert key_log_ring(late) == (TrustedKey(A.public_key, "entry"), TrustedKey(D.public_key, "checkpoint", 3))


def test_a_broken_line_of_the_log_is_no_evidence() -> None:
    """RF-29."""
    (entry,) = log((created(A), A))
    for line in (b"{}", entry.line[:-1], entry.line.replace(b'"created"', b'"revoked"')):
        with pytest.raises(FormatError):
            judge_key_log(genesis_head(ORIGIN), [line], POLICY)


def test_created_adds_no_trust() -> None:
    """RF-28."""
    assert ring_of(POLICY, [created(B), created(C, "checkpoint")], "turns") == POLICY


def test_a_rotation_hands_over_at_its_id() -> None:
    """RF-28."""
    ring = ring_of(POLICY, [rotated(A, B, turns=8)], "turns")
    assert [is_trusted(ring, A.public_key, "entry", number) for number in (1, 7, 8, 9)] == [True, True, False, False]
    assert [is_trusted(ring, B.public_key, "entry", number) for number in (7, 8, 10**9)] == [False, True, True]


@pytest.mark.parametrize(
    ("ends", "end"), [((None,), None), ((10,), 10), ((8,), 8), ((9, 11), 11), ((9, None), None), ((12, 7), 12)]
)
def test_the_new_key_ends_where_the_old_one_would_have_ended(ends: tuple[int | None, ...], end: int | None) -> None:
    """RF-28: who wrote an end meant it, and the holder of that key cannot rotate past it."""
    ring = ring_of([TrustedKey(A.public_key, "entry", 1, to_id) for to_id in ends], [rotated(A, B, turns=8)], "turns")
    assert [key.to_id for key in ring if key.public_key == B.public_key] == [end]


def test_in_a_chain_that_is_not_listed_an_event_holds_from_the_beginning() -> None:
    """RF-26, RF-28."""
    ring = ring_of(POLICY, [rotated(A, B, turns=8)], "specs")
    assert not any(key.public_key == A.public_key for key in ring)
    assert is_trusted(ring, B.public_key, "entry", 1)


def test_of_two_rows_of_one_chain_the_first_counts() -> None:
    """RF-26."""
    assert KeyEvent("revoked", "entry", A.public_key, chains=(("turns", 5), ("turns", 9))).at("turns") == 5


def test_a_key_that_was_replaced_hands_nothing_over_any_more() -> None:
    """RF-28: an untrusted previousKey is passed over."""
    once = ring_of(POLICY, [rotated(A, B, turns=8)], "turns")
    for again in (rotated(A, C, turns=8), rotated(A, C, turns=12), rotated(C, D, turns=9)):
        assert trusted_after(once, again, "turns") == once


def test_a_key_of_the_other_use_hands_nothing_over() -> None:
    """RF-28."""
    assert ring_of(POLICY, [rotated(A, B, "checkpoint", turns=2)], "turns") == POLICY
    assert ring_of(POLICY, [revoked(A, "checkpoint", turns=2)], "turns") == POLICY


def test_the_order_of_events_matters() -> None:
    """RF-28."""
    first, second = rotated(A, B, turns=5), rotated(B, C, turns=9)
    assert is_trusted(ring_of(POLICY, [first, second], "turns"), C.public_key, "entry", 9)
    assert not is_trusted(ring_of(POLICY, [second, first], "turns"), C.public_key, "entry", 9)


def test_two_rotations_at_one_id_leave_the_key_in_the_middle_nothing() -> None:
    """RF-28."""
    ring = ring_of(POLICY, [rotated(A, B, turns=5), rotated(B, C, turns=5)], "turns")
    assert not any(key.public_key == B.public_key for key in ring)
    assert is_trusted(ring, C.public_key, "entry", 5)


def test_a_revocation_reaches_back_but_gives_nothing_back() -> None:
    """RF-28."""
    ring = ring_of(POLICY, [rotated(A, B, turns=8), revoked(A, turns=4), revoked(A, turns=100)], "turns")
    assert [is_trusted(ring, A.public_key, "entry", number) for number in (3, 4, 8)] == [True, False, False]


IDS = st.integers(1, 12)
CHAINS = st.lists(st.tuples(st.sampled_from(["turns", "keys"]), IDS), max_size=2).map(tuple)
NAMED = st.sampled_from([key.public_key for key in KEYS.values()])
USES = st.sampled_from(get_args(KeyUse))
EVENTS = st.builds(KeyEvent, st.sampled_from(get_args(EventKind)), USES, NAMED, NAMED, st.just(""), CHAINS)
RINGS = st.lists(
    st.builds(lambda key, use, start, length: TrustedKey(key, use, start, length and start + length - 1),
              NAMED, USES, IDS, st.none() | IDS),
    max_size=4,
).map(tuple)  # fmt: skip


def ids_of(ring: Sequence[TrustedKey], public_key: bytes, use: KeyUse) -> set[int]:
    return {number for number in range(1, 40) if is_trusted(ring, public_key, use, number)}


@given(RINGS, st.lists(EVENTS, max_size=6))
def test_no_event_makes_a_key_that_it_does_not_bring_in_wider(
    ring: tuple[TrustedKey, ...], events: list[KeyEvent]
) -> None:
    """RF-28."""
    for event in events:
        after = trusted_after(ring, event, "turns")
        for key in KEYS.values():
            for use in get_args(KeyUse):
                gained = ids_of(after, key.public_key, use) - ids_of(ring, key.public_key, use)
                brought_in = event.event == "rotated" and (key.public_key, use) == (event.public_key, event.use)
                assert not gained or (brought_in and min(gained) >= event.at("turns"))
        ring = after


@given(RINGS, st.lists(EVENTS, max_size=6))
def test_trust_is_handed_over_and_never_made(ring: tuple[TrustedKey, ...], events: list[KeyEvent]) -> None:
    """RF-28: without a rotation from a key trusted at that id, the keys in a ring stay the same or become fewer."""
    for event in events:
        after = trusted_after(ring, event, "turns")
        if {key.public_key for key in after} - {key.public_key for key in ring}:
            assert event.previous_key is not None
            assert is_trusted(ring, event.previous_key, event.use, event.at("turns"))
            if event.previous_key != event.public_key:
                assert not is_trusted(after, event.previous_key, event.use, event.at("turns"))
        ring = after


@given(RINGS, EVENTS)
def test_an_event_that_comes_twice_does_no_more_than_once(ring: tuple[TrustedKey, ...], event: KeyEvent) -> None:
    """RF-28."""
    if event.previous_key != event.public_key:
        once = trusted_after(ring, event, "turns")
        assert trusted_after(once, event, "turns") == once


@given(RINGS, st.lists(EVENTS, max_size=6))
def test_the_verifier_follows_the_same_rules(ring: tuple[TrustedKey, ...], events: list[KeyEvent]) -> None:
    """RF-28: two implementations of the ranges, event by event."""
    theirs = verifier.Ring(
        verifier.TrustedKey(base64.b64encode(key.public_key), key.use, key.from_id, key.to_id) for key in ring
    )
    for event in events:
        one = event if event.event == "rotated" else replace(event, previous_key=None)
        if one.previous_key != one.public_key:
            ring = trusted_after(ring, one, "turns")
            verifier.ring_after(theirs, one.draft(), "turns")
    ours = [(base64.b64encode(key.public_key), key.use, key.from_id, key.to_id) for key in ring]
    assert ours == [tuple(key) for key in theirs]
