from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from receipt_writer.format.canonical import encode
from receipt_writer.format.digest import (
    MAX_ORIGIN_CHARACTERS,
    OriginParts,
    commit,
    genesis_hash,
    origin,
    sha256_hex,
    split_origin,
)
from receipt_writer.format.errors import OpeningError, OriginError
from tests.receipt_writer.format.material import vector_json

parts = st.from_regex(r"[a-z0-9][a-z0-9.-]{0,40}", fullmatch=True)


def test_genesis_hashes_are_those_of_the_vectors() -> None:
    """RF-10."""
    known = vector_json("basics.json")["genesis"]
    assert known
    for name, expected in known.items():
        assert genesis_hash(name) == expected


def test_a_commitment_is_an_hmac_under_its_opening_key() -> None:
    """RF-15."""
    known = vector_json("basics.json")["commitment"]
    value = encode(known["value"])
    assert commit(value, bytes.fromhex(known["keyHex"])) == known["hmac"]
    assert commit(value, None) == sha256_hex(value) != known["hmac"]


@pytest.mark.parametrize("key", [b"", b"k" * 31, b"k" * 33])
def test_an_opening_key_of_another_length_is_refused(key: bytes) -> None:
    with pytest.raises(OpeningError, match="has 32 bytes"):
        commit(b"null", key)


def test_an_origin_names_a_chain_and_its_tenant_or_none() -> None:
    """RF-10."""
    assert origin("prometheus.example", "decisions") == "prometheus.example/decisions/-"
    assert origin("prometheus.example", "decisions", "acme") == "prometheus.example/decisions/acme"
    assert split_origin("prometheus.example/decisions/-") == OriginParts("prometheus.example", "decisions", None)


@given(parts, parts, st.none() | parts)
def test_an_origin_splits_into_what_it_was_made_of(substrate_id: str, chain: str, tenant: str | None) -> None:
    assert split_origin(origin(substrate_id, chain, tenant)) == OriginParts(substrate_id, chain, tenant)


@pytest.mark.parametrize("part", ["", "-", ".", "..", "A", "a b", "a/b", "é", "a\n", "a_b"])
def test_a_new_origin_refuses_parts_that_are_no_folder_names(part: str) -> None:
    for arguments in ((part, "turns", None), ("here", part, None), ("here", "turns", part)):
        with pytest.raises(OriginError, match="of an origin must be"):
            origin(*arguments)


@pytest.mark.parametrize("whole", ["", "a", "a/b", "a/b/c/d", "a//-", "/b/-", "a/b/", "a/b/C", "a/b/c\n"])
def test_what_is_no_origin_has_no_genesis(whole: str) -> None:
    for judge in (split_origin, genesis_hash):
        with pytest.raises(OriginError, match="An origin is"):
            judge(whole)


def test_an_origin_ends_at_200_characters() -> None:
    longest = "a" * (MAX_ORIGIN_CHARACTERS - len("/turns/-"))
    assert split_origin(origin(longest, "turns")).substrate_id == longest
    with pytest.raises(OriginError, match="at most 200"):
        origin(longest + "a", "turns")
    with pytest.raises(OriginError, match="at most 200"):
        split_origin(f"{longest}a/turns/-")
