"""Whether a clause asks about a market: competitors, funding, prices, vendors. Pure.

It begins as a question or a request, has a word of markets and nothing of the person's own, and does not mean "the
company" or "the market" alone, which both sides can point at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from agent_host.skills.sentences import word_set
from agent_host.skills.subjects import ARTICLES, GIVEN_NAMES, JOINTS, OWNERS, is_named, is_own

_ASKS: Final = word_set(
    "what which who whose how where when why is are was were has have does do did can could should would tell "
    "give show get find list name check look explain describe understand summarise summarize compare know learn "
    "any was welche welcher welches wer wie wo wann warum gibt hat haben ist sind gib zeig zeige finde nenne mach "
    "mache erstelle such suche vergleiche"
)
_MARKETS: Final = word_set(
    "competitor competitors competition competing rival rivals market markets marketplace industry industries "
    "vendor vendors supplier suppliers makers manufacturers providers investor investors startup startups "
    "companies firms funding pricing valuation valuations revenue revenues headcount ipo trends landscape "
    "alternatives founders acquisitions markt märkte branche anbieter hersteller konkurrent konkurrenten "
    "konkurrenz wettbewerber wettbewerb investoren gründer umsatz finanzierung bewertung alternativen unternehmen "
    "firmen"
)
_COMPOUNDS: Final = ("marktanalyse", "wettbewerbsanalyse", "konkurrenzanalyse", "marktgröße", "marktanteil")
_DOES: Final = word_set(
    "funds funded raise raised raising invests invested competes compete differ differs acquire acquired worth "
    "owns owned supplies supplied offer offers sells sell produce produces employ employs employees business "
    "charge charges costs hiring hired launch launched announce announced customers users subscribers shares "
    "stock listed licence license headquartered bankrupt profitable"
)
"""What companies do; about one with a name it tells the same."""
_STALLS: Final = word_set("farmers farmer's flea christmas fish street night super stock black job")
_TALKED: Final = word_set("i ich said say told mention mentioned discuss discussed wrote noted saved remember")
_TELLING_OF: Final = word_set("of for in to behind on like von für im zu auf bei size share")


def asks_about_a_market(words: Sequence[str]) -> bool:
    """Tells whether a clause, in its words as they were written and without what is merely polite, does."""
    told = [word.casefold() for word in words]
    if not told or told[0] not in _ASKS or _TALKED & set(told) or ("we" in told and "know" not in told):
        return False
    named = is_named(words[1:])
    if told[0] == "how" and _is_about_an_actor(words):
        return not any(map(_is_ones_own, _phrases(told[1:])))
    found = any(_tells(told, at, named=named) for at in range(1, len(told)))
    return (found or (named and bool(_DOES & set(told)))) and not any(map(_is_ones_own, _phrases(told[1:])))


def _is_about_an_actor(words: Sequence[str]) -> bool:
    """Tells "how did Nvidia grow" and "how is Nvidia doing" from "how is Lisbon" and "how did it go"."""
    told = [word.casefold() for word in words]
    acts = told[1:2] in (["did"], ["does"], ["has"]) or (told[1:2] in (["is"], ["are"]) and "doing" in told)
    return acts and is_named(words[2:3])


def _tells(told: Sequence[str], at: int, *, named: bool) -> bool:
    """Tells whether the word here is one of markets, and says which."""
    word = told[at].removesuffix("'s")
    if word not in _MARKETS:
        return word.startswith(_COMPOUNDS)
    before, after = told[at - 1], told[at + 1] if at + 1 < len(told) else ""
    return before not in _STALLS and (named or before not in ARTICLES or after in _TELLING_OF)


def _is_ones_own(phrase: Sequence[str]) -> bool:
    if phrase[0] in OWNERS:
        rest = phrase[1:]
        return not rest or is_own(rest) or bool(_MARKETS & set(rest))
    if any(word.removesuffix("'s") in GIVEN_NAMES for word in phrase):
        return True
    return not _MARKETS & set(phrase) and is_own(phrase)


def _phrases(told: Sequence[str]) -> Iterator[list[str]]:
    """Gives the nouns of a clause with what stands before them."""
    phrase: list[str] = []
    for word in (*told, "and"):
        if word in JOINTS or word in _ASKS or (word in OWNERS and phrase):
            if phrase:
                yield phrase
            phrase = [word] if word in OWNERS else []
        else:
            phrase.append(word)
