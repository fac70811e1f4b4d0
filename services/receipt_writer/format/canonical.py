"""Canonical bytes: the only spelling a ledger value has (RF-1 to RF-6).

Members keep the order they are given in; the schema table rules which order that is. Everything else is fixed here:
no white space, integers only, strings escaped as RFC 8785 section 3.2.2.2 escapes them, UTF-8 without a byte order
mark, no Unicode normalisation. What JSON cannot carry exactly between languages has no canonical bytes and is refused
on the way in and on the way out by the same function.
"""

from __future__ import annotations

import json
from collections import Counter

import msgspec

from receipt_writer.format.errors import EncodingError, SchemaError

MAX_INTEGER = 2**53 - 1
"""Largest magnitude that every JSON implementation keeps exact (RFC 7493 section 2.2)."""
MAX_STRING_BYTES = 4_096
"""Largest string, in UTF-8 bytes of the string itself, before escaping."""
MAX_LINE_BYTES = 65_536
"""Largest line, without its line break."""
MAX_DEPTH = 32
"""Most objects and arrays inside one another."""

_MAX_DIGITS = len(str(-MAX_INTEGER))
_BYTE_ORDER_MARK = "\ufeff"
_TOO_DEEP = f"Objects and arrays stand deeper than {MAX_DEPTH} inside one another."


def encode(value: object) -> bytes:
    """Return the canonical bytes of `value`; members of objects keep the order they are given in.

    Raises:
        EncodingError: the value, or something in it, has no canonical bytes, or the bytes are more than a line holds.
    """
    _refuse_inexact(value, MAX_DEPTH)
    data = msgspec.json.encode(value)
    _refuse_long(data)
    return data


def encode_accepted(value: dict[str, object]) -> bytes:
    """Return the canonical bytes of what the schema table accepted, as `encode` would, in a fifth of the time.

    The table rules types, integers and depth; what is left to judge is that strings are Unicode and not too long, and
    no string is longer than the whole.

    Raises:
        EncodingError: A string has no canonical bytes, or the bytes are more than a line holds.
    """
    try:
        data = msgspec.json.encode(value)
    except UnicodeEncodeError:
        return encode(value)
    if len(data) > MAX_STRING_BYTES:
        return encode(value)
    return data


def decode_strict(data: bytes) -> object:
    """Return the value of one JSON text, white space allowed, nothing that two parsers could read differently.

    Raises:
        EncodingError: not UTF-8, a byte order mark, not JSON, a fraction, exponent, `-0` or NaN, an integer beyond
            2^53-1, a lone surrogate, a string over 4,096 bytes, or nesting deeper than 32.
        SchemaError: an object names a member twice.
    """
    _refuse_long(data)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise EncodingError(f"Byte {error.start} is not UTF-8.") from None
    if text.startswith(_BYTE_ORDER_MARK):
        raise EncodingError("The text starts with a byte order mark; remove it.")
    try:
        value: object = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise EncodingError(f"Not JSON at character {error.pos}: {error.msg}.") from None
    except RecursionError:
        raise EncodingError(_TOO_DEEP) from None
    _refuse_inexact(value, MAX_DEPTH)
    return value


def decode_canonical(data: bytes) -> object:
    """Return the value whose canonical bytes are exactly `data`.

    Whatever a decoder made of the bytes, they are canonical when `encode` gives them back, so a fast one will do here.

    Raises:
        EncodingError: no value has these canonical bytes.
        SchemaError: an object names a member twice.
    """
    _refuse_long(data)
    try:
        value: object = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = decode_strict(data)
    canonical = encode(value)
    if canonical != data:
        decode_strict(data)  # says more where it refuses too, for instance of a member that stands twice
        at = next((i for i, (a, b) in enumerate(zip(canonical, data, strict=False)) if a != b), len(canonical))
        raise EncodingError(f"Byte {at} differs from the canonical form of the same value.")
    return value


def _refuse_inexact(value: object, depth: int) -> None:
    if value is None or value is True or value is False:
        return
    if type(value) is str:
        _refuse_text(value)
    elif type(value) is int:
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise EncodingError("An integer lies outside ±(2^53-1).")
    elif type(value) is dict:
        _refuse_depth(depth)
        for name, member in value.items():
            if type(name) is not str:
                raise EncodingError(f"A member's name is a {type(name).__name__}; it must be a string.")
            _refuse_text(name)
            _refuse_inexact(member, depth - 1)
    elif type(value) is list:
        _refuse_depth(depth)
        for item in value:
            _refuse_inexact(item, depth - 1)
    else:
        raise EncodingError(f"A {type(value).__name__} has no canonical form; use an integer or a string.")


def _refuse_text(text: str) -> None:
    try:
        size_bytes = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError:
        raise EncodingError("A string holds a lone surrogate, which is no character.") from None
    if size_bytes > MAX_STRING_BYTES:
        raise EncodingError(f"A string has {size_bytes} bytes; at most {MAX_STRING_BYTES} are allowed.")


def _refuse_depth(depth: int) -> None:
    if depth == 0:
        raise EncodingError(_TOO_DEEP)


def _refuse_long(data: bytes) -> None:
    if len(data) > MAX_LINE_BYTES:
        raise EncodingError(f"The text has {len(data)} bytes; at most {MAX_LINE_BYTES} are allowed.")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        name = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise SchemaError(name, "present once in its object")
    return members


def _integer(digits: str) -> int:
    # Judged as text first: Python stops converting at 4,300 digits, and reads `-0` as 0.
    if len(digits) > _MAX_DIGITS or digits == "-0":
        raise EncodingError("A number is not an integer within ±(2^53-1) in its shortest form.")
    return int(digits)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer)
