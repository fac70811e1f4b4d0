"""RF-13, RF-14: which signatures hold, the same with PyNaCl, with OpenSSL in Node, and with pure Python."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nacl.signing import SigningKey

from receipt_writer.format import signing
from tests.verifier.both import Verifiers
from verifier import verify

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
EDGES = ROOT / "verifier" / "vectors" / "v2" / "ed25519-edges.json"
KEY = SigningKey(hashlib.sha256(b"edges").digest())
MESSAGE = b"a message"
Case = tuple[bytes, bytes, bytes]
# RFC 8032 section 7.1: secret, public key, message, signature
RFC_8032 = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
]


@pytest.fixture(params=["PyNaCl", "pure Python"])
def holds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes, bytes, bytes], bool]:
    """verify.py's check, with the library and without it."""
    if request.param == "pure Python":
        monkeypatch.setattr(verify, "crypto_sign_open", None)
    return verify.ed25519_holds


def node(verifiers: Verifiers, case: Case) -> bool:
    key, message, signature = case
    return bool(verifiers.ask_node(ask="ed25519", key=key.hex(), message=message.hex(), signature=signature.hex()))


def cctv() -> list[tuple[Case, bool]]:
    """C2SP/CCTV's edge cases; those with a flag our byte checks refuse must fall, all others stand."""
    refused = {"low_order_A", "low_order_R", "non_canonical_A", "non_canonical_R"}
    vectors = json.loads((DATA / "cctv" / "ed25519vectors.json").read_text())
    return [(_case(v), not refused & set(v["flags"] or [])) for v in vectors]


def _case(vector: dict[str, Any]) -> Case:
    return bytes.fromhex(vector["key"]), vector["msg"].encode(), bytes.fromhex(vector["sig"])


@pytest.mark.parametrize("example", RFC_8032, ids=["empty", "one byte"])
def test_the_examples_of_rfc_8032_hold(
    example: tuple[str, ...], holds: Callable[..., bool], verifiers: Verifiers
) -> None:
    secret, key, message, signature = map(bytes.fromhex, example)

    assert bytes(SigningKey(secret).verify_key) == key
    assert holds(key, message, signature)
    assert node(verifiers, (key, message, signature))
    assert not holds(key, message + b"x", signature)


@pytest.mark.parametrize("size", [0, 1, 63, 64, 127, 128, 4096])
def test_messages_of_any_length_hold_under_their_own_key_only(
    size: int, holds: Callable[..., bool], verifiers: Verifiers
) -> None:
    message = b"m" * size
    signature = KEY.sign(message).signature
    other = bytes(SigningKey(bytes(32)).verify_key)

    assert holds(bytes(KEY.verify_key), message, signature)
    assert node(verifiers, (bytes(KEY.verify_key), message, signature))
    assert not holds(other, message, signature)
    assert not node(verifiers, (other, message, signature))


def test_encodings_of_low_order_or_not_canonical_fall_as_key_and_as_r(
    holds: Callable[..., bool], verifiers: Verifiers
) -> None:
    edges = json.loads(EDGES.read_text())
    points = [bytes.fromhex(point) for name in edges for point in edges[name] if "oint" in name]
    signature = KEY.sign(MESSAGE).signature
    cases = [(point, MESSAGE, signature) for point in points]
    cases += [(bytes(KEY.verify_key), MESSAGE, point + signature[32:]) for point in points]
    cases += [(key, MESSAGE, r + bytes(32)) for key, r in itertools.product(points[:14], points[:14])]

    assert len(points) >= 14
    assert not any(holds(*case) for case in cases)
    assert not any(node(verifiers, case) for case in cases[:: 1 + len(cases) // 120])


def test_every_y_beside_the_field_prime_is_judged_alike(holds: Callable[..., bool], verifiers: Verifiers) -> None:
    signature = KEY.sign(MESSAGE).signature
    ys = [*range(4), *range(verify.P - 3, 2**255)]
    keys = [(y | sign << 255).to_bytes(32, "little") for y in ys for sign in (0, 1)]

    assert not any(holds(key, MESSAGE, signature) for key in keys)
    assert not any(node(verifiers, (key, MESSAGE, signature)) for key in keys)


def test_the_identity_in_any_spelling_is_no_key(holds: Callable[..., bool], verifiers: Verifiers) -> None:
    """Under it R = [r]B, S = r satisfies the equation for every message."""
    nonce = 67890
    forged = encode(multiply(nonce, base_point())) + nonce.to_bytes(32, "little")
    keys = [(y | sign << 255).to_bytes(32, "little") for y in (1, verify.P + 1) for sign in (0, 1)]

    assert not any(holds(key, MESSAGE, forged) for key in keys)
    assert not any(node(verifiers, (key, MESSAGE, forged)) for key in keys)


@pytest.mark.parametrize("shift", [1, 2, 7, 15])
def test_a_scalar_has_one_spelling(shift: int, holds: Callable[..., bool], verifiers: Verifiers) -> None:
    signature = KEY.sign(MESSAGE).signature
    scalar = int.from_bytes(signature[32:], "little") + shift * verify.L
    case = bytes(KEY.verify_key), MESSAGE, signature[:32] + scalar.to_bytes(32, "little")

    assert not holds(*case)
    assert not node(verifiers, case)


@pytest.mark.parametrize(("key", "signature"), [(0, 64), (31, 64), (33, 64), (32, 0), (32, 63), (32, 65), (64, 32)])
def test_other_lengths_fall(key: int, signature: int, holds: Callable[..., bool], verifiers: Verifiers) -> None:
    case = b"\x09" * key, MESSAGE, b"\x09" * signature

    assert not holds(*case)
    assert not node(verifiers, case)


def test_a_signature_twisted_by_a_point_of_small_order_falls(holds: Callable[..., bool], verifiers: Verifiers) -> None:
    """R' = R + T with T of order two satisfies the equation times eight, so only a cofactored check would accept it."""
    secret, nonce = 12345, 67890
    base = base_point()
    twist = (0, verify.P - 1, 1, 0)
    key = encode(multiply(secret, base))
    r = encode(verify.add(multiply(nonce, base), twist))
    k = int.from_bytes(hashlib.sha512(r + key + MESSAGE).digest(), "little") % verify.L
    case = key, MESSAGE, r + ((nonce + k * secret) % verify.L).to_bytes(32, "little")

    assert not holds(*case)
    assert not node(verifiers, case)


def own_table() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((ROOT / "verifier" / "vectors" / "v3" / "ed25519.json").read_text())
    return rows


def test_the_projects_own_table_is_judged_as_it_says(holds: Callable[..., bool], verifiers: Verifiers) -> None:
    """Whoever lacks the public data has these: among them 29 forgeries that satisfy the equation."""
    rows = own_table()
    cases = [tuple(bytes.fromhex(row[part]) for part in ("key", "message", "signature")) for row in rows]

    assert len(rows) >= 100
    assert [row["name"] for row, case in zip(rows, cases, strict=True) if holds(*case) != row["holds"]] == []
    assert [
        row["name"] for row, (k, m, s) in zip(rows, cases, strict=True) if node(verifiers, (k, m, s)) != row["holds"]
    ] == []


def test_the_writers_own_check_agrees_with_the_table() -> None:
    for row in own_table():
        key, message, signature = (bytes.fromhex(row[part]) for part in ("key", "message", "signature"))
        assert signing.verify(key, message, signature) == row["holds"], row["name"]


def base_point() -> verify.Point:
    point = verify.decode_point(4 * pow(5, -1, verify.P) % verify.P)
    assert point is not None
    return point


def multiply(scalar: int, point: verify.Point) -> verify.Point:
    total: verify.Point = (0, 1, 1, 0)
    for bit in f"{scalar:b}":
        total = verify.add(total, total)
        total = verify.add(total, point) if bit == "1" else total
    return total


def encode(point: verify.Point) -> bytes:
    inverse = pow(point[2], -1, verify.P)
    return (point[1] * inverse % verify.P | (point[0] * inverse % verify.P & 1) << 255).to_bytes(32, "little")


needs_data = pytest.mark.skipif(not DATA.exists(), reason="the public Ed25519 vectors are not beside the project")


@needs_data
def test_the_three_agree_on_all_cases_of_cctv(monkeypatch: pytest.MonkeyPatch, verifiers: Verifiers) -> None:
    cases = cctv()
    with_library = [verify.ed25519_holds(*case) for case, _ in cases]
    in_node = [node(verifiers, case) for case, _ in cases]
    monkeypatch.setattr(verify, "crypto_sign_open", None)
    pure = [verify.ed25519_holds(*case) for case, _ in cases]

    assert len(cases) == 914
    assert with_library == in_node == pure
    assert sum(pure) > 0
    assert not any(held for held, (_, may_stand) in zip(pure, cases, strict=True) if not may_stand)


@needs_data
def test_the_three_agree_with_wycheproof(monkeypatch: pytest.MonkeyPatch, verifiers: Verifiers) -> None:
    groups = json.loads((DATA / "wycheproof" / "ed25519_test.json").read_text())["testGroups"]
    cases = [
        (
            tuple(bytes.fromhex(part) for part in (group["publicKey"]["pk"], test["msg"], test["sig"])),
            test["result"] == "valid",
        )
        for group in groups
        for test in group["tests"]
    ]
    with_library = [verify.ed25519_holds(*case) for case, _ in cases]
    in_node = [
        bool(verifiers.ask_node(ask="ed25519", key=k.hex(), message=m.hex(), signature=s.hex()))
        for (k, m, s), _ in cases
    ]
    monkeypatch.setattr(verify, "crypto_sign_open", None)
    pure = [verify.ed25519_holds(*case) for case, _ in cases]

    assert len(cases) >= 150
    assert with_library == in_node == pure == [valid for _, valid in cases]
