"""The questions this planner asks back, and how an answer completes what was asked for before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_host.providers.offline.conversation import PastTurn
from agent_host.providers.offline.patterns import pattern
from agent_host.providers.offline.times.pieces import find_time_words
from agent_host.providers.offline.times.zones import WHOSE_CLOCK
from agent_host.providers.offline.wording import VERBS, tidy

WHAT_TO_REMEMBER = "What should I remember?"
WHAT_TO_NOTE = "What should the note say?"
WHAT_TO_BOOK = "What should I book, and when?"
WHAT_TO_SEARCH = "What should I search the web for?"
TO_WHOM = "To whom should it go?"
WHAT_TO_WRITE = "What should the message say?"
WHICH_ONE = "Which one? Say its number, “all of them”, or “none”."
SHALL_I_REMEMBER = "Shall I remember that?"
SHALL_I_BOOK = "Shall I book that?"
_WHEN = ("When should it be?", "At what time on", WHOSE_CLOCK)
_WHICH_DAY = ("Which day did you mean?", "Which day and time did you mean?", "Which day first?")
_OPENERS = {WHAT_TO_REMEMBER: "Remember that", WHAT_TO_SEARCH: "Search the web for"}
_WHOLE_LINES = (
    *(*_OPENERS, WHAT_TO_BOOK, WHAT_TO_NOTE, TO_WHOM, WHAT_TO_WRITE),
    *(WHICH_ONE, SHALL_I_REMEMBER, SHALL_I_BOOK),
)

_GO_AHEAD = "(?:please|do|do it|do that|go ahead|book it|book that|remember it|remember that)"
_YES = pattern(f"(?:yes|yeah|yep|yup|sure|ok|okay|correct|right|{_GO_AHEAD})", f"(?:[,.! ]+{_GO_AHEAD})*[.!]*")
_NO = pattern(
    "(?:no|nope|nah|none|neither|never ?mind|forget it|don.?t|do not|not now|cancel that|leave it)",
    r"(?:[,.! ]+(?:no|not|now|none|thanks|thank|you|please|never|mind|forget|leave|don.?t|do|need|to|want|i|it|that|"
    r"this|them|of|any|it.?s|fine|ok|okay|book|remember|keep|store|save|cancel|bother))*[.!]*",
)
_ALL = pattern("(?:yes,? )?(?:all|both|all of (?:them|it|those)|everything|all three)")
_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1, "one": 1, "two": 2, "three": 3,
    "four": 4, "five": 5,
}  # fmt: skip
_ORDINAL = pattern(r"(?:the |number |no\.? ?|#)*(?:([0-9]+)(?:st|nd|rd|th|\.)?|([a-z]+))(?: one)?")
_MESSAGE = pattern(r"\b(?:e-?mail|mail|sms|message|text|msg|dm|reply|draft)s?\b(?!\s+(?:an?|the|message)\b)")
_TO = pattern("(?:it.?s )?(?:to|for) ")
_AROUND_TIMES = pattern(
    r"\b(?:at|on|by|for|from|in|the|let.?s|say|make|do|it|that|it.?s|is|be|should|will|would|ok|okay|um+|hm+|well|then|and|"
    r"please|thanks|no|sorry|actually|i|mean|meant|think|better|works?|fine|good|starting|instead|rather)\b"
)
_SENTENCE = pattern(
    r"(?:i|you|he|she|it|they|we|that|this|these|those|what|who|when|where|why|how|which|do|does|did|is|are|was|were|"
    r"can|could|should|would|will|don.?t|not?|actually|make|move|change|set|put|push|wake|tell|show|give|let|remember|"
    r"remind|forget|cancel|stop|help|try|say|go)\b|.*\b(?:it|that|this|them)\b"
)
_HERE = pattern("(?:on |in )?(?:here|mine|ours|my (?:time|clock|own)|our (?:time|clock)|local(?: time)?)")
_LONGEST_NAME = 12  # words
_LONGEST_ANSWER = 300
_LONGEST_POSITION = 2  # digits


@dataclass(frozen=True)
class Wish:
    """What the person wants, completed from what was asked before.

    `choice` is the answer to "Which one?" and `agreed` the yes to "Shall I …?"; both go with the text they were asked
    of. `said_now` tells that the text is the message itself and completes nothing.
    """

    text: str
    choice: int | None = None
    agreed: bool = False
    declined: bool = False
    said_now: bool = False


@dataclass(frozen=True)
class Reader:
    """What this module asks of those that know every request.

    `is_request` tells whether a message stands on its own; `last_of` returns the last request of a message, which is
    the one that asked back.
    """

    is_request: Callable[[str], bool]
    last_of: Callable[[str], str]


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
    if question == WHICH_ONE:
        choice = read_choice(answer)
        return Wish(before.text, choice) if choice is not None else None
    if question == WHAT_TO_BOOK:
        words = f"{answer} {find_time_words(before.text).said()}".strip()
        opener = "Can I book" if find_time_words(words).found else "Book"  # a whole event is shown before it is booked
        return Wish(f"{opener} {words}") if _is_name(find_time_words(answer).rest()) else None
    if question in (WHAT_TO_NOTE, WHAT_TO_WRITE):
        return Wish(f"{before.text.rstrip(' :.')}: {answer}")
    if question == TO_WHOM:
        to = _TO.sub("", tidy(answer))
        named = _MESSAGE.sub(lambda match: f"{match.group()} to {to}", before.text, count=1)
        return Wish(named) if _is_name(to) else None
    if question == WHAT_TO_REMEMBER and "?" in answer:
        return None
    opener = _OPENERS.get(question, "")
    return Wish(f"{opener} {answer}") if opener else _completed_time(before, question, answer)


def _is_name(answer: str) -> bool:
    """Tells whether words name people or an event, and are no sentence of their own."""
    words = [word.casefold().strip(",.!;:") for word in answer.split()]
    sentence = "?" in answer or len(words) > _LONGEST_NAME or any(word in VERBS for word in words)
    return not sentence and _SENTENCE.match(tidy(answer)) is None


def _completed_time(before: Wish, question: str, answer: str) -> Wish | None:
    """Adds a day or a time to a booking; a day that could not be is replaced.

    Nothing but time words and what people put around them is an answer.
    """
    if question.startswith(WHOSE_CLOCK):
        own = question.rpartition("“")[2].partition("”")[0]
        answer = own if _HERE.fullmatch(tidy(answer)) else f"{tidy(answer).removesuffix(' time')} time"
    words = find_time_words(answer)
    words = words if words.found else find_time_words(f"at {tidy(answer)}")  # "9", said to "At what time?"
    if not words.found or _AROUND_TIMES.sub("", words.rest()).strip(" ,.!"):
        return None
    kept = before.text if question.startswith(_WHEN) else find_time_words(before.text).rest()
    return Wish(f"{kept.rstrip(' .!')} {words.said()}")


def complete(past: Sequence[PastTurn], text: str, reader: Reader) -> Wish:
    """Reads the person's words as an answer when the turn before ended in a question of this planner.

    Only what answers the question is taken for an answer, and a new request never is.
    """
    said = [*(turn.text for turn in past), text]
    wish = Wish(said[0], said_now=True)
    for turn, words in zip(past, said[1:], strict=True):
        wish = _next(wish, turn.reply, words, reader)
    return wish


def _next(before: Wish, reply: str, said: str, reader: Reader) -> Wish:
    question = _question(reply)
    if not question or len(said) > _LONGEST_ANSWER:
        return Wish(said, said_now=True)
    asked = Wish(reader.last_of(before.text))
    if is_yes(said):
        return Wish(asked.text, agreed=question in (SHALL_I_REMEMBER, SHALL_I_BOOK))  # else it is asked again
    if is_no(said):
        return Wish(said, declined=True)
    answered = None if reader.is_request(said) else _completed(asked, question, said)
    return answered or Wish(said, said_now=True)


def _question(reply: str) -> str:
    """Returns the question a reply ended in, or "".

    Questions stand on a line of their own and text from tools never does, so that no tool result can ask one. A line
    in brackets is a note of the host's.
    """
    lines = [line for line in reply.splitlines() if line.strip() and not line.startswith("[")]
    last = lines[-1] if lines else ""
    return last if last in _WHOLE_LINES or last.startswith(_WHEN) or last.endswith(_WHICH_DAY) else ""
