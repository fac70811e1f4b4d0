"""Which proposed facts only repeat what a turn had read: the code behind the spec `restates` (agent.md row 35). Pure.

A fact is dropped when it holds a number or date, and one sentence of one text that was read holds every capitalised and
every digit-bearing word of it, each number behind a name that the fact holds too. So a number that moved from one
name to another counts as new, in the same sentence too: "Zep raised 2M and Mem0 raised 24M" does not say that Zep
raised 24M. In doubt a fact counts as new: a memory twice is a smaller loss than one that is missing.
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
        _WORD.findall(sentence) for text in _list(values["read"]) for sentence in _SENTENCE_END.split(str(text))
    ]
    facts = [fact for fact in _list(values["facts"]) if isinstance(fact, Mapping)]
    return {"dropped": [fact["number"] for fact in facts if _is_restated(str(fact["content"]), sentences)]}


def _is_restated(content: str, sentences: list[list[str]]) -> bool:
    words = _WORD.findall(content)
    if not any(_has_digit(word) for word in words):
        return False
    telling = {word.casefold() for word in words if _has_digit(word) or word[0].isupper()}
    return any(
        telling <= {word.casefold() for word in sentence} and _numbers_go_with(words, sentence)
        for sentence in sentences
    )


def _numbers_go_with(fact: list[str], sentence: list[str]) -> bool:
    """Tells whether each number of a fact goes, in the sentence, with a name that the fact holds too."""
    known = {word.casefold() for word in fact}
    owned: set[str] = set()
    names = (word.casefold() for word in sentence if _is_name(word))
    owner = next(names, None)  # the last name so far; numbers before the first one go with that
    for word in sentence:
        if _has_digit(word) and not _is_name(word):
            if owner is None or owner in known:
                owned.add(word.casefold())
        elif _is_name(word):
            owner = word.casefold()
    return all(word.casefold() in owned for word in fact if _has_digit(word) and not _is_name(word))


def _is_name(word: str) -> bool:
    """Tells a name, such as Mem0, from a number, such as 24M or 2025-10-28, and from a plain word."""
    return word[0].isupper()


def _has_digit(word: str) -> bool:
    return any(letter.isdigit() for letter in word)


def _list(value: JsonValue) -> list[JsonValue]:
    return list(value) if isinstance(value, list | tuple) else []
