"""Which proposed facts only repeat what a turn had read: the code behind the spec `restates` (agent.md row 35). Pure.

A fact is dropped when it holds a number or date and a clause of what was read says the same of the same: the clause
begins with the telling words of the fact, in their order, and goes on with more detail at most. Telling is every word
but articles, forms of "be" and "have", and "in", "on" and "at": names and numbers, but also "rent" and "sister". So a
number that moved from one name, thing or year to another counts as new, in any language and case. In doubt a fact
counts as new: a memory twice is a smaller loss than one that is missing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from agent_host.constrained.options import Values
from agent_host.providers.protocol import JsonValue


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_BREAK: Final = "|"
"""Stands between two clauses."""
_TOKEN: Final = re.compile(
    r"(?:(?<!\w)[-+\u2212])?[$\u20ac\u00a3\u00a5]?[^\W_]+(?:[.,:'/-][^\W_]+)*%?|[,;()|\u3001\uff0c\uff1b\u2013\u2014]"
)
_SENTENCE_END: Final = re.compile(  # "3. Mai" is a date, and ends none
    r"(?<=[.!?])\s+(?!(?:januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember)\b)"
    r"|(?<=[\u3002\uff01\uff1f])|\n+",
    re.IGNORECASE,
)
_JOINING: Final = _set("and but or while whereas that who which und aber oder während dass")
_PRESENT: Final = _set("is are am has have ist sind bin hat haben")
_PAST: Final = _set("was were had war waren hatte hatten")
_PLACING: Final = _set("in on at im um")
_LIGHT: Final = _PRESENT | _PAST | _PLACING | _set("a an the der die das den dem ein eine einen")
_GOING_ON: Final = _set("from to with by von nach mit")
"""Words after which a clause only says more about what it has said."""
_DOUBTING: Final = _set(
    "not no never nobody neither nor if unless whether would could should might false wrong untrue deny denies denied "
    "rumour rumours rumor rumors nicht kein keine keinen nie niemand wenn falls ob falsch"
)
"""Words with which a sentence may hold a clause and not say it."""


@dataclass(frozen=True)
class _Said:
    """A sentence or a fact: its telling words with `_BREAK` between clauses, and all its words."""

    telling: tuple[str, ...]
    words: frozenset[str]

    @property
    def tenses(self) -> tuple[bool, bool]:
        """Whether it speaks of now, and of then."""
        return bool(self.words & _PRESENT), bool(self.words & _PAST)

    @property
    def doubts(self) -> frozenset[str]:
        """The words that may turn it around."""
        return frozenset(word for word in self.words if word in _DOUBTING or word.endswith("n't"))


def restated(values: Values) -> JsonValue:
    """Returns the numbers of the facts to drop, as the output of `restates`; `values` satisfies its input_schema."""
    read = [_said(text) for told in _list(values["read"]) for text in _statements(str(told))]
    facts = [fact for fact in _list(values["facts"]) if isinstance(fact, Mapping)]
    return {"dropped": [fact["number"] for fact in facts if _is_restated(_fact(fact), read)]}


def _fact(fact: Mapping[str, JsonValue]) -> _Said:
    """Returns a proposed fact; one that names nothing of its subject is about it all the same."""
    content, subject = _said(str(fact["content"]).rstrip(" .")), _said(str(fact.get("subject", "")))
    named = not subject.telling or set(subject.telling) & set(content.telling)
    return content if named else _Said(subject.telling + content.telling, subject.words | content.words)


def _is_restated(fact: _Said, read: list[_Said]) -> bool:
    has_number = any(map(_has_digit, fact.telling))
    has_word = any(not _has_digit(word) for word in fact.telling)
    return has_number and has_word and any(_says(sentence, fact) for sentence in read)


def _says(sentence: _Said, fact: _Said) -> bool:
    if sentence.doubts != fact.doubts or _disagree(sentence.tenses, fact.tenses):
        return False
    told, size = sentence.telling, len(fact.telling)
    return any(
        told[at : at + size] == fact.telling and (at == 0 or told[at - 1] == _BREAK) and _ends(told[at + size :])
        for at in range(len(told) - size + 1)
    )


def _disagree(one: tuple[bool, bool], other: tuple[bool, bool]) -> bool:
    return any(one) and any(other) and one != other


def _ends(rest: tuple[str, ...]) -> bool:
    """Tells whether what follows leaves what was said as it is."""
    return not rest or rest[0] == _BREAK or rest[0] in _GOING_ON


def _statements(text: str) -> Iterator[str]:
    """Gives the sentences of a text that state something."""
    for sentence in _SENTENCE_END.split(unicodedata.normalize("NFC", text)):
        if not sentence.rstrip().endswith(("?", "\uff1f")):
            yield sentence.rstrip(" .!")


def _said(text: str) -> _Said:
    words = _TOKEN.findall(unicodedata.normalize("NFC", text).casefold().replace("\u2019", "'"))
    marked = [_BREAK if word in _JOINING or not any(map(str.isalnum, word)) else word for word in words]
    return _Said(tuple(_time_last([word for word in marked if word not in _LIGHT], words)), frozenset(words))


def _time_last(telling: list[str], words: list[str]) -> list[str]:
    """Returns the words with a date that a sentence begins with behind its first clause, where it stands elsewhere."""
    if len(words) < 2 or words[0] not in _PLACING or not _has_digit(words[1]):  # noqa: PLR2004 - "in 2024"
        return telling
    rest = telling[2:] if telling[1:2] == [_BREAK] else telling[1:]
    end = rest.index(_BREAK) if _BREAK in rest else len(rest)
    return [*rest[:end], telling[0], *rest[end:]]


def _has_digit(word: str) -> bool:
    return any(letter.isdigit() for letter in word)


def _list(value: JsonValue) -> list[JsonValue]:
    return list(value) if isinstance(value, list | tuple) else []
