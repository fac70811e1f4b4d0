from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from receipt_writer.format.canonical import encode
from receipt_writer.format.chain import Head, check_link, genesis_head, head_after, next_entry
from receipt_writer.format.digest import genesis_hash, sha256_hex
from receipt_writer.format.entry import Entry, build_line, parse_line
from receipt_writer.format.errors import ForkError, FormatError, LinkError, OriginError, SchemaError
from receipt_writer.format.instant import iso_from_ms
from receipt_writer.format.policy import TrustedKey
from tests.receipt_writer.format.material import (
    ORIGIN,
    START_MS,
    SeedSigner,
    decision_chain,
    decision_draft,
    policy_for,
    turn_draft,
    walk,
)

SIGNER = SeedSigner(b"s" * 32)
STRANGER = SeedSigner(b"t" * 32)
KEYS = policy_for(SIGNER).keys
CHAIN = decision_chain([decision_draft(latencyMs=n) for n in range(3)], SIGNER)
HEAD = head_after(CHAIN[1])


def entry_after(head: Head, **changes: object) -> Entry:
    """Return a signed entry that follows `head`, with parts of its place changed."""
    place: dict[str, object] = {
        "id": head.size + 1,
        "recorded_at_ms": head.recorded_at_ms,
        "prev_hash": head.hash,
        "tenant_id": None,
        "signer": SIGNER,
    } | changes
    signed_at = iso_from_ms(START_MS)
    return build_line("L12", "v2", decision_draft(), signed_at_iso=signed_at, **place)  # type: ignore[arg-type]


def with_line_changed(entry: Entry, old: bytes, new: bytes) -> Entry:
    assert entry.line.count(old) == 1
    return parse_line("L12", entry.line.replace(old, new))


def test_an_empty_chain_ends_at_the_genesis_hash_of_its_origin() -> None:
    """RF-10."""
    assert genesis_head(ORIGIN) == Head(0, genesis_hash(ORIGIN), 0)
    with pytest.raises(OriginError):
        genesis_head("nowhere")


def test_ids_count_from_1_and_each_entry_names_the_one_before() -> None:
    """RF-10."""
    assert [entry.id for entry in CHAIN] == [1, 2, 3]
    assert [entry.prev_hash for entry in CHAIN] == [genesis_hash(ORIGIN), CHAIN[0].hash, CHAIN[1].hash]


def test_the_head_after_an_append_is_the_head_that_checking_finds() -> None:
    """RF-20."""
    head = genesis_head(ORIGIN)
    for entry in CHAIN:
        head = check_link(head, entry, keys=KEYS)
        assert head == head_after(entry)


def test_a_clock_that_steps_back_holds_the_time() -> None:
    """RF-9."""
    first, head = next_entry(HEAD, "L12", "v2", decision_draft(), now_ms=START_MS + 9, tenant_id=None, signer=SIGNER)
    second, _ = next_entry(head, "L12", "v2", decision_draft(), now_ms=START_MS - 9, tenant_id=None, signer=SIGNER)
    assert first.recorded_at_ms == second.recorded_at_ms == START_MS + 9
    assert second.attestation.signed_at_iso == second.fields["recordedAtIso"] == iso_from_ms(START_MS + 9)
    check_link(head, second, keys=KEYS)


def test_a_refused_draft_leaves_the_head_usable() -> None:
    with pytest.raises(SchemaError):
        next_entry(HEAD, "L12", "v2", {}, now_ms=START_MS, tenant_id=None, signer=SIGNER)
    entry, _ = next_entry(HEAD, "L12", "v2", decision_draft(), now_ms=START_MS, tenant_id=None, signer=SIGNER)
    assert entry.id == 3


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"id": 4}, "id"),
        ({"id": 1}, "id"),
        ({"prev_hash": "0" * 64}, "link"),
        ({"tenant_id": "acme"}, "tenant"),
        ({"recorded_at_ms": HEAD.recorded_at_ms - 1}, "time"),
        ({"signer": STRANGER}, "key"),
    ],
)
def test_an_entry_out_of_place_fails_the_check_of_that_name(changes: dict[str, object], check: str) -> None:
    """RF-20."""
    entry = entry_after(HEAD, **changes)
    with pytest.raises(LinkError, match=f"Entry {entry.id} ") as caught:
        check_link(HEAD, entry, keys=KEYS)
    assert (caught.value.check, caught.value.id) == (check, entry.id)
    assert not isinstance(caught.value, ForkError)


def test_an_entry_whose_body_or_hash_was_changed_fails_the_hash_check() -> None:
    """RF-7, RF-20."""
    body = with_line_changed(CHAIN[2], b'"latencyMs":2', b'"latencyMs":3')
    hashed = with_line_changed(CHAIN[2], CHAIN[2].hash.encode(), b"0" * 64)
    for entry in (body, hashed):
        with pytest.raises(LinkError) as caught:
            check_link(HEAD, entry, keys=KEYS)
        assert caught.value.check == "hash"


def test_an_entry_changed_with_its_hash_fails_the_signature_check() -> None:
    """RF-12, RF-20."""
    changed = with_line_changed(CHAIN[2], b'"latencyMs":2', b'"latencyMs":3')
    entry = with_line_changed(changed, changed.hash.encode(), sha256_hex(changed.body).encode())
    with pytest.raises(LinkError) as caught:
        check_link(HEAD, entry, keys=KEYS)
    assert caught.value.check == "signature"


def test_a_signature_binds_the_time_of_signing_the_form_and_the_layer() -> None:
    """RF-12."""
    later = with_line_changed(CHAIN[2], b'"signedAtIso":"2025-12-01T16:38:45', b'"signedAtIso":"2025-12-01T16:38:46')
    with pytest.raises(LinkError) as caught:
        check_link(HEAD, later, keys=KEYS)
    assert caught.value.check == "signature"
    turn, _ = next_entry(HEAD, "L10", "v2", turn_draft(), now_ms=START_MS + 9, tenant_id=None, signer=SIGNER)
    check_link(HEAD, turn, keys=KEYS)
    for swap in ({"layer": "L12"}, {"form": "v1"}):
        with pytest.raises(LinkError) as caught:
            check_link(HEAD, msgspec.structs.replace(turn, **swap), keys=KEYS)
        assert caught.value.check == "signature"


def test_the_first_failing_check_is_the_one_reported() -> None:
    """RF-20: each entry below is also wrong in everything that is checked later."""
    wrong: dict[str, object] = {
        "id": 9,
        "prev_hash": "0" * 64,
        "tenant_id": "acme",
        "recorded_at_ms": HEAD.recorded_at_ms - 1,
        "signer": STRANGER,
    }
    order = ["id", "link", "tenant", "time", "key"]
    for check, name in zip(order, list(wrong), strict=True):
        with pytest.raises(LinkError) as caught:
            check_link(HEAD, entry_after(HEAD, **wrong), keys=KEYS)
        assert caught.value.check == check
        del wrong[name]


def test_the_hash_is_checked_after_the_tenant_and_before_the_time() -> None:
    early = entry_after(HEAD, recorded_at_ms=HEAD.recorded_at_ms - 1)
    entry = with_line_changed(early, early.hash.encode(), b"0" * 64)
    with pytest.raises(LinkError) as caught:
        check_link(HEAD, entry, tenant_id=None, keys=KEYS)
    assert caught.value.check == "hash"
    with pytest.raises(LinkError) as caught:
        check_link(HEAD, entry, tenant_id="acme", keys=KEYS)
    assert caught.value.check == "tenant"


def test_a_second_entry_under_the_heads_id_is_a_fork() -> None:
    """RF-20."""
    for entry in (CHAIN[1], entry_after(HEAD, id=2)):
        with pytest.raises(ForkError, match="Entry 2 stands twice") as caught:
            check_link(HEAD, entry, keys=KEYS)
        assert (caught.value.check, caught.value.id) == ("id", 2)


def test_a_key_is_trusted_for_its_use_and_its_range_only() -> None:
    """RF-18, RF-19."""
    entry = CHAIN[2]
    for keys in (
        (TrustedKey(SIGNER.public_key, "checkpoint"),),
        (TrustedKey(SIGNER.public_key, "entry", 1, 2),),
        (TrustedKey(SIGNER.public_key, "entry", 4),),
        (),
    ):
        with pytest.raises(LinkError) as caught:
            check_link(HEAD, entry, keys=keys)
        assert caught.value.check == "key"
    check_link(HEAD, entry, keys=(TrustedKey(SIGNER.public_key, "entry", 3, 3),))


def test_without_keys_a_chain_is_only_held_against_itself() -> None:
    """RF-19."""
    data = b"".join(entry.line + b"\n" for entry in decision_chain([decision_draft()], STRANGER))
    assert walk(data, ORIGIN, None).size == 1
    with pytest.raises(LinkError):
        walk(data, ORIGIN, KEYS)


def test_a_chain_of_another_origin_or_tenant_does_not_link() -> None:
    """RF-10."""
    data = b"".join(entry.line + b"\n" for entry in CHAIN)
    assert walk(data, ORIGIN, KEYS).size == 3
    for origin, check in (("other.example/decisions/-", "link"), ("prometheus.example/decisions/acme", "link")):
        with pytest.raises(LinkError) as caught:
            walk(data, origin, KEYS)
        assert caught.value.check == check


FILE = b"".join(entry.line + b"\n" for entry in CHAIN)


def test_no_byte_of_a_chain_can_change_unseen() -> None:
    """RF-2, RF-7, RF-20 together: every byte of three entries, line breaks included, each flipped in its own way."""
    assert walk(FILE, ORIGIN, KEYS).hash == CHAIN[-1].hash
    for index in range(len(FILE)):
        changed = bytearray(FILE)
        changed[index] ^= 1 + index % 255
        with pytest.raises((FormatError, EOFError)):
            walk(bytes(changed), ORIGIN, KEYS)


@given(st.integers(0, len(FILE) - 1), st.integers(1, 255))
def test_no_flip_of_any_byte_goes_unseen(index: int, mask: int) -> None:
    changed = bytearray(FILE)
    changed[index] ^= mask
    with pytest.raises((FormatError, EOFError)):
        walk(bytes(changed), ORIGIN, KEYS)


def test_no_lost_or_added_byte_of_a_line_goes_unseen() -> None:
    line = CHAIN[0].line
    shorter = [line[:index] + line[index + 1 :] for index in range(len(line))]
    longer = [line[:index] + b" " + line[index:] for index in range(len(line) + 1)]
    for changed in shorter + longer:
        with pytest.raises(FormatError):
            walk(changed + b"\n", ORIGIN, KEYS)


def test_a_chain_may_hold_several_forms_of_its_layer() -> None:
    """RF-25."""
    old = {k: v for k, v in decision_draft().items() if k not in {"callId", "exitState", "commitment"}}
    old["modelIdentity"] = {"provider": "mock", "model": "m", "version": "1"}
    first, head = next_entry(genesis_head(ORIGIN), "L12", "v1", old, now_ms=START_MS, tenant_id=None, signer=SIGNER)
    second, _ = next_entry(head, "L12", "v2", decision_draft(), now_ms=START_MS, tenant_id=None, signer=SIGNER)
    data = b"".join(entry.line + b"\n" for entry in (first, second))
    assert walk(data, ORIGIN, KEYS).size == 2
    assert encode(dict(first.fields)) == first.body
