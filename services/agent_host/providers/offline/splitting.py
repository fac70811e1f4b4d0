"""Messages with several requests in them: "remember … and book …", two bookings, one sentence after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from agent_host.providers.offline.calendar.booking import Book, title_of
from agent_host.providers.offline.memory.requests import Forget, Remember
from agent_host.providers.offline.messages.requests import DraftMessage
from agent_host.providers.offline.patterns import one_of, pattern
from agent_host.providers.offline.recognition import (
    changes_something,
    command,
    is_interrogative,
    without_courteous_mark,
)
from agent_host.providers.offline.routine import Request
from agent_host.providers.offline.times.clock import Clock, ClockRange
from agent_host.providers.offline.times.pieces import find_time_words
from agent_host.providers.offline.wording import subject_of

_MOST_PARTS = 6
_MOST_SEPARATORS = 10
_LONGEST = 1000  # characters; a longer message is one request
_AND = "(?:and then|and also|and|then|also|plus)"
_SEPARATOR = pattern(rf"[,;]?\s{_AND}\s|[.;!?]\s(?:{_AND}\s)?|,\s|\n")
_STARTS = pattern(
    "(?:please |can you |could you )*",
    one_of(
        "remember", "keep in mind", "memori[sz]e", "forget", "book", "schedule", "reserve", "arrange", "set up",
        "block", "put", "add", "create", "cancel", "delete", "remove", "move", "reschedule", "remind me",
        "take a note", "make a note", "write down", "jot down", "note (?:down|that)", "find", "search", "google",
        "look up", "research", "show", "list", "tell me", "what", "when", "who", "where", "am i", "do i", "how",
        "calculate", "actually", "draft", "compose", "write", "e-?mail", "text", "message", "discard", "compare",
    ),
    r"\b",
)  # fmt: skip
_FREE_TEXT = pattern(
    r"[^.!?\n]{0,80}?\b(?:note|notes|remember|down|list|titled [^:\n]{1,80}|e-?mail|message|sms|text|draft)\b",
    r"[^:\n]{0,80}:",
)
_WISH = pattern(r"\b(?:(?:need|want|have|has|going|plan|like|love|wish|try)s? to|should|must|will|would|can)\b")
_CONDITION = pattern(r"\b(?:if|when|whenever|unless|before|after|once|until|while)\b")
_THEM = pattern(r"\b(?:them|her|him|he|she|they)\b")
_ABOUT_IT = pattern(r"(?<=\babout )(?:it|that|this)\b")


def _has_clock(text: str) -> bool:
    words = find_time_words(text)
    return words.first(Clock) is not None or words.first(ClockRange) is not None


def _complete(text: str) -> Request | None:
    """Returns what a part asks for when it can stand alone; a booking needs a time of its own."""
    request = command(text)
    if isinstance(request, Book):
        return (
            request if find_time_words(request.text).found and title_of(find_time_words(request.text).rest()) else None
        )
    if isinstance(request, Remember):
        return request if request.body.strip() else None
    if isinstance(request, DraftMessage):
        return request if request.to and (request.said or request.about) else None
    return request


def _continued(left: Request, right: str) -> str | None:
    """Gives a part without a verb the verb of the part before: a second booking, a second thing to remember."""
    if isinstance(left, Remember) and right.casefold().startswith("that "):
        return f"remember {right}"
    if isinstance(left, Book) and _has_clock(left.text) and _has_clock(right):
        return f"book {right}" if title_of(find_time_words(right).rest()) else None
    return None


def _with_name(part: str, before: Request) -> str:
    """Puts the name for "them" in what follows something to remember or to forget, and a booking's for "about it"."""
    if isinstance(before, Book):
        return _ABOUT_IT.sub(lambda _: title_of(find_time_words(before.text).rest()), part)
    said = before.body if isinstance(before, Remember) else before.subject if isinstance(before, Forget) else ""
    subject = subject_of(said)
    return _THEM.sub(lambda _: subject, part) if subject else part


def _begins(right: str, ends: Sequence[int], before: Request) -> str | None:
    """Returns the text of a new request when one begins here: some stretch of it must be able to stand alone.

    `ends` are the places in `right` where the next separators stand, and its end.
    """
    rest = right if _STARTS.match(right) else _continued(before, right)
    if rest is None:
        return None
    added = len(rest) - len(right)
    return rest if any(_complete(rest[: end + added]) is not None for end in ends) else None


def _split_once(text: str) -> tuple[str, str, bool] | None:
    """Returns the first request, what follows it, and whether the first ends a sentence."""
    separators = list(islice(_SEPARATOR.finditer(text), _MOST_SEPARATORS))
    for index, match in enumerate(separators):
        sign = match.group().strip()
        left = f"{text[: match.start()].strip()}{'?' if sign.startswith('?') else ''}"  # a question stays one
        right = text[match.end() :].strip()
        before = _complete(left) if left and right else None
        if before is None or (sign == "," and _STARTS.match(right) is None):
            continue
        if isinstance(before, Remember) and (_CONDITION.search(left) or ("and" in sign and _WISH.search(left))):
            continue
        if isinstance(before, DraftMessage) and before.said:
            continue  # what a message says goes on to its end
        ends = [later.start() - match.end() for later in separators[index + 1 :]]
        rest = _begins(right, [*ends, len(right)], before)
        if rest is not None:
            return left, _with_name(rest, before), sign[:1] in ("", ".", "!", "?")
    return None


def _with_doubt(sentence: Sequence[str]) -> list[str]:
    """Gives each request of a sentence that is a question its question mark, so that none of them is just done.

    A part that is a question by its own words makes those after it one; a mark at the end, those before it.
    """
    asked = [is_interrogative(part) for part in sentence]
    to_end = sentence[-1].endswith("?") and not asked[-1]
    doubted = (to_end or any(asked[:at]) for at in range(len(sentence)))
    return [
        f"{part.rstrip(' ?.')}?" if doubt and not own and changes_something(command(part)) else part
        for part, doubt, own in zip(sentence, doubted, asked, strict=True)
    ]


def split_requests(text: str) -> tuple[str, ...]:
    """Returns the requests of a message, at most six; free text after "take a note:" is one request to its end."""
    parts: list[str] = []
    sentence: list[str] = []
    rest = without_courteous_mark(text)
    while len(parts) + len(sentence) < _MOST_PARTS - 1 and len(rest) <= _LONGEST and not _FREE_TEXT.match(rest):
        found = _split_once(rest)
        if found is None:
            break
        part, rest, ended = found
        sentence.append(part)
        if ended:
            parts, sentence = [*parts, *_with_doubt(sentence)], []
    return (*parts, *_with_doubt([*sentence, rest]))
