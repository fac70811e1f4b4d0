"""RF-1 to RF-5: whatever is not the one spelling of a line is malformed, and the check is `encoding`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.verifier import ledger
from tests.verifier.conftest import Judge

TEXT = b'"prometheus-agent"'
NUMBER = b'"latencyMs":1203'
Spoil = Callable[[bytes], bytes]


def swap(old: bytes, new: bytes) -> Spoil:
    def spoil(body: bytes) -> bytes:
        assert body.count(old) == 1
        return body.replace(old, new)

    return spoil


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


NUMBERS = [
    b"1203.0",
    b"1203.",
    b".5",
    b"1e3",
    b"1E3",
    b"1e+3",
    b"0e0",
    b"-0",
    b"-0.0",
    b"01203",
    b"-01",
    b"00",
    b"+1203",
    b"0x4b3",
    b"1_203",
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"-",
    b"--1",
    b"9007199254740992",
    b"-9007199254740992",
    b"9" * 17,
    b"9" * 40,
    b"-" + b"9" * 40,
    b"9" * 5000,
    b"1203n",
    b"true1",
    b"True",
    b"None",
    b"undefined",
    b"nul",
    b"",
]
STRINGS = [
    rb'"\u0065"',
    rb'"\u0041"',
    rb'"a\/b"',
    rb'"\u001F"',
    rb'"\u0008"',
    rb'"\u0009"',
    rb'"\u000a"',
    rb'"\u000c"',
    rb'"\u000d"',
    rb'"\u0022"',
    rb'"\u005c"',
    rb'"\u007f"',
    rb'"\u00e9"',
    rb'"\ud83d\ude00"',
    rb'"\ud800"',
    rb'"\udc00"',
    rb'"\udc00\ud800"',
    rb'"\U0001"',
    rb'"\x01"',
    rb'"\0"',
    rb'"\a"',
    rb'"\v"',
    rb"\"'\"",
    rb'"\u001"',
    rb'"\u00"',
    rb'"\"',
    rb"'a'",
    b'"a\x01b"',
    b'"a\tb"',
    b'"a\rb"',
    b'"a\x0bb"',
    b'"a\x0cb"',
    b'"a\x00b"',
    b'"a\x1fb"',
    b'"',
    b'"a',
    b'a"',
    b'"a"b"',
    b'"\xff"',
    b'"\xc3"',
    b'"\xe9"',
    b'"\xc0\x80"',
    b'"\xc1\xbf"',
    b'"\xe0\x80\xaf"',
    b'"\xf0\x80\x80\xaf"',
    b'"\xed\xa0\x80"',
    b'"\xed\xbf\xbf"',
    b'"\xed\xa0\xbd\xed\xb8\x80"',
    b'"\xf4\x90\x80\x80"',
    b'"\xf8\x88\x80\x80\x80"',
    b'"\xe2\x82"',
    b'"\x80"',
    b'"' + b"x" * 4097 + b'"',
    b'"' + "é".encode() * 2048 + b'x"',
    b'"' + "é".encode() * 2049 + b'"',
    b'"' + "😀".encode() * 1024 + b'x"',
    b'"' + rb"\u0000" * 4097 + b'"',
    b'"' + rb"\"" * 4097 + b'"',
]
SHAPES: dict[str, Spoil] = {
    "space after a colon": swap(b'"id":3', b'"id": 3'),
    "space before a colon": swap(b'"id":3', b'"id" :3'),
    "space after a comma": swap(b',"productId"', b', "productId"'),
    "space at the start": lambda body: b" " + body,
    "space inside the first brace": swap(b'{"id"', b'{ "id"'),
    "tab between members": swap(b',"productId"', b',\t"productId"'),
    "carriage return between members": swap(b',"productId"', b',\r"productId"'),
    "trailing comma": lambda body: body[:-1] + b",}",
    "two commas": swap(b',"productId"', b',,"productId"'),
    "no comma": swap(b',"productId"', b'"productId"'),
    "no colon": swap(b'"id":3', b'"id"3'),
    "semicolon": swap(b',"productId"', b';"productId"'),
    "comment": swap(b',"productId"', b',/**/"productId"'),
    "bare name": swap(b'"productId":', b"productId:"),
    "single quotes": swap(b'"productId":', b"'productId':"),
    "escaped name": swap(b'"productId":', rb'"product\u0049d":'),
    "number as name": swap(b'"productId":', b"1:"),
    "byte order mark": lambda body: b"\xef\xbb\xbf" + body,
    "UTF-16 byte order mark": lambda body: b"\xff\xfe" + body,
    "object closed by a bracket": swap(b'"version":"2026-05-01"}', b'"version":"2026-05-01"]'),
    "object left open": swap(b'"version":"2026-05-01"}', b'"version":"2026-05-01"'),
    "object closed twice": swap(b'"version":"2026-05-01"}', b'"version":"2026-05-01"}}'),
    "array with a hole": swap(NUMBER, b'"latencyMs":[1,,2]'),
    "array with a trailing comma": swap(NUMBER, b'"latencyMs":[1,]'),
    "member without a value": swap(NUMBER, b'"latencyMs":'),
    "33 deep": swap(NUMBER, b'"latencyMs":' + nested(32)),
    "1,000 deep": swap(NUMBER, b'"latencyMs":' + nested(1000)),
    "30,000 open brackets": swap(NUMBER, b'"latencyMs":' + b"[" * 30_000),
    "a long name": swap(NUMBER, NUMBER + b',"' + b"x" * 4097 + b'":1'),
    "a string that never ends, of escaped quotes": swap(TEXT, b'"' + rb"\"" * 25_000),
}
ENDINGS = [
    b"\r",
    b" ",
    b"\t",
    b"\x0b",
    b"\x0c",
    b"\x00",
    b"\xc2\x85",
    b"\xe2\x80\xa8",
    b"\xef\xbb\xbf",
    b",",
    b"}",
    b"1",
    b'"x"',
    b"{}",
]


def spoilt(spoil: Spoil) -> ledger.Chain:
    chain = ledger.Chain().fill(2)
    return chain.add(ledger.decision(3), spoil=spoil).fill(5)


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:20].decode() or "nothing")
def test_a_number_has_one_spelling(number: bytes, judge: Judge) -> None:
    outcome = judge(spoilt(swap(NUMBER, b'"latencyMs":' + number)), text_too=False)

    assert outcome.found == ("MALFORMED", 3, "encoding")


@pytest.mark.parametrize("text", STRINGS, ids=lambda text: ascii(text[:20]))
def test_a_string_has_one_spelling_and_a_limit(text: bytes, judge: Judge) -> None:
    outcome = judge(spoilt(swap(TEXT, text)), text_too=False)

    assert outcome.found == ("MALFORMED", 3, "encoding")


@pytest.mark.parametrize("shape", SHAPES)
def test_a_line_has_one_shape(shape: str, judge: Judge) -> None:
    outcome = judge(spoilt(SHAPES[shape]))

    assert outcome.found == ("MALFORMED", 3, "encoding")


@pytest.mark.parametrize("ending", ENDINGS, ids=ascii)
def test_only_a_line_feed_ends_a_line(ending: bytes, judge: Judge) -> None:
    chain = ledger.Chain().fill(5)
    chain.lines[2] += ending

    assert judge(chain).found == ("MALFORMED", 3, "encoding")


@pytest.mark.parametrize(
    "between", [b"", b" ", b"\r", b"\x00", b"garbage", b"\xff", b"{}{}", b"[", b"\xef\xbb\xbf"], ids=ascii
)
def test_a_line_that_is_no_json_is_malformed_at_the_id_expected_there(between: bytes, judge: Judge) -> None:
    chain = ledger.Chain().fill(5)
    chain.lines.insert(2, between)

    outcome = judge(chain)

    assert outcome.found == ("MALFORMED", 3, "encoding")
    assert outcome.report["entries"] == 5
    assert outcome.report["offset"] == len(b"\n".join(chain.lines[:2])) + 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "x" * 4096,
        "é" * 2048,
        "😀" * 1024,
        '"' * 4096,
        "\\" * 4096,
        "\x00" * 4096,
        "\n" * 4096,
        "/",
        "\x7f",
        "\x85",
        "\xa0",
        "\u2028\u2029",
        "\ufeff",
        "\ufffe\uffff",
        "\ufffd",
        "\U0010ffff",
        "e\u0301",
        "é",
        "א\u202e",
        "\x1b[31mred",
        "</script>",
        "{",
        '{"a":1}',
        "[",
        '":1}',
        ",",
        '{",":1}',
        "null",
        "\\u0041",
        'x","hash":"',
        "\x0b",
        "\b\t\n\f\r",
        "\x1f",
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_any_text_in_its_one_spelling_passes_unchanged(text: str, judge: Judge) -> None:
    chain = ledger.Chain().fill(2).add(ledger.decision(3, productId=text)).fill(5)

    assert judge(chain).found == ("PASS", None, None)


def filler(size: int) -> ledger.Chain:
    """A chain whose third line has exactly so many bytes, all of it sound."""
    chain = ledger.Chain(ledger.TURNS).fill(2)
    rows = [{"tool": "t" * 4000, "provider": "memory", "status": "ok", "n": 1, "costMicroUsd": None} for _ in range(16)]
    rows[-1]["tool"] = ""
    missing = size - len(ledger.Chain(ledger.TURNS).add(ledger.turn(3, tools=rows)).lines[-1])
    rows[-1]["tool"] = "t" * missing
    chain.add(ledger.turn(3, tools=rows))
    assert len(chain.lines[-1]) == size
    return chain.fill(5)


@pytest.mark.parametrize(("size", "found"), [(65_536, ("PASS", None, None)), (65_537, ("MALFORMED", 3, "encoding"))])
def test_a_line_has_at_most_65536_bytes_without_its_line_feed(
    size: int, found: tuple[object, ...], judge: Judge
) -> None:
    assert judge(filler(size), policy=ledger.policy(ledger.TURNS)).found == found


def test_a_line_longer_than_several_blocks_is_one_malformed_line(judge: Judge) -> None:
    chain = ledger.Chain().fill(5)
    chain.lines.insert(2, b"x" * 700_000)

    outcome = judge(chain)

    assert outcome.found == ("MALFORMED", 3, "encoding")
    assert outcome.report["entries"] == 5


@pytest.mark.parametrize("depth", [1, 30, 31])
def test_nesting_up_to_32_is_a_matter_of_the_schema(depth: int, judge: Judge) -> None:
    outcome = judge(spoilt(swap(NUMBER, b'"latencyMs":' + nested(depth))))

    assert outcome.found == ("MALFORMED", 3, "schema")
