"""Which proposed facts only repeat what a turn had read: the code behind the spec `restates` (agent.md row 35). Pure.

A fact is dropped when it holds a number or date, and one sentence of one text that was read holds every capitalised and
every digit-bearing word of it. One sentence, so that a number that moved from one name to another counts as new.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from agent_host.constrained.options import Values
from agent_host.providers.protocol import JsonValue

_WORD: Final = re.compile(r"[^\W_]+(?:[.,:'/-][^\W_]+)*%?")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?;])\s+|\n+")


def restated(values: Values) -> JsonValue:
    """Returns the numbers of the facts to drop, as the output of `restates`; `values` satisfies its input_schema."""
    sentences = [
        {word.casefold() for word in _WORD.findall(sentence)}
        for text in _list(values["read"])
        for sentence in _SENTENCE_END.split(str(text))
    ]
    facts = [fact for fact in _list(values["facts"]) if isinstance(fact, Mapping)]
    return {"dropped": [fact["number"] for fact in facts if _is_restated(str(fact["content"]), sentences)]}


def _is_restated(content: str, sentences: list[set[str]]) -> bool:
    words = _WORD.findall(content)
    if not any(_has_digit(word) for word in words):
        return False
    telling = {word.casefold() for word in words if _has_digit(word) or word[0].isupper()}
    return any(telling <= sentence for sentence in sentences)


def _has_digit(word: str) -> bool:
    return any(letter.isdigit() for letter in word)


def _list(value: JsonValue) -> list[JsonValue]:
    return list(value) if isinstance(value, list | tuple) else []
