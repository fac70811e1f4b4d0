"""Ed25519 at its edges: what satisfies the equation and must fall all the same, beside honest cases (RF-13, RF-14)."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Iterator
from typing import Any

from tests.receipt_writer.format import edwards
from tests.receipt_writer.format.edwards import ORDER, P, Point, add, times
from tests.verifier.corpus.material import ENTRY

SECRET, NONCE = 12_345, 67_890
torsion = functools.cache(edwards.torsion)
HONEST = b"a message"
Row = dict[str, Any]


def rows() -> list[Row]:
    """Every case: name, key, message and signature in hex, whether it holds, and the rule that decides."""
    made = [*_honest(), *_low_order_keys(), *_low_order_rs(), *_mixed(), *_scalars(), *_encodings(), *_lengths()]
    assert len({row["name"] for row in made}) == len(made)
    return made


def _row(name: str, case: tuple[bytes, bytes, bytes], *, holds: bool, rule: str) -> Row:
    key, message, signature = case
    return {
        "name": name,
        "key": key.hex(),
        "message": message.hex(),
        "signature": signature.hex(),
        "holds": holds,
        "rule": rule,
    }


@functools.cache
def base_point() -> Point:
    point = edwards.with_y(4 * pow(5, -1, P) % P)
    assert point is not None
    return point


def encode(point: Point) -> bytes:
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


def challenge(r: bytes, key: bytes, message: bytes) -> int:
    return int.from_bytes(hashlib.sha512(r + key + message).digest(), "little") % ORDER


def equation(key: Point, r: Point, k: int, s: int) -> bool:
    """[S]B = R + [k]A, without cofactor."""
    return times(s, base_point()) == add(r, times(k, key))


def _honest() -> Iterator[Row]:
    key = bytes(ENTRY.verify_key)
    for size in (0, 1, 63, 64, 128):
        message = b"m" * size
        yield _row(f"honest/{size}-bytes", (key, message, ENTRY.sign(message).signature), holds=True, rule="equation")
    good = ENTRY.sign(HONEST).signature
    for position in (0, 31, 32, 62):
        spoilt = good[:position] + bytes([good[position] ^ 1]) + good[position + 1 :]
        yield _row(f"honest/bit-{8 * position}-turned", (key, HONEST, spoilt), holds=False, rule="equation")
    yield _row("honest/another-message", (key, HONEST + b"!", good), holds=False, rule="equation")
    negated = key[:31] + bytes([key[31] ^ 0x80])
    yield _row("honest/key-with-the-other-sign", (negated, HONEST, good), holds=False, rule="equation")


def _low_order_keys() -> Iterator[Row]:
    """Under a key of order n, R = [r]B and S = r satisfy the equation whenever n divides k: one message in eight."""
    r = encode(times(NONCE, base_point()))
    for key in edwards.low_order_encodings():
        message = next(m for m in _messages() if challenge(r, key, m) % 8 == 0)
        case = key, message, r + NONCE.to_bytes(32, "little")
        yield _row(f"low-order-key/{key.hex()}", case, holds=False, rule="A of low order or not canonical")


def _low_order_rs() -> Iterator[Row]:
    """R of low order with a key that makes the equation true: A = [a]B + T with [k]T = -R."""
    base = times(SECRET, base_point())
    for spelled in edwards.low_order_encodings():
        y = (int.from_bytes(spelled, "little") & (2**255 - 1)) % P
        r = next(p for p in torsion() if p[1] == y and (p[0] & 1 == spelled[31] >> 7 or p[0] == 0))
        key, message, k = next(
            (key, m, challenge(spelled, encode(key), m))
            for m in _messages()
            for key in (add(base, t) for t in torsion())
            if add(r, times(challenge(spelled, encode(key), m) % 8, add(key, (P - base[0], base[1])))) == (0, 1)
        )
        s = k * SECRET % ORDER
        assert equation(key, r, k, s)
        case = encode(key), message, spelled + s.to_bytes(32, "little")
        yield _row(f"low-order-r/{spelled.hex()}", case, holds=False, rule="R of low order or not canonical")


def _mixed() -> Iterator[Row]:
    """A = [a]B + T: a key with a part of low order is not refused; without the cofactor the equation must be exact."""
    base, twist = times(SECRET, base_point()), torsion()[1]
    key, r = add(base, twist), times(NONCE, base_point())
    for wanted, holds in ((0, True), (1, False), (4, False)):
        message = next(m for m in _messages() if challenge(encode(r), encode(key), m) % 8 == wanted)
        k = challenge(encode(r), encode(key), message)
        s = (NONCE + k * SECRET) % ORDER
        assert equation(key, r, k, s) == holds
        case = encode(key), message, encode(r) + s.to_bytes(32, "little")
        yield _row(f"mixed-order-key/k-is-{wanted}-modulo-8", case, holds=holds, rule="equation without cofactor")
    for count, torsion_point in enumerate(torsion()[1:], 1):
        twisted = add(r, torsion_point)
        k = challenge(encode(twisted), encode(base), HONEST)
        s = (NONCE + k * SECRET) % ORDER
        assert not equation(base, twisted, k, s)
        case = encode(base), HONEST, encode(twisted) + s.to_bytes(32, "little")
        yield _row(f"mixed-order-r/{count}", case, holds=False, rule="equation without cofactor")


def _scalars() -> Iterator[Row]:
    key, good = bytes(ENTRY.verify_key), ENTRY.sign(HONEST).signature
    s = int.from_bytes(good[32:], "little")
    for times_order in (1, 2, 7, 15):
        if (scalar := s + times_order * ORDER) < 2**256:
            case = key, HONEST, good[:32] + scalar.to_bytes(32, "little")
            yield _row(f"scalar/s-plus-{times_order}-l", case, holds=False, rule="S below the order")
    for name, scalar in {
        "0": 0,
        "l-minus-1": ORDER - 1,
        "l": ORDER,
        "2-to-255": 2**255,
        "all-ones": 2**256 - 1,
    }.items():
        rule = "equation" if scalar < ORDER else "S below the order"
        yield _row(f"scalar/{name}", (key, HONEST, good[:32] + scalar.to_bytes(32, "little")), holds=False, rule=rule)


def _encodings() -> Iterator[Row]:
    key, good = bytes(ENTRY.verify_key), ENTRY.sign(HONEST).signature
    low = set(edwards.low_order_encodings())
    for spelled in edwards.non_canonical_encodings():
        if spelled not in low:
            case = spelled, HONEST, good
            yield _row(f"not-canonical/key-{spelled.hex()}", case, holds=False, rule="y of A below p")
    off_curve = next(y for y in range(2, 99) if edwards.with_y(y) is None).to_bytes(32, "little")
    yield _row("not-on-the-curve/key", (off_curve, HONEST, good), holds=False, rule="equation")
    yield _row("not-on-the-curve/r", (key, HONEST, off_curve + good[32:]), holds=False, rule="equation")


def _lengths() -> Iterator[Row]:
    key, good = bytes(ENTRY.verify_key), ENTRY.sign(HONEST).signature
    cases = {"key-of-31": (key[:31], good), "key-of-33": (key + b"\0", good), "key-of-none": (b"", good)}
    cases |= {
        "signature-of-63": (key, good[:63]),
        "signature-of-65": (key, good + b"\0"),
        "signature-of-none": (key, b""),
    }
    for name, (short, signature) in cases.items():
        yield _row(f"length/{name}", (short, HONEST, signature), holds=False, rule="32 and 64 bytes")


def _messages() -> Iterator[bytes]:
    return (b"message %d" % number for number in itertools.count())
