"""The questions this planner asks back, and how an answer completes what was asked for before."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_host.providers.offline.conversation import PastTurn
from agent_host.providers.offline.times.pieces import find_time_words
from agent_host.providers.offline.wording import tidy

WHAT_TO_REMEMBER = "What should I remember?"
WHAT_TO_NOTE = "What should the note say?"
WHAT_TO_BOOK = "What should I book, and when?"
WHAT_TO_SEARCH = "What should I search the web for?"
WHICH_ONE = "Which one? Say its number, “all of them”, or “none”."
SHALL_I_REMEMBER = "Shall I remember that?"
SHALL_I_BOOK = "Shall I book that?"
_WHEN = ("When should it be?", "At what time on")
_WHICH_DAY = "Which day"
_OPENERS = {WHAT_TO_REMEMBER: "Remember that", WHAT_TO_BOOK: "Book", WHAT_TO_SEARCH: "Search the web for"}
_ASKED = (*_OPENERS, WHAT_TO_NOTE, WHICH_ONE, SHALL_I_REMEMBER, SHALL_I_BOOK, *_WHEN, _WHICH_DAY)

_YES = re.compile(
    r"(?:yes|yeah|yep|yup|sure|ok|okay|please do|do it|do that|go ahead|correct|right|please)\b.*", re.IGNORECASE
)
_NO = re.compile(
    r"(?:no|nope|nah|none|neither|never ?mind|forget it|don'?t|not now|cancel that|leave it)\b.*", re.IGNORECASE
)
_ALL = re.compile(r"(?:yes,? )?(?:all|both|all of (?:them|it|those)|everything|all three)", re.IGNORECASE)
_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1, "one": 1, "two": 2, "three": 3,
    "four": 4, "five": 5,
}  # fmt: skip
_ORDINAL = re.compile(r"(?:the |number |no\.? ?|#)*(\w+?)(?:st|nd|rd|th)?(?: one)?", re.IGNORECASE)
_LONGEST_ANSWER = 300


@dataclass(frozen=True)
class Wish:
    """What the person wants, completed from what was asked before. `choice` is the answer to "Which one?"."""

    text: str
    choice: int | None = None
    declined: bool = False


def read_choice(text: str) -> int | None:
    """Reads "the first one", "2", "all of them" as a position; None when it is none of these."""
    plain = tidy(text).rstrip(".!")
    if _ALL.fullmatch(plain):
        return 0
    match = _ORDINAL.fullmatch(plain)
    if match is None:
        return None
    word = match[1].casefold()
    if word.isascii() and word.isdigit() and len(word) < 3:  # noqa: PLR2004 - a list is shorter
        return int(word) or None
    return _ORDINALS.get(word)


def is_yes(text: str) -> bool:
    """Tells whether a short answer agrees."""
    return _YES.fullmatch(tidy(text)) is not None


def is_no(text: str) -> bool:
    """Tells whether a short answer declines."""
    return _NO.fullmatch(tidy(text)) is not None


def _completed(before: Wish, question: str, answer: str) -> Wish | None:
    """Joins an answer to what was asked before; None when the question was none of ours or this is no answer to it."""
    asked = next((text for text in (SHALL_I_REMEMBER, SHALL_I_BOOK) if text in question), None)
    if asked is not None:
        opener = "Remember that" if asked == SHALL_I_REMEMBER else "Book"
        return Wish(f"{opener} {before.text}") if is_yes(answer) else None
    if WHICH_ONE in question:
        choice = read_choice(answer)
        return Wish(before.text, choice) if choice is not None else None
    opened = next((words for asked, words in _OPENERS.items() if asked in question), None)
    if opened is not None:
        return Wish(f"{opened} {answer}")
    if WHAT_TO_NOTE in question:
        return Wish(f"{before.text.rstrip(' :.')}: {answer}")
    return _completed_time(before, question, answer)


def _completed_time(before: Wish, question: str, answer: str) -> Wish | None:
    """Adds a day or a time to a booking; a day that could not be is replaced."""
    if not find_time_words(answer).found:
        return None
    if any(asked in question for asked in _WHEN):
        return Wish(f"{before.text.rstrip(' .!')} {answer}")
    if _WHICH_DAY in question:
        return Wish(f"{find_time_words(before.text).rest().rstrip(' .!')} {answer}")
    return None


def complete(past: Sequence[PastTurn], text: str, is_command: Callable[[str], bool]) -> Wish:
    """Reads the person's words as an answer when the turn before ended in a question of this planner.

    A new command is never taken for an answer.
    """
    said = [*(turn.text for turn in past), text]
    wish = Wish(said[0])
    for turn, words in zip(past, said[1:], strict=True):
        wish = _next(wish, turn.reply, words, is_command)
    return wish


def _next(before: Wish, reply: str, said: str, is_command: Callable[[str], bool]) -> Wish:
    question = reply.rstrip().rpartition("\n")[2]
    if len(said) > _LONGEST_ANSWER or not any(asked in question for asked in _ASKED) or is_command(said):
        return Wish(said)
    if is_no(said):
        return Wish(said, declined=True)
    return _completed(before, question, said) or Wish(said)
