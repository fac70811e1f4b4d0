from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from receipt_writer.format.errors import UnsafeKeyError, UnsafeSignatureError
from receipt_writer.format.signing import fingerprint, pae, payload_type, precheck_key, precheck_signature, verify
from tests.receipt_writer.format import edwards
from tests.receipt_writer.format.material import SeedSigner, shared_data, vector_json

SIGNER = SeedSigner(b"s" * 32)
MESSAGE = b"a message"
SIGNATURE = SIGNER.sign(MESSAGE)
EDGES = vector_json("ed25519-edges.json")


def test_the_pae_is_that_of_the_vectors() -> None:
    """RF-12."""
    known = vector_json("basics.json")["pae"]
    assert payload_type("L12", "v2", "2026-11-30T00:00:00.000Z") == known["type"]
    assert pae(known["type"], known["payload"].encode()).hex() == known["hex"]


@given(st.text(), st.binary(), st.text(), st.binary())
def test_two_pairs_of_type_and_payload_never_share_signed_bytes(a: str, x: bytes, b: str, y: bytes) -> None:
    assert (pae(a, x) == pae(b, y)) == ((a, x) == (b, y))


def test_a_signature_holds_for_its_key_and_message_only() -> None:
    """RF-14."""
    assert verify(SIGNER.public_key, MESSAGE, SIGNATURE)
    assert not verify(SIGNER.public_key, MESSAGE + b".", SIGNATURE)
    assert not verify(SeedSigner(b"t" * 32).public_key, MESSAGE, SIGNATURE)


def test_the_low_order_table_is_what_the_curve_gives() -> None:
    assert [bytes.fromhex(point) for point in EDGES["lowOrderPoints"]] == edwards.low_order_encodings()
    assert len(EDGES["lowOrderPoints"]) == 14


@pytest.mark.parametrize("point", EDGES["lowOrderPoints"] + EDGES["nonCanonicalPoints"])
def test_edge_points_are_refused_as_key_and_in_a_signature(point: str) -> None:
    """RF-13."""
    encoded = bytes.fromhex(point)
    with pytest.raises(UnsafeKeyError, match=r"low order|not a canonical"):
        precheck_key(encoded)
    with pytest.raises(UnsafeSignatureError, match=r"low order|not a canonical"):
        precheck_signature(encoded + SIGNATURE[32:])


@pytest.mark.parametrize("scalar", EDGES["scalarsBelowTheOrder"])
def test_scalars_below_the_group_order_pass_the_check(scalar: str) -> None:
    precheck_signature(SIGNATURE[:32] + bytes.fromhex(scalar))


@pytest.mark.parametrize("scalar", EDGES["scalarsNotBelowTheOrder"])
def test_scalars_not_below_the_group_order_are_refused(scalar: str) -> None:
    """RF-13: S + L would be a second signature of the same message."""
    with pytest.raises(UnsafeSignatureError, match="group order"):
        precheck_signature(SIGNATURE[:32] + bytes.fromhex(scalar))


@pytest.mark.parametrize("size", [0, 31, 33])
def test_keys_and_signatures_of_another_length_are_refused(size: int) -> None:
    with pytest.raises(UnsafeKeyError, match="32 bytes"):
        precheck_key(b"k" * size)
    with pytest.raises(UnsafeSignatureError, match="64 bytes"):
        precheck_signature(b"k" * 2 * size)
    assert not verify(b"k" * size, MESSAGE, SIGNATURE)
    assert not verify(SIGNER.public_key, MESSAGE, SIGNATURE[:size])


@pytest.mark.parametrize(
    "public_key", [SIGNER.public_key, (2).to_bytes(32, "little"), (edwards.P - 2).to_bytes(32, "little")]
)
def test_ordinary_keys_pass_the_check(public_key: bytes) -> None:
    precheck_key(public_key)


def test_the_identity_as_key_verifies_nothing() -> None:
    """RF-13: without the checks some libraries accept this signature for every message."""
    identity = (1).to_bytes(32, "little")
    assert not verify(identity, MESSAGE, identity + bytes(32))


def test_a_signature_moved_by_the_group_order_is_refused() -> None:
    moved = int.from_bytes(SIGNATURE[32:], "little") + edwards.ORDER
    assert not verify(SIGNER.public_key, MESSAGE, SIGNATURE[:32] + moved.to_bytes(32, "little"))


@given(st.integers(0, 63), st.integers(1, 255))
def test_no_changed_byte_of_a_signature_is_accepted(index: int, mask: int) -> None:
    changed = bytearray(SIGNATURE)
    changed[index] ^= mask
    assert not verify(SIGNER.public_key, MESSAGE, bytes(changed))


def test_the_914_cctv_cases_are_judged_as_strict_and_without_cofactor() -> None:
    """RF-13, RF-14: what is refused carries one of these flags, what is accepted none."""
    refused = {"low_order_A", "low_order_R", "non_canonical_A", "non_canonical_R", "low_order_residue"}
    cases = json.loads(shared_data("cctv", "ed25519vectors.json").read_bytes())
    assert len(cases) == 914
    for case in cases:
        holds = verify(bytes.fromhex(case["key"]), case["msg"].encode(), bytes.fromhex(case["sig"]))
        assert holds == refused.isdisjoint(case["flags"] or ()), case["number"]


def test_the_151_wycheproof_cases_are_judged_as_there() -> None:
    groups = json.loads(shared_data("wycheproof", "ed25519_test.json").read_bytes())["testGroups"]
    cases = [(group["publicKey"]["pk"], case) for group in groups for case in group["tests"]]
    assert len(cases) == 151
    for public_key, case in cases:
        holds = verify(bytes.fromhex(public_key), bytes.fromhex(case["msg"]), bytes.fromhex(case["sig"]))
        assert holds == (case["result"] == "valid"), case["tcId"]


def test_a_fingerprint_is_the_hash_of_the_keys_bytes() -> None:
    """RF-18."""
    assert fingerprint(bytes(32)) == "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"
