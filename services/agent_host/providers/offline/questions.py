"""The questions this planner asks back, and how an answer completes what was asked for before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_host.providers.offline.conversation import PastTurn
from agent_host.providers.offline.patterns import pattern
from agent_host.providers.offline.times.pieces import find_time_words
from agent_host.providers.offline.wording import tidy

WHAT_TO_REMEMBER = "What should I remember?"
WHAT_TO_NOTE = "What should the note say?"
WHAT_TO_BOOK = "What should I book, and when?"
WHAT_TO_SEARCH = "What should I search the web for?"
TO_WHOM = "To whom should it go?"
WHAT_TO_WRITE = "What should the message say?"
WHICH_ONE = "Which one? Say its number, “all of them”, or “none”."
SHALL_I_REMEMBER = "Shall I remember that?"
SHALL_I_BOOK = "Shall I book that?"
_WHEN = ("When should it be?", "At what time on")
_WHICH_DAY = ("Which day did you mean?", "Which day and time did you mean?", "Which day first?")
_OPENERS = {WHAT_TO_REMEMBER: "Remember that", WHAT_TO_SEARCH: "Search the web for"}
_WHOLE_LINES = (
    *(*_OPENERS, WHAT_TO_BOOK, WHAT_TO_NOTE, TO_WHOM, WHAT_TO_WRITE),
    *(WHICH_ONE, SHALL_I_REMEMBER, SHALL_I_BOOK),
)

_GO_AHEAD = "(?:please|do|do it|do that|go ahead|book it|book that|remember it|remember that)"
_YES = pattern(f"(?:yes|yeah|yep|yup|sure|ok|okay|correct|right|{_GO_AHEAD})", f"(?:[,.! ]+{_GO_AHEAD})*[.!]*")
_NO = pattern(r"(?:no|nope|nah|none|neither|never ?mind|forget it|don.?t|not now|cancel that|leave it)\b.*")
_ALL = pattern("(?:yes,? )?(?:all|both|all of (?:them|it|those)|everything|all three)")
_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1, "one": 1, "two": 2, "three": 3,
    "four": 4, "five": 5,
}  # fmt: skip
_ORDINAL = pattern(r"(?:the |number |no\.? ?|#)*(?:([0-9]+)(?:st|nd|rd|th|\.)?|([a-z]+))(?: one)?")
_MESSAGE = pattern(r"\b(?:e-?mail|mail|sms|message|text|msg|dm|reply|draft)s?\b(?!\s+(?:an?|the|message)\b)")
_TO = pattern("(?:it.?s )?(?:to|for) ")
_LONGEST_ANSWER = 300
_LONGEST_POSITION = 2  # digits


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
    if match[1]:
        return int(match[1]) or None if len(match[1]) <= _LONGEST_POSITION else None
    return _ORDINALS.get(match[2].casefold())


def is_yes(text: str) -> bool:
    """Tells whether a short answer agrees."""
    return _YES.fullmatch(tidy(text)) is not None


def is_no(text: str) -> bool:
    """Tells whether a short answer declines."""
    return _NO.fullmatch(tidy(text)) is not None


def _completed(before: Wish, question: str, answer: str) -> Wish | None:
    """Joins an answer to what was asked before; None when this is no answer to it."""
    if question in (SHALL_I_REMEMBER, SHALL_I_BOOK):
        opener = "Remember that" if question == SHALL_I_REMEMBER else "Book"
        return Wish(f"{opener} {before.text}") if is_yes(answer) else None
    if question == WHICH_ONE:
        choice = read_choice(answer)
        return Wish(before.text, choice) if choice is not None else None
    if question == WHAT_TO_BOOK:
        return Wish(f"Book {answer} {before.text.strip().partition(' ')[2]}".strip())
    if question in (WHAT_TO_NOTE, WHAT_TO_WRITE):
        return Wish(f"{before.text.rstrip(' :.')}: {answer}")
    if question == TO_WHOM:
        return Wish(_MESSAGE.sub(lambda match: f"{match.group()} to {_TO.sub('', tidy(answer))}", before.text, count=1))
    opener = _OPENERS.get(question, "")
    return Wish(f"{opener} {answer}") if opener else _completed_time(before, question, answer)


def _completed_time(before: Wish, question: str, answer: str) -> Wish | None:
    """Adds a day or a time to a booking; a day that could not be is replaced."""
    answer = answer if find_time_words(answer).found else f"at {answer}"  # "9", said to "At what time?"
    if not find_time_words(answer).found:
        return None
    if question.startswith(_WHEN):
        return Wish(f"{before.text.rstrip(' .!')} {answer}")
    return Wish(f"{find_time_words(before.text).rest().rstrip(' .!')} {answer}")


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
    question = _question(reply)
    if not question or len(said) > _LONGEST_ANSWER:
        return Wish(said)
    agreed = is_yes(said) and question in (SHALL_I_REMEMBER, SHALL_I_BOOK)
    if not agreed and is_command(said):
        return Wish(said)
    if is_no(said):
        return Wish(said, declined=True)
    return _completed(before, question, said) or Wish(said)


def _question(reply: str) -> str:
    """Returns the question a reply ended in, or "".

    Questions stand on a line of their own and text from tools never does, so that no tool result can ask one. A line
    in brackets is a note of the host's.
    """
    lines = [line for line in reply.splitlines() if line.strip() and not line.startswith("[")]
    last = lines[-1] if lines else ""
    return last if last in _WHOLE_LINES or last.startswith(_WHEN) or last.endswith(_WHICH_DAY) else ""
