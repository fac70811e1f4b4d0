"""Plain JSON: what has one canonical form and comes back from its bytes as it was (RFC 8785, RFC 7493). Pure.

Objects with names that are text, arrays, text without half surrogate pairs, integers within plus or minus 2^53-1,
booleans and null. Python and YAML have more: floats, dates, names that are `true`, types that only look like a dict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from agent_host.providers.protocol import JsonValue

MAX_INTEGER: Final = 2**53 - 1
MAX_LEVELS: Final = 64
MAX_VALUES: Final = 20_000
"""How many values one spec may hold: aliases of YAML can make billions of a few lines."""

SURROGATE: Final = re.compile("[\ud800-\udfff]")
QUOTE_WORDS: Final = "quote words such as yes, no, on and off in YAML"


def plain_fault(value: object, at: str) -> str | None:
    """Returns why a value is not plain JSON, as a clause that names the place; None when it is."""
    waiting: list[tuple[object, str, int]] = [(value, at, 0)]
    seen = 0
    while waiting:
        one, where, level = waiting.pop()
        seen += 1
        if seen > MAX_VALUES:
            return f"{at} holds more than {MAX_VALUES} values"
        if level > MAX_LEVELS:
            return f"{at} is nested more than {MAX_LEVELS} levels deep"
        if fault := _scalar_fault(one, where):
            return fault
        waiting.extend((member, place, level + 1) for member, place in _members(one, where))
        if isinstance(one, Mapping) and (fault := _names_fault(one, where)):
            return fault
    return None


def plain_copy(value: JsonValue) -> JsonValue:
    """Returns a copy made of dicts, lists and JSON's own types; `value` has passed `plain_fault` or `value_fault`.

    Whoever made the value can neither change the copy later, nor has a subclass of his in it.
    """
    if isinstance(value, Mapping):
        return {str.__str__(name): plain_copy(member) for name, member in value.items()}
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Sequence):
        return [plain_copy(item) for item in value]
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _scalar_fault(value: object, where: str) -> str | None:
    if isinstance(value, float):
        return f"{where} is a float, which has no one canonical form to hash; use an integer of a named unit"
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        return f"{where} is a number beyond 2^53-1"
    if isinstance(value, str) and SURROGATE.search(value):
        return f"{where} holds half a surrogate pair, which is no text"
    if value is None or isinstance(value, str | int | Mapping | list | tuple):
        return None
    return f"{where} is a {type(value).__name__}, which JSON has no form for; put it in quotes"


def _names_fault(value: Mapping[object, object], where: str) -> str | None:
    for name in value:
        if not isinstance(name, str):
            return f"{where} has the name {ascii(name)[:40]}, which is no text; {QUOTE_WORDS}"
        if SURROGATE.search(name):
            return f"a name in {where} holds half a surrogate pair, which is no text"
    return None


def _members(value: object, where: str) -> Iterator[tuple[object, str]]:
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield member, f"{where}/{str(name)[:40]}"
    elif isinstance(value, list | tuple):
        for item in value:
            yield item, where
