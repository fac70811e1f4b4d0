"""Point encodings at the edges of Ed25519, from its equation -x² + y² = 1 + d·x²·y² (RFC 8032 section 5.1)."""

from __future__ import annotations

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P

Point = tuple[int, int]
IDENTITY: Point = (0, 1)


def add(a: Point, b: Point) -> Point:
    """Add two points in affine form; the curve is complete, so this doubles too."""
    product = D * a[0] * b[0] * a[1] * b[1] % P
    x = (a[0] * b[1] + b[0] * a[1]) * pow(1 + product, -1, P)
    y = (a[1] * b[1] + a[0] * b[0]) * pow(1 - product, -1, P)
    return x % P, y % P


def times(scalar: int, point: Point) -> Point:
    """Multiply a point by a scalar that is at least 0."""
    total = IDENTITY
    for bit in f"{scalar:b}":
        total = add(total, total)
        if bit == "1":
            total = add(total, point)
    return total


def with_y(y: int) -> Point | None:
    """Return the point of this y whose x is even, if the curve has one."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    root = pow(square, (P + 3) // 8, P)
    if root * root % P != square:
        root = root * pow(2, (P - 1) // 4, P) % P
    if root * root % P != square:
        return None
    return (P - root if root & 1 else root), y


def torsion() -> list[Point]:
    """Return the eight points whose order divides 8, the multiples of one of order 8."""
    for y in range(2, 100):
        point = with_y(y)
        if point is not None:
            generator = times(ORDER, point)
            if times(4, generator) != IDENTITY:
                return [times(k, generator) for k in range(8)]
    raise AssertionError("no point of order 8 was found")


def encodings(y: int) -> list[bytes]:
    """Return every string that a lenient decoder reads as a point of this y: both signs, and y + p where it fits."""
    spellings = [value for value in (y, y + P) if value < 2**255]
    return [(value | sign << 255).to_bytes(32, "little") for value in spellings for sign in (0, 1)]


def low_order_encodings() -> list[bytes]:
    """Return the encodings of points of low order, canonical or not, smallest first."""
    return sorted({encoding for _, y in torsion() for encoding in encodings(y)})


def non_canonical_encodings() -> list[bytes]:
    """Return the encodings whose y is not below p."""
    return [(y | sign << 255).to_bytes(32, "little") for y in range(P, 2**255) for sign in (0, 1)]
