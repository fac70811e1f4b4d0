from __future__ import annotations

import base64

import pytest

from receipt_writer.errors import KeyFileError, NotPossibleYetError
from receipt_writer.signers.environment import EnvironmentCustody, next_seed_variable, seed_variable
from receipt_writer.signers.local import LocalSigner

FIRST, SECOND = (base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2))


def test_the_variables_are_named_by_use() -> None:
    assert seed_variable("entry") == "PROMETHEUS_RECEIPTS_ENTRY_SEED"
    assert next_seed_variable("checkpoint") == "PROMETHEUS_RECEIPTS_CHECKPOINT_SEED_NEXT"


def test_the_key_in_force_is_that_of_the_seed() -> None:
    custody = EnvironmentCustody("entry", FIRST)
    expected = LocalSigner.from_seed(b"\1" * 32).public_key
    assert custody.exists()
    assert custody.load().public_key == custody.create().public_key == expected
    assert custody.load_next() is None


@pytest.mark.parametrize("seed", ["", "AAAA", "not base64!", FIRST[:-1], FIRST + FIRST])
def test_a_seed_that_is_none_is_refused_without_telling_it(seed: str) -> None:
    with pytest.raises(KeyFileError, match="PROMETHEUS_RECEIPTS_CHECKPOINT_SEED is not base64 of 32 bytes") as refusal:
        EnvironmentCustody("checkpoint", seed).load()
    assert not seed or seed not in str(refusal.value)
    with pytest.raises(KeyFileError, match="_SEED_NEXT is not base64"):
        EnvironmentCustody("checkpoint", FIRST, seed).load_next()


@pytest.mark.parametrize("next_seed", [None, FIRST])
def test_a_rotation_without_a_next_seed_is_told_what_to_do(next_seed: str | None) -> None:
    with pytest.raises(NotPossibleYetError, match=r"set PROMETHEUS_RECEIPTS_ENTRY_SEED_NEXT .* restart .* rotate"):
        EnvironmentCustody("entry", FIRST, next_seed).prepare_next()


def test_a_rotation_takes_the_next_seed_and_leaves_the_variables_alone() -> None:
    custody = EnvironmentCustody("entry", FIRST, SECOND)
    following = custody.prepare_next()
    assert following.public_key == LocalSigner.from_seed(b"\2" * 32).public_key
    custody.promote_next()
    custody.discard_next()
    assert custody.load_next() == following
    assert FIRST not in repr(custody)
