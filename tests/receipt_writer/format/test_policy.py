from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from receipt_writer.format.errors import PolicyError
from receipt_writer.format.policy import KeyUse, Policy, TrustedKey, is_trusted, parse_policy
from tests.receipt_writer.format.material import ORIGIN, VECTORS, SeedSigner, vector

ENTRY = SeedSigner(b"e" * 32).public_key
CHECKPOINT = SeedSigner(b"c" * 32).public_key
POLICY = Policy(ORIGIN, (TrustedKey(ENTRY, "entry", 1, 16), TrustedKey(CHECKPOINT, "checkpoint")))
FILES = sorted(path.name for path in VECTORS.glob("policy*.json") if path.name != "policy-loworder.json")


def document(**changes: Any) -> bytes:
    return json.dumps(json.loads(POLICY.to_json()) | changes).encode()


def key_document(**changes: Any) -> bytes:
    key = {"publicKey": base64.b64encode(ENTRY).decode(), "use": "entry", "fromId": 1, "toId": None} | changes
    return document(keys=[key])


@pytest.mark.parametrize("name", FILES)
def test_the_policies_of_the_vectors_are_read_and_written_byte_for_byte(name: str) -> None:
    """RF-18."""
    assert parse_policy(vector(name)).to_json() == vector(name)


def test_a_policy_comes_back_as_it_was_written() -> None:
    assert parse_policy(POLICY.to_json()) == POLICY
    witnessed = Policy(ORIGIN, POLICY.keys, ("witness.example+01234567+AAAA",), 1)
    assert parse_policy(witnessed.to_json()) == witnessed


def test_members_may_stand_in_any_order_with_any_white_space() -> None:
    members = json.loads(POLICY.to_json())
    shuffled = dict(reversed(members.items())) | {"keys": [dict(reversed(key.items())) for key in members["keys"]]}
    assert parse_policy(json.dumps(shuffled, indent=4).encode() + b"\n") == POLICY


def test_what_a_policy_leaves_out_has_a_default() -> None:
    """RF-18."""
    key = {"publicKey": base64.b64encode(ENTRY).decode(), "use": "entry"}
    assert parse_policy(json.dumps({"origin": ORIGIN, "keys": [key]}).encode()) == Policy(
        ORIGIN, (TrustedKey(ENTRY, "entry", 1, None),), (), 0
    )


def test_keys_are_found_by_use_and_id() -> None:
    """RF-18."""
    assert POLICY.keys_for("entry", 16) == (ENTRY,)
    assert POLICY.keys_for("entry", 17) == ()
    assert POLICY.keys_for("checkpoint", 10**9) == (CHECKPOINT,)


@pytest.mark.parametrize(
    ("public_key", "use", "entry_id", "trusted"),
    [
        (ENTRY, "entry", 1, True),
        (ENTRY, "entry", 16, True),
        (ENTRY, "entry", 17, False),
        (ENTRY, "checkpoint", 1, False),
        (CHECKPOINT, "entry", 1, False),
        (CHECKPOINT, "checkpoint", 99, True),
    ],
)
def test_a_key_is_trusted_in_its_use_and_range(public_key: bytes, use: KeyUse, entry_id: int, *, trusted: bool) -> None:
    """RF-18, RF-19."""
    assert is_trusted(POLICY.keys, public_key, use, entry_id) is trusted


def test_a_key_that_no_verifier_should_see_is_refused() -> None:
    """RF-13."""
    with pytest.raises(PolicyError, match="low order"):
        parse_policy(vector("policy-loworder.json"))
    with pytest.raises(PolicyError, match="has 32 bytes"):
        TrustedKey(b"short", "entry")


@pytest.mark.parametrize(("from_id", "to_id"), [(0, None), (-1, 4), (5, 4), (1, 0), (2**53, None)])
def test_a_range_without_ids_is_refused(from_id: int, to_id: int | None) -> None:
    with pytest.raises(PolicyError, match="range"):
        TrustedKey(ENTRY, "entry", from_id, to_id)


def test_one_key_for_entries_and_checkpoints_is_refused() -> None:
    """RF-18."""
    with pytest.raises(PolicyError, match="each use needs a key of its own"):
        Policy(ORIGIN, (TrustedKey(ENTRY, "entry"), TrustedKey(ENTRY, "checkpoint")))


@pytest.mark.parametrize("quorum", [-1, 1])
def test_a_quorum_beyond_the_witnesses_is_refused(quorum: int) -> None:
    with pytest.raises(PolicyError, match="quorum"):
        Policy(ORIGIN, (), (), quorum)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "Not JSON"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b"[]", "an object"),
        (b"{}", "origin must be present"),
        (b'{"origin":"a/b/-","origin":"a/c/-","keys":[]}', "origin must be present once"),
        (document(extra=1), "extra must be left out"),
        (document(origin=1), "origin must be a string"),
        (document(origin="nowhere"), "An origin is"),
        (document(keys={}), "keys must be a list"),
        (document(quorum=1.0), "float has no canonical form"),
        (document(quorum=None), "quorum must be an integer"),
        (document(witnesses=[1]), r"witnesses\[0\] must be a string"),
        (key_document(use="both"), r"keys\[0\].use must be one of: entry checkpoint"),
        (key_document(publicKey="AA=="), r"keys\[0\].publicKey must be 32 bytes"),
        (key_document(fromId=0), r"keys\[0\].fromId must be an integer from 1"),
        (key_document(toID=4), r"keys\[0\].toID must be left out"),
        (key_document(fromId=5, toId=4), "range"),
    ],
)
def test_a_policy_that_could_be_misread_is_refused(data: bytes, words: str) -> None:
    """RF-18."""
    with pytest.raises(PolicyError, match=words):
        parse_policy(data)
