"""Whether a message begins as a trigger does. Pure.

In a trigger `*` stands for one to twelve words and `?` for one: its subjects. `...` stands for none to four words that
tell nothing, `a|b` for one of two words, `$` for the end of the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from agent_host.skills.markets import asks_about_a_market
from agent_host.skills.sentences import Clauses, plain, sentences
from agent_host.skills.subjects import is_outside

_MOST_WORDS: Final = 60  # that a trigger can reach
_POLITE: Final = re.compile(
    r"(?:(?:please|hi|hello|hey|ok|okay|so|now|then|also|and|but|just|quickly|thanks|prometheus|bitte|und|jetzt|dann"
    r"|(?:can|could|would|will) you|(?:i|we)(?: would)? (?:need|want|like) (?:you )?to"
    r"|let me know|do you know|(?:can|could) you tell me|i wonder|let's|let us|help me|go ahead and|after that"
    r"|(?:kannst|könntest|würdest) du|ich möchte dass du) )+"
)
_PARTS: Final = {"?": r"(\S+) ", "...": r"(?:\S+ ){0,4}?", "$": r"$", "*": r"(\S+(?: \S+){0,11}?) "}
_LAST: Final = {**_PARTS, "*": r"(\S+(?: \S+){0,11}) "}


def is_triggered(message: str, triggers: Sequence[str], never: Sequence[str] = (), *, outside: bool = False) -> bool:
    """Tells whether a sentence of a message, or what stands behind a comma in it, begins as one of the triggers does.

    What is merely polite does not count, nor does a sentence with a word of `never`. With `outside` the subjects have
    to be of the outside world, and a clause that asks about a market needs no trigger.
    """
    patterns = [_pattern(trigger) for trigger in triggers]
    unwanted = {plain(word).casefold() for word in never}
    return any(
        _begins(clauses[at:], patterns, outside=outside)
        for clauses in sentences(message)
        if not unwanted & {word.casefold() for clause in clauses for word in clause}
        for at in range(len(clauses))
    )


def _begins(clauses: Clauses, patterns: Sequence[re.Pattern[str]], *, outside: bool) -> bool:
    """Tells whether clauses, read in one, begin as one of the patterns does."""
    words = [word for clause in clauses for word in clause][:_MOST_WORDS]
    text = f"{' '.join(words)} ".casefold()
    polite = _POLITE.match(text)
    start = polite.end() if polite else 0
    found = (pattern.match(text, start) for pattern in patterns)
    return (outside and asks_about_a_market(clauses[0][text.count(" ", 0, start) :])) or any(
        not outside or all(is_outside(_subject(match, at, clauses)) for at in range(1, len(match.regs)))
        for match in found
        if match
    )


def _subject(match: re.Match[str], group: int, clauses: Clauses) -> list[str]:
    """Returns the words of a group as they were written, up to the end of their clause."""
    first = match.string.count(" ", 0, match.start(group))
    end = first + match[group].count(" ") + 1
    for clause in clauses:
        if first < len(clause):
            return clause[first:end]
        first, end = first - len(clause), end - len(clause)
    return []


@lru_cache(maxsize=512)
def _pattern(trigger: str) -> re.Pattern[str]:
    """Returns a trigger as an expression over words with a space behind each; each subject is a group."""
    *parts, last = plain(trigger).casefold().split() or [""]
    made = [_PARTS.get(part) or _one_of(part) for part in parts]
    return re.compile("".join((*made, _LAST.get(last) or _one_of(last))))


def _one_of(part: str) -> str:
    return "|".join(re.escape(word) for word in part.split("|")).join(("(?:", ") "))
