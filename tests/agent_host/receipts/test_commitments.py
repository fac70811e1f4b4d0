"""Commitments and their openings."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import pytest

from agent_host.providers.protocol import JsonValue
from agent_host.receipts.commitments import canonical_bytes, commit
from agent_host.receipts.openings import OpeningStore


def test_a_commitment_is_the_hmac_of_the_canonical_value_under_its_opening() -> None:
    made = commit("t_1", "inputHash", {"b": 1, "a": "é"})

    assert made.opening.value == '{"a":"é","b":1}'.encode()
    assert hmac.new(made.opening.key, made.opening.value, hashlib.sha256).hexdigest() == made.digest


def test_the_same_value_never_gives_the_same_commitment_twice() -> None:
    assert commit("t_1", "inputHash", "x").digest != commit("t_1", "inputHash", "x").digest


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("\ud800", '"\ufffd"'.encode()),
        (2**53, b'"9007199254740992"'),
        (True, b"true"),
        (float("nan"), b'"nan"'),
        (float("-inf"), b'"-inf"'),
        ([1.5, None], b"[1.5,null]"),
        ({"k\udfff": ("a",)}, '{"k\ufffd":["a"]}'.encode()),
    ],
)
def test_values_without_a_canonical_form_still_commit(value: JsonValue, expected: bytes) -> None:
    assert canonical_bytes(value) == expected


def test_an_opening_can_be_found_until_it_is_forgotten(tmp_path: Path) -> None:
    store = OpeningStore(tmp_path / "openings.db")
    first = commit("t_1", "inputHash", "hello").opening
    second = commit("t_1", "replyHash", "bye").opening
    store.keep(first, second)

    assert store.find("t_1", "inputHash") == first
    assert store.forget("t_1") == 2
    assert store.find("t_1", "replyHash") is None
    assert store.forget("t_1") == 0
    store.close()


def test_openings_outlive_the_process_and_are_private(tmp_path: Path) -> None:
    path = tmp_path / "openings.db"
    store = OpeningStore(path)
    opening = commit("c_1", "inputHash", {"n": 1}).opening
    store.keep(opening)
    store.close()

    again = OpeningStore(path)

    assert again.find("c_1", "inputHash") == opening
    assert path.stat().st_mode & 0o777 == 0o600
    again.close()


def test_the_first_opening_of_a_field_stays(tmp_path: Path) -> None:
    store = OpeningStore(tmp_path / "openings.db")
    first = commit("c_1", "inputHash", 1).opening
    store.keep(first)
    store.keep(commit("c_1", "inputHash", 2).opening)

    assert store.find("c_1", "inputHash") == first
    store.close()
