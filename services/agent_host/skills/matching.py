"""Which skills a message is about. Pure.

A skill that has triggers is chosen by them alone: phrases that a sentence begins with, once what is merely polite is
left out. One without triggers is chosen by at least two words that it shares with the message and that tell something;
common words never count (agent.md section 4, items 1 and 2).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from agent_host.skills.common_words import COMMON_WORDS

MOST_SKILLS = 2
"""How many skills join one prompt."""

_SHARED_WORDS = 2
_SHORTEST = 3  # letters of a word that tells something
_SENTENCE = re.compile(r"[.!?;:\n]+(?:\s|$)")
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_POLITE = re.compile(
    r"^(?:(?:please|hi|hello|hey|ok|okay|so|now|then|also|and|just|quickly|bitte|und|jetzt"
    r"|(?:can|could|would|will) you|(?:i|we)(?: would)? (?:need|want|like) you to|(?:i|we) (?:need|want) to"
    r"|i'd like you to|let's|help me|(?:kannst|könntest) du|ich möchte dass du) )+"
)


@dataclass(frozen=True)
class Skill:
    """One skill: `name` is unique, `triggers` are phrases in which `*` stands for one to twelve words."""

    name: str
    description: str
    body: str
    triggers: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    """Words of which none may stand in the sentence a trigger matches."""
    tools: tuple[str, ...] = ()
    """Tools of the host itself that are offered with this skill and not without."""


def matching(message: str, skills: Sequence[Skill]) -> tuple[Skill, ...]:
    """Returns the skills that a message is about, the surest first, at most `MOST_SKILLS`."""
    told = telling_words(message)
    ranked = [(_strength(message, told, skill), skill) for skill in skills]
    found = sorted((-strength, skill.name, skill) for strength, skill in ranked if strength)
    return tuple(skill for _, _, skill in found[:MOST_SKILLS])


def is_triggered(message: str, skill: Skill) -> bool:
    """Tells whether a sentence of the message begins as one of the skill's triggers does."""
    patterns = [_pattern(trigger) for trigger in skill.triggers]
    never = {_folded(word) for word in skill.never}
    for sentence in _SENTENCE.split(message):
        words = _words(sentence)
        plain = _POLITE.sub("", f"{' '.join(words)} ", count=1).strip()
        if not never & set(words) and any(pattern.match(plain) for pattern in patterns):
            return True
    return False


def telling_words(text: str) -> frozenset[str]:
    """Returns the words of a text that tell what it is about, without the common ones and those of two letters."""
    found = {_stem(word) for word in _words(text) if word not in COMMON_WORDS}
    return frozenset(word for word in found if len(word) >= _SHORTEST and word not in COMMON_WORDS)


def _strength(message: str, told: frozenset[str], skill: Skill) -> int:
    if skill.triggers:
        return 1_000 if is_triggered(message, skill) else 0
    shared = told & telling_words(f"{skill.name} {skill.description}")
    return len(shared) if len(shared) >= _SHARED_WORDS else 0


def _pattern(trigger: str) -> re.Pattern[str]:
    """Returns a trigger as an expression over words with single spaces; `a|b` in brackets are alternatives."""
    parts = []
    for part in _folded(trigger).split():
        if part == "*":
            parts.append(r"\S+(?: \S+){0,11}?")
        else:
            parts.append("|".join(re.escape(word) for word in part.split("|")).join(("(?:", ")")))
    return re.compile(" ".join(parts) + r"(?: |$)")


def _words(text: str) -> list[str]:
    return _WORD.findall(_folded(text))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold().replace("\u2019", "'")


def _stem(word: str) -> str:
    """Returns a word without the ending that makes it many or someone's; coarse, and the same for both sides."""
    plain = word.removesuffix("'s")
    return (
        plain[:-1]
        if len(plain) > _SHORTEST and plain.endswith("s") and not plain.endswith(("ss", "us", "is"))
        else plain
    )
