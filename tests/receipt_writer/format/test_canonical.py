from __future__ import annotations

import json
import sys
from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from receipt_writer.format.canonical import (
    MAX_DEPTH,
    MAX_INTEGER,
    MAX_LINE_BYTES,
    MAX_STRING_BYTES,
    decode_canonical,
    decode_strict,
    encode,
    encode_accepted,
)
from receipt_writer.format.errors import EncodingError, FormatError, SchemaError
from tests.receipt_writer.format.material import shared_data, vector_lines

SHORT_ESCAPES = {"\b": r"\b", "\t": r"\t", "\n": r"\n", "\f": r"\f", "\r": r"\r", '"': r"\"", "\\": r"\\"}

scalars = st.none() | st.booleans() | st.integers(-MAX_INTEGER, MAX_INTEGER) | st.text(max_size=60)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)


def rule_4(character: str) -> str:
    """Spell one character as RFC 8785 section 3.2.2.2 says, straight from its text."""
    if character in SHORT_ESCAPES:
        return SHORT_ESCAPES[character]
    return f"\\u{ord(character):04x}" if ord(character) < 0x20 else character


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def test_members_keep_the_order_they_are_given_in() -> None:
    """RF-2, RF-6."""
    assert encode({"b": 1, "a": [True, False, None], "": {}}) == b'{"b":1,"a":[true,false,null],"":{}}'


def test_every_unicode_character_is_spelled_as_rfc_8785_says() -> None:
    """RF-4: all 1,112,064 scalar values, in strings of a size the ledger allows."""
    for start in range(0, sys.maxunicode + 1, 512):
        characters = [chr(point) for point in range(start, start + 512) if not 0xD800 <= point < 0xE000]
        text = "".join(characters)
        assert encode(text) == f'"{"".join(map(rule_4, characters))}"'.encode()
        assert decode_canonical(encode(text)) == text


@pytest.mark.parametrize("name", ["french", "structures", "unicode", "weird", "values"])
def test_strings_of_the_rfc_8785_data_are_spelled_as_there(name: str) -> None:
    """RF-4: member order and numbers are RFC 8785's own matter, so strings are compared one by one."""
    document = json.loads(shared_data("rfc8785", "input", f"{name}.json").read_bytes())
    output = shared_data("rfc8785", "output", f"{name}.json").read_bytes()
    strings = [item for pair in _pairs(document) for item in pair if isinstance(item, str)]
    assert strings
    for text in strings:
        assert encode(text) in output


def _pairs(value: object) -> list[tuple[object, ...]]:
    if isinstance(value, dict):
        return [*value.items(), *(pair for member in value.values() for pair in _pairs(member))]
    if isinstance(value, list):
        return [tuple(value), *(pair for member in value for pair in _pairs(member))]
    return []


@given(values)
def test_what_is_encoded_decodes_to_the_same_value_and_the_same_bytes(value: object) -> None:
    """RF-2."""
    data = encode(value)
    assert decode_canonical(data) == decode_strict(data) == value
    assert encode(decode_canonical(data)) == data


@given(values)
def test_canonical_bytes_are_the_standard_librarys_compact_json(value: object) -> None:
    assert encode(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@given(st.binary(max_size=40) | st.text(alphabet='{}[]":,01-.eE \\untrlf', max_size=40).map(str.encode))
def test_whatever_decodes_as_canonical_encodes_to_the_very_bytes(data: bytes) -> None:
    """RF-2: the property that makes the rule total."""
    try:
        value = decode_canonical(data)
    except FormatError:
        return
    assert encode(value) == data


@pytest.mark.parametrize("number", [MAX_INTEGER, -MAX_INTEGER, 0])
def test_integers_up_to_the_limit_are_exact(number: int) -> None:
    """RF-3."""
    assert decode_canonical(encode(number)) == number == decode_strict(str(number).encode())


@pytest.mark.parametrize("number", [MAX_INTEGER + 1, -MAX_INTEGER - 1, 10**400])
def test_integers_beyond_the_limit_have_no_bytes(number: int) -> None:
    with pytest.raises(EncodingError, match="integer"):
        encode(number)


@pytest.mark.parametrize(
    "text",
    ["1.0", "1e2", "1E2", "-0", "-0.0", "NaN", "Infinity", "-Infinity", "01", "+1", "9007199254740992", "1" * 5_000],
)
def test_numbers_in_any_other_form_are_refused(text: str) -> None:
    """RF-3."""
    for decode in (decode_strict, decode_canonical):
        with pytest.raises(EncodingError):
            decode(text.encode())


@pytest.mark.parametrize(
    "data",
    [b'"\\u0041"', b'"\\/"', b'"\\u001F"', b'"\\u000a"', b'"\\u007f"', b' "a"', b'"a" ', b'{"a": 1}', b"[1, 2]"],
)
def test_another_spelling_of_a_value_is_not_canonical(data: bytes) -> None:
    """RF-2: strict JSON reads it, and the refusal names the first byte that differs."""
    assert encode(decode_strict(data)) != data
    with pytest.raises(EncodingError, match=r"Byte \d+ differs"):
        decode_canonical(data)


@pytest.mark.parametrize("decode", [decode_strict, decode_canonical])
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "Not JSON"),
        (b"\r", "Not JSON"),
        (b"{", "Not JSON"),
        (b"1 2", "Not JSON"),
        (b"'a'", "Not JSON"),
        (b'"a\x01b"', "Not JSON"),
        (b'{"a":1,}', "Not JSON"),
        (b"\xef\xbb\xbf1", "byte order mark"),
        (b'"\xff"', "Byte 1 is not UTF-8"),
        (b'"\xed\xa0\x80"', "not UTF-8"),
        (b'"\xc0\xaf"', "not UTF-8"),
        (rb'"\ud800"', "lone surrogate"),
        (rb'"\udc00\ud800"', "lone surrogate"),
        (rb'{"\ud800":1}', "lone surrogate"),
    ],
)
def test_what_is_no_json_of_unicode_characters_is_refused(decode: object, data: bytes, words: str) -> None:
    """RF-1, RF-4."""
    assert callable(decode)
    with pytest.raises(EncodingError, match=words):
        decode(data)


@pytest.mark.parametrize("decode", [decode_strict, decode_canonical])
@pytest.mark.parametrize("data", [b'{"a":1,"a":1}', b'{"x":{"a":1,"b":2,"a":3}}', rb'{"a":1,"\u0061":2}'])
def test_a_member_that_stands_twice_is_refused_by_name(decode: object, data: bytes) -> None:
    """RF-6."""
    assert callable(decode)
    with pytest.raises(SchemaError, match="a must be present once"):
        decode(data)


@pytest.mark.parametrize("decode", [decode_strict, decode_canonical])
def test_nesting_ends_at_the_limit(decode: object) -> None:
    """RF-5."""
    assert callable(decode)
    assert decode(nested(MAX_DEPTH)) == decode_strict(nested(MAX_DEPTH))
    for depth in (MAX_DEPTH + 1, 2_000, MAX_LINE_BYTES // 2):
        with pytest.raises(EncodingError, match="deeper"):
            decode(nested(depth))


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(EncodingError, match="deeper"):
        encode(loop)


@pytest.mark.parametrize("character", ["a", "é", "€", "😀", "\n"])
def test_a_string_is_measured_in_bytes_before_escaping(character: str) -> None:
    """RF-4."""
    longest = character * (MAX_STRING_BYTES // len(character.encode()))
    longest += "a" * (MAX_STRING_BYTES - len(longest.encode()))
    assert decode_canonical(encode(longest)) == longest
    for value in (longest + "a", {longest + "a": 1}):
        with pytest.raises(EncodingError, match="4097 bytes"):
            encode(value)
        with pytest.raises(EncodingError, match="4097 bytes"):
            decode_strict(json.dumps(value).encode())


def test_a_line_ends_at_the_limit() -> None:
    """RF-1."""
    strings = ["a" * 4_000] * 16
    padding = MAX_LINE_BYTES - len(encode([*strings, ""]))
    longest = [*strings, "a" * padding]
    data = encode(longest)
    assert len(data) == MAX_LINE_BYTES
    assert decode_canonical(data) == longest
    with pytest.raises(EncodingError, match="65537 bytes"):
        encode([*strings, "a" * (padding + 1)])
    for decode in (decode_strict, decode_canonical):
        with pytest.raises(EncodingError, match="65537 bytes"):
            decode(data + b" ")


class Colour(StrEnum):
    """A string that is more than a string."""

    RED = "red"


@pytest.mark.parametrize("value", [1.0, float("nan"), b"a", ("a",), {"a"}, Colour.RED, object(), [1.5]])
def test_only_exact_json_types_have_canonical_bytes(value: object) -> None:
    with pytest.raises(EncodingError, match="has no canonical form"):
        encode(value)


def test_a_name_that_is_no_string_is_refused() -> None:
    with pytest.raises(EncodingError, match="name is a int"):
        encode({1: 2})


def test_text_is_never_normalised() -> None:
    """RF-4: two spellings of é stay two strings, and a byte order mark inside a string is a character."""
    composed, decomposed = "\u00e9", "e\u0301"
    assert encode(composed) != encode(decomposed)
    for text in (composed, decomposed, "\ufeffa", "\u2028", "\v"):
        assert decode_canonical(encode(text)) == text


def test_the_unicode_chain_is_its_own_encoding() -> None:
    for line in vector_lines("golden-unicode.jsonl"):
        assert encode(decode_canonical(line)) == line


@given(st.dictionaries(st.text(max_size=8), values, max_size=4))
def test_what_the_table_accepted_is_spelled_as_anything_else(value: dict[str, object]) -> None:
    assert encode_accepted(value) == encode(value)


@pytest.mark.parametrize("text", ["\ud800", "x" * (MAX_STRING_BYTES + 1), "\u00e9" * (MAX_STRING_BYTES // 2 + 1)])
def test_what_the_table_accepted_may_still_hold_a_string_without_canonical_bytes(text: str) -> None:
    with pytest.raises(EncodingError):
        encode_accepted({"a": [{"b": text}]})


def test_what_the_table_accepted_may_have_long_strings_up_to_the_limits() -> None:
    value: dict[str, object] = {"a": ["\n" * MAX_STRING_BYTES] * 7}
    assert encode_accepted(value) == encode(value)
    with pytest.raises(EncodingError, match="65536"):
        encode_accepted({"a": ["\n" * MAX_STRING_BYTES] * 9})
