"""Which skills a message is about. Pure.

A skill that has triggers is chosen by them alone. One without is chosen by at least two words that it shares with one
clause of the message and that tell something; common words never count, and a word that few skills have tells more
(agent.md section 4, items 1 and 2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_host.skills.common_words import ALIKE, COMMON_WORDS
from agent_host.skills.sentences import folded_words, stretches
from agent_host.skills.triggers import is_triggered

MOST_SKILLS = 2
"""How many skills join one prompt."""

_SHARED_WORDS = 2
_SHORTEST = 3  # letters of a word that tells something
_TRIGGERED = 1_000_000  # no number of shared words reaches it


@dataclass(frozen=True)
class Skill:
    """One skill: `name` is unique, `triggers` are phrases as `skills.triggers` reads them."""

    name: str
    description: str
    body: str
    triggers: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    """Words of which none may stand in the sentence a trigger matches."""
    tools: tuple[str, ...] = ()
    """Tools of the host itself that are offered with this skill and not without."""
    outside: bool = False
    """Whether a trigger counts only with subjects of the outside world (`subjects.is_outside`)."""


def matching(message: str, skills: Sequence[Skill]) -> tuple[Skill, ...]:
    """Returns the skills that a message is about, the surest first, at most `MOST_SKILLS`."""
    clauses = [_telling(words) for words in stretches(message)]
    about = {skill.name: telling_words(f"{skill.name} {skill.description}") for skill in skills if not skill.triggers}
    ranked = [(_strength(message, clauses, skill, about), skill) for skill in skills]
    found = sorted((-strength, skill.name, skill) for strength, skill in ranked if strength)
    return tuple(skill for _, _, skill in found[:MOST_SKILLS])


def telling_words(text: str) -> frozenset[str]:
    """Returns the words of a text that tell what it is about, without the common ones and those of two letters."""
    return _telling(folded_words(text))


def _telling(words: Sequence[str]) -> frozenset[str]:
    found = {_stem(word) for word in words if word not in COMMON_WORDS}
    return frozenset(ALIKE.get(word, word) for word in found if len(word) >= _SHORTEST and word not in COMMON_WORDS)


def _strength(
    message: str, clauses: Sequence[frozenset[str]], skill: Skill, about: Mapping[str, frozenset[str]]
) -> int:
    if skill.triggers:
        return _TRIGGERED * is_triggered(message, skill.triggers, skill.never, outside=skill.outside)
    own = about[skill.name]
    if not any(len(own & clause) >= _SHARED_WORDS for clause in clauses):
        return 0
    shared = own.intersection(frozenset().union(*clauses))
    return sum(1_000 // sum(word in words for words in about.values()) for word in shared)


def _stem(word: str) -> str:
    """Returns a word without the ending that makes it many or someone's; coarse, and the same for both sides."""
    plain = word.removesuffix("'s")
    return (
        plain[:-1]
        if len(plain) > _SHORTEST and plain.endswith("s") and not plain.endswith(("ss", "us", "is"))
        else plain
    )
