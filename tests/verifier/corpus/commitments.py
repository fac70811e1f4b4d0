"""Commitments (RF-15): values as somebody wrote them, the bytes RFC 8785 makes of them, and what those commit to."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

KEY = bytes(range(32))
VALUES: list[tuple[str, str, str]] = [
    ("null", " null ", "null"),
    ("amount", '{ "amount" : 12345 }', '{"amount":12345}'),
    ("members-sorted", '{"b":2,"a":1,"B":3,"":0}', '{"":0,"B":3,"a":1,"b":2}'),
    ("members-sorted-at-any-depth", '[{"y":{"n":1,"m":2},"x":[]}]', '[{"x":[],"y":{"m":2,"n":1}}]'),
    ("members-sorted-by-utf-16", '{"\ufb33":1,"\U0001f600":2}', '{"\U0001f600":2,"\ufb33":1}'),
    ("escapes", r'"\u0041\/\u0008\u001f\u2028\u007f\ud83d\ude00"', '"A/\\b\\u001f\u2028\x7f\U0001f600"'),
    ("composed", '"caf\u00e9"', '"caf\u00e9"'),
    ("decomposed", '"cafe\u0301"', '"cafe\u0301"'),
    ("numbers", "[1.0,-0,0.10,1e2,1E30,4.50,2e-3,1e-7]", "[1,0,0.1,100,1e+30,4.5,0.002,1e-7]"),
    (
        "more-numbers",
        "[333333333.33333329,1e21,5e-324]",
        "[333333333.3333333,1e+21,5e-324]",
    ),
    ("words", '[true,false,null,"",[],{}]', '[true,false,null,"",[],{}]'),
]


def rows() -> list[dict[str, Any]]:
    """Every case: the value as written, its canonical bytes as text, and both commitments; the key is 00 to 1f."""
    return [
        {
            "name": name,
            "written": written,
            "canonical": canonical,
            "sha256": hashlib.sha256(canonical.encode()).hexdigest(),
            "hmacSha256": hmac.new(KEY, canonical.encode(), hashlib.sha256).hexdigest(),
        }
        for name, written, canonical in VALUES
    ]
