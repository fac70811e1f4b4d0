from __future__ import annotations

import base64
from typing import Any

import pytest

from receipt_writer.signers.sealing import MOST_MEMORY_BYTES, MOST_OPERATIONS, Limits, seal, unseal

SEED = bytes(range(32))
CHEAP = Limits(1, 8192)


def test_a_sealed_seed_comes_back_under_its_passphrase_only() -> None:
    sealed = seal(SEED, b"correct horse", CHEAP)
    assert unseal(sealed, b"correct horse") == SEED
    assert unseal(sealed, b"correct horse ") is None
    assert unseal(sealed, b"") is None


def test_two_boxes_of_one_seed_have_nothing_in_common() -> None:
    one, other = seal(SEED, b"p", CHEAP), seal(SEED, b"p", CHEAP)
    assert one["salt"] != other["salt"]
    assert one["box"] != other["box"]


def test_the_limits_of_a_new_box_are_moderate_and_stand_in_it() -> None:
    assert Limits() == Limits(operations=3, memory_bytes=256 << 20)
    sealed = seal(SEED, b"p", Limits(2, 16384))
    assert (sealed["kdf"], sealed["opsLimit"], sealed["memLimitBytes"]) == ("argon2id", 2, 16384)
    assert unseal(sealed, b"p") == SEED


def test_an_altered_box_does_not_open() -> None:
    sealed = seal(SEED, b"p", CHEAP)
    box = bytearray(base64.b64decode(str(sealed["box"])))
    box[-1] ^= 1
    assert unseal(sealed | {"box": base64.b64encode(box).decode()}, b"p") is None


@pytest.mark.parametrize(
    "change",
    [
        {"kdf": "scrypt"},
        {"cipher": "rot13"},
        {"opsLimit": 0},
        {"opsLimit": MOST_OPERATIONS + 1},
        {"opsLimit": "1"},
        {"memLimitBytes": 0},
        {"memLimitBytes": MOST_MEMORY_BYTES + 1},
        {"memLimitBytes": None},
        {"salt": "AAAA"},
        {"salt": "no base64!"},
        {"box": "no base64!"},
    ],
)
def test_members_that_no_box_has_are_refused_before_any_work(change: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        unseal(seal(SEED, b"p", CHEAP) | change, b"p")
