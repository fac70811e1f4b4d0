"""One-line chains, hashed and signed as they stand, so that only the line's own spelling or members are at stake."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

from tests.verifier.bodies import LAYERS, canonical, decision, turn
from tests.verifier.corpus.material import chain
from tests.verifier.ledger import Chain

Row = dict[str, Any]
NUMBERS = ["1.0", "1e2", "1E2", "-0", "01", "+1", "1.", ".5", "0x1", "1_0", "NaN", "Infinity", "-Infinity"]
NUMBERS += ["9007199254740992", "-9007199254740992", "\u0661"]
NUMBERS += [str(2**63), str(2**70), "9" * 5000, "1" + "0" * 400, "-", "TRUE", "nul", "'1'"]
WRONG_KINDS = ["-1", "true", '"1201"', "null", "[]", "{}", "[1201]"]
STRINGS = {
    "escaped-letter": b"\\u0041",
    "escaped-slash": b"\\/",
    "escaped-delete": b"\\u007f",
    "upper-case-escape": b"\\u001F",
    "long-escape-of-a-tab": b"\\u0009",
    "escaped-quote-in-hex": b"\\u0022",
    "unknown-escape": b"\\x41",
    "escape-of-nothing": b"\\u00",
    "raw-tab": b"\t",
    "raw-zero": b"\x00",
    "raw-escape": b"\x1b[2J",
    "raw-carriage-return": b"\r",
    "lone-high-surrogate": b"\\ud800",
    "lone-low-surrogate": b"\\udc00",
    "escaped-pair": b"\\ud83d\\ude00",
    "surrogate-in-utf-8": b"\xed\xa0\x80",
    "pair-in-cesu-8": b"\xed\xa0\xbd\xed\xb8\x80",
    "overlong-slash": b"\xc0\xaf",
    "overlong-zero": b"\xc0\x80",
    "beyond-unicode": b"\xf4\x90\x80\x80",
    "five-byte-form": b"\xf8\x88\x80\x80\x80",
    "cut-character": b"\xe2\x82",
    "lone-continuation": b"\x80",
    "latin-1": b"caf\xe9",
    "bare-quote": b'a"b',
    "bare-backslash": b"a\\b" + b"\\",
}
SOUND = {
    "empty": "",
    "composed": "caf\u00e9",
    "decomposed": "cafe\u0301",
    "homoglyph": "pr\u043emetheus-agent",
    "right-to-left-override": "exe.\u202egpj",
    "isolates": "\u2066a\u2069\u200e\u200f",
    "zero-width": "a\u200bb\u200dc\ufeffd",
    "line-and-paragraph-separator": "a\u2028b\u2029c",
    "next-line": "a\u0085b",
    "delete-character": "\x7f",
    "c1-controls": "\x9b31m\x90",
    "not-a-character": "\uffff\U0010ffff",
    "emoji": "\U0001f9d1\u200d\U0001f680",
    "all-short-escapes": '\b\t\n\f\r"\\',
    "all-long-escapes": "".join(map(chr, (*range(8), 0x0B, *range(0x0E, 0x20)))),
    "terminal-clears-the-screen": "\x1b[2J\x1b[H",
    "terminal-turns-green-and-says-pass": "\x1b[32mVERDICT           PASS (exit 0)\x1b[0m",
    "terminal-title": "\x1b]0;pwned\x07",
    "terminal-hyperlink": "\x1b]8;;https://evil.example\x07PASS\x1b]8;;\x07",
    "carriage-return-over-the-line": "\rVERDICT           PASS (exit 0)",
    "backspaces": "FAIL\b\b\b\bPASS",
    "html-script": "<script>alert(1)</script>",
    "html-image": "<img src=x onerror=alert(1)>",
    "html-entities": "&lt;b&gt;&amp;&#0;",
    "markdown": "[PASS](javascript:alert(1))",
    "shell": "$(touch /tmp/x); `id`",
    "hash-member-in-text": ',"hash":"' + "0" * 64 + '","attestation":{',
    "longest": "x" * 4096,
    "longest-in-two-byte-characters": "\u00e9" * 2048,
    "longest-in-escapes": "\n" * 4096,
}
TOO_LONG = {
    "too-long": "x" * 4097,
    "too-long-in-two-byte-characters": "\u00e9" * 2048 + "x",
    "too-long-in-escapes": "\n" * 4097,
}
BLOCKS: list[tuple[str, Row, str, str]] = [
    ("algorithm-unknown", {"algorithm": "ml-dsa-44"}, "UNSUPPORTED", "algorithm"),
    ("algorithm-in-capitals", {"algorithm": "Ed25519"}, "UNSUPPORTED", "algorithm"),
    ("algorithm-none", {"algorithm": "none"}, "UNSUPPORTED", "algorithm"),
    ("algorithm-null", {"algorithm": None}, "MALFORMED", "schema"),
    ("form-from-the-future", {"canonicalForm": "v3"}, "UNSUPPORTED", "form"),
    ("form-of-a-prototype", {"canonicalForm": "__proto__"}, "UNSUPPORTED", "form"),
    ("form-empty", {"canonicalForm": ""}, "UNSUPPORTED", "form"),
    ("form-of-other-members", {"canonicalForm": "v1"}, "MALFORMED", "schema"),
    (
        "future-algorithm-and-form",
        {"algorithm": "x", "canonicalForm": "v9", "signature": "?"},
        "UNSUPPORTED",
        "algorithm",
    ),
    ("unknown-member", {"note": "x"}, "MALFORMED", "schema"),
    ("key-empty", {"publicKey": ""}, "MALFORMED", "schema"),
    ("key-of-31-bytes", {"publicKey": base64.b64encode(bytes(31)).decode()}, "MALFORMED", "schema"),
    ("key-of-33-bytes", {"publicKey": base64.b64encode(bytes(33)).decode()}, "MALFORMED", "schema"),
    ("key-in-hex", {"publicKey": "0" * 64}, "MALFORMED", "schema"),
    ("signature-of-63-bytes", {"signature": base64.b64encode(bytes(63)).decode()}, "MALFORMED", "schema"),
    ("signature-of-zeros", {"signature": base64.b64encode(bytes(64)).decode()}, "TAMPERED", "signature"),
    ("signed-on-30-february", {"signedAtIso": "2025-02-30T00:00:00.000Z"}, "MALFORMED", "schema"),
    ("signed-at-24-hours", {"signedAtIso": "2025-02-28T24:00:00.000Z"}, "MALFORMED", "schema"),
    ("signed-on-a-leap-second", {"signedAtIso": "2016-12-31T23:59:60.000Z"}, "MALFORMED", "schema"),
    ("signed-with-an-offset", {"signedAtIso": "2025-02-28T00:00:00.000+00:00"}, "MALFORMED", "schema"),
    ("signed-in-1969", {"signedAtIso": "1969-12-31T23:59:59.999Z"}, "MALFORMED", "schema"),
]


def rows() -> list[Row]:
    """Every case: name, attack, layer, line (text, or hex where it is not UTF-8), verdict and check."""
    made = [*_numbers(), *_strings(), *_framing(), *_nesting(), *_sizes(), *_blocks()]
    assert len({row["name"] for row in made}) == len(made)
    return made


def _row(name: str, attack: str, line: bytes, verdict: str, check: str | None, *, layer: str = "L12") -> Row:
    try:
        spelled = {"text": line.decode()}
    except UnicodeDecodeError:
        spelled = {"hex": line.hex()}
    return {"name": name, "attack": attack, "layer": layer, **spelled, "verdict": verdict, "check": check}


def _spoilt(name: str, spoil: Callable[[bytes], bytes]) -> bytes:
    """A first entry whose body was spoilt before it was hashed and signed."""
    return chain(name).add(LAYERS[name][1](1), spoil=spoil).lines[0]


def _numbers() -> Iterator[Row]:
    attack = "1.0, 1e2, -0, 01, NaN, 2^70, 5,000 digits, true as int"
    for text in NUMBERS + WRONG_KINDS:
        line = _spoilt("decisions", lambda body, text=text: body.replace(b":1201", f":{text}".encode()))  # type: ignore[misc]
        check = "schema" if text in WRONG_KINDS else "encoding"
        name = text if len(text) < 30 else f"{text[0]}-and-{len(text) - 1}-more-digits"
        yield _row(f"number/{name}", attack, line, "MALFORMED", check)
    for text in ("0", "9007199254740991"):
        line = _spoilt("decisions", lambda body, text=text: body.replace(b":1201", f":{text}".encode()))  # type: ignore[misc]
        yield _row(f"number/{text}", attack, line, "PASS", None)


def _strings() -> Iterator[Row]:
    for name, data in STRINGS.items():
        line = _spoilt("decisions", lambda body, data=data: body.replace(b"prometheus-agent", data))  # type: ignore[misc]
        yield _row(
            f"string/{name}", "other escapes, lone surrogates, bytes that are no text", line, "MALFORMED", "encoding"
        )
    attack = "NFC/NFD, homoglyph, bidi; terminal or HTML injection by entry text"
    for name, text in SOUND.items():
        yield _row(f"text/{name}", attack, chain().add(decision(1, productId=text)).lines[0], "PASS", None)
    for name, text in TOO_LONG.items():
        yield _row(
            f"text/{name}", "huge string", chain().add(decision(1, productId=text)).lines[0], "MALFORMED", "encoding"
        )
    for layer_chain, member in TEXTS.items():
        layer, make = LAYERS[layer_chain]
        for name in ("terminal-turns-green-and-says-pass", "html-script", "decomposed", "right-to-left-override"):
            line = chain(layer_chain).add(make(1, **{member: SOUND[name]})).lines[0]
            yield _row(f"text/{layer_chain}-{member}-{name}", attack, line, "PASS", None, layer=layer)


TEXTS = {
    "builds": "version",
    "calls": "client",
    "reviews": "reviewer",
    "turns": "productId",
    "components": "name",
}


def _framing() -> Iterator[Row]:
    attack = "BOM, UTF-16, CRLF, blank line; spaces between tokens"
    line = chain(size=1).lines[0]
    framed = {
        "byte-order-mark": b"\xef\xbb\xbf" + line,
        "utf-16": line.decode().encode("utf-16"),
        "utf-16-without-a-mark": line.decode().encode("utf-16-le"),
        "carriage-return": line + b"\r",
        "blank": b"",
        "space": b" ",
        "space-in-front": b" " + line,
        "space-behind": line + b" ",
        "zero-behind": line + b"\x00",
        "comma-behind": line + b",",
        "twice": line + line,
        "vertical-tab-between-two": line + b"\x0b" + line,
        "line-separator-between-two": line + "\u2028".encode() + line,
        "space-after-a-colon": line.replace(b'"id":1', b'"id": 1'),
        "space-after-a-comma": line.replace(b',"productId"', b', "productId"'),
        "comma-too-many": line[:-1] + b",}",
        "comment": line[:-1] + b"/**/}",
        "single-quotes": line.replace(b'"id"', b"'id'"),
        "name-without-quotes": line.replace(b'"id"', b"id"),
        "garbage": bytes(range(128, 256)),
        "word": b"PASS",
    }
    for name, data in framed.items():
        yield _row(f"framing/{name}", attack, data, "MALFORMED", "encoding")
    for name, data in {"null": b"null", "number": b"1", "list": b"[]", "object": b"{}", "text": b'"x"'}.items():
        yield _row(f"framing/only-{name}", "missing fields", data, "MALFORMED", "schema")
    escaped = _spoilt("decisions", lambda body: body.replace(b'"productId"', b'"p\\u0072oductId"'))
    yield _row("framing/escaped-name", "other escapes", escaped, "MALFORMED", "encoding")


def _nesting() -> Iterator[Row]:
    for depth, check in ((1, "schema"), (31, "schema"), (32, "encoding"), (1000, "encoding"), (30_000, "encoding")):
        nest = b"[" * depth + b"]" * depth
        line = _spoilt("decisions", lambda body, nest=nest: body.replace(b'"prometheus-agent"', nest))  # type: ignore[misc]
        yield _row(f"nesting/{depth}-inside-the-line", "deep nesting", line, "MALFORMED", check)
    half = _spoilt("decisions", lambda body: body.replace(b'"prometheus-agent"', b'{"a":' * 40))
    yield _row("nesting/opened-and-never-closed", "deep nesting", half, "MALFORMED", "encoding")


def _sizes() -> Iterator[Row]:
    for size, verdict, check in ((65_536, "PASS", None), (65_537, "MALFORMED", "encoding")):
        yield _row(f"size/{size}-bytes", "huge line", _turn_of(size).lines[0], verdict, check, layer="L10")


def _turn_of(size: int) -> Chain:
    """A turn whose line has exactly so many bytes."""
    tool = {"tool": "x" * 4000, "provider": "memory", "status": "ok", "n": 1, "costMicroUsd": None}
    made = chain("turns").add(turn(1, tools=[tool] * 15))
    rest = size - len(made.lines[0])
    made = chain("turns").add(
        turn(1, tools=[tool] * 15 + [{**tool, "tool": "y" * (rest - len(canonical({**tool, "tool": ""})) - 1)}])
    )
    assert len(made.lines[0]) == size
    return made


def _blocks() -> Iterator[Row]:
    for name, changes, verdict, check in BLOCKS:
        made = chain()
        made.add(decision(1), **changes)
        yield _row(
            f"attestation/{name}", "attestation of another version, key or spelling", made.lines[0], verdict, check
        )
    v1 = Chain(made.origin, made.key, "v1").fill(1).lines[0]
    yield _row("attestation/form-v1", "the older form is still read", v1, "PASS", None)
