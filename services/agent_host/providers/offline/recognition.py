"""From a person's words to what they ask for: which kinds of request there are, and in which order they are tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_host.providers.offline.calendar import intents as calendar
from agent_host.providers.offline.calendar.amending import amendment
from agent_host.providers.offline.calendar.booking import Book, title_of, unclear_title
from agent_host.providers.offline.calendar.changing import Cancel, Move
from agent_host.providers.offline.calendar.replies import Event
from agent_host.providers.offline.memory import intents as memory
from agent_host.providers.offline.memory.requests import Correct, Forget, Recall, Remember
from agent_host.providers.offline.messages import intents as messages
from agent_host.providers.offline.messages.requests import DiscardDraft, DraftMessage
from agent_host.providers.offline.notes import intents as notes
from agent_host.providers.offline.notes.requests import AppendNote, DeleteNote
from agent_host.providers.offline.patterns import one_of, pattern
from agent_host.providers.offline.questions import SHALL_I_BOOK, SHALL_I_REMEMBER
from agent_host.providers.offline.reports import intents as reports
from agent_host.providers.offline.routine import Request, Routine, Say, Scene
from agent_host.providers.offline.talk.about import NO_GENERAL_KNOWLEDGE, NOT_READ, NOT_UNDERSTOOD
from agent_host.providers.offline.talk.arithmetic import answer_arithmetic
from agent_host.providers.offline.talk.clock import clock_question
from agent_host.providers.offline.talk.small_talk import beyond_rules, small_talk
from agent_host.providers.offline.times.clock import Clock, ClockRange
from agent_host.providers.offline.times.days import Day, DayRange
from agent_host.providers.offline.times.events import EventTimes, Unclear, read_event
from agent_host.providers.offline.times.format import show_days, show_moment
from agent_host.providers.offline.times.pieces import find_time_words
from agent_host.providers.offline.times.recurrence import Recurrence
from agent_host.providers.offline.web import intents as web
from agent_host.providers.offline.wording import VERBS, content_words, joined, mirrored, stems

Recogniser = Callable[[str], Request | None]

LONGEST_SENTENCE = 2000
ONLY_ASKED = "That reads as a question, so I changed nothing. Say it without the question mark to have it done."
DID_NOTHING = "All right: I did nothing."
_LONGEST_TITLE_WORDS = 12
_NEGATED = ("n't", "n\u2019t")

_POLITE = pattern(
    one_of(
        r"(?:hi|hello|hey|ok|okay|so|well|great|thanks|thank you|prometheus|by the way|btw)\b[,!.:]*\s+",
        r"good (?:morning|afternoon|evening)\b[,!.:]*\s+",
        r"(?:please|also|and|then|just)\b[,:]*\s+",
        "(?:can|could|would|will) you (?:please |kindly |also )*",
        "(?:i.?d (?:like|love)|i would like|i want)(?: you)? to ",
        "i need you to ",
        "let.?s (?=book|schedule|research|search)",
        r"(?:actually,? )?(?:never ?mind|forget (?:it|that)|scratch that)[,.;:!]+\s+",
        r"actually,? (?=(?:never ?mind|forget (?:it|that)|leave it)\W*$)",
        "do me a favou?r and ",
    )
)
_COURTEOUS = pattern(r"(?:.*[,.!]\s)?(?:please\b|(?:can|could|would|will) you\b)|.*\bplease\W*$")
_POINTED = pattern(r"(?:it|that|this)\b")
_TELL = pattern(r"\byou (?:please )?(?:tell|show|let)\b")
_INTERROGATIVE = pattern(
    one_of(
        "what", "who", "whom", "whose", "when", "where", "which", "why", "how", "is", "are", "was", "were", "does",
        "did", "has", "had",
        "(?:do|have|can|could|should|would|shall|may|might|must|will|am) (?:i|we|you|he|she|it|they|the|my)",
    ),
    r"\b.*",
)  # fmt: skip
_MAY_I = pattern(
    "(?:can|could|may|might|shall|should|must|do|would|are) (?:i|we) ",
    "(?:please |just |still |also |(?:have|need|able|allowed) to )*(?P<what>.+)",
)
_CAN_YOU_REMEMBER = pattern(
    r"(?:can|could|do|will|would) you (?:still )?(?:remember|recall)\s+(?!that\b|to\b|this\b|:)(?P<what>.+)"
)
_NO_REQUEST = pattern(r"(?:please )?(?:don.?t|do not|never) (?!(?:let me )?forget\b)\w+.*")
_ACTUALLY = pattern(r"(?:(?:actually\b[,:]?|(?:no|sorry|wait|oops)[,.:!]+)\s+)+(?=\S)")
_POINTING = pattern(
    r"(?:(?:actually|no|sorry|oh|well|yes|ok(?:ay)?)\b[,.! ]+)*",
    r"(?:it|that|this|these|those|they|he|she|i mean|i meant)\b",
)
_THANKS = pattern(
    r"(?:[,.!]\s*(?:please|thanks(?: a lot)?|thank you(?: very much)?|cheers|(?:can|could) you do (?:that|it))|",
    r"\s+(?:please|thanks))[.!?]*$",
)
_PERSONAL = pattern(r"\b(?:i|my|mine|me|our|ours|we|us)\b")
_MUSING = pattern(
    r"\b",
    one_of(
        "might", "maybe", "perhaps", "may", "could", "would", "should", "some ?day", "sometime", "wish", "wonder",
        "wondering", "thinking", "if", "hate", "love", "like", "not", "never", "don.?t", "can.?t", "was", "were",
        "had", "went", "did", "met", "saw", "said", "told", "booked", "yesterday", "last",
    ),
    r"\b",
)  # fmt: skip
_PRONOUN_START = pattern(r"(?:i|you|he|she|it|they|we|this|that|these|those)\b(?! have\b|.?ve got\b)")


def _arithmetic(text: str) -> Request | None:
    answer = answer_arithmetic(text)
    return Say(answer) if answer is not None else None


_COMMANDS: tuple[Recogniser, ...] = (
    notes.take_note,
    notes.append_note,
    messages.draft,
    messages.list_drafts,
    messages.show_draft,
    messages.discard_draft,
    reports.compare_reports,
    reports.list_reports,
    reports.render_report,
    reports.show_report,
    memory.list_memories,
    calendar.book,
    memory.remember,
    memory.forget,
    notes.delete_note,
    notes.find_note,
    calendar.move,
    calendar.cancel,
    calendar.find_free,
    clock_question,
    _arithmetic,
    calendar.same_for_another_day,
    memory.recall,
    calendar.list_events,
    web.research,
    web.search_web,
    memory.correct,
)
_WRITES = (Book, Remember, Forget, Correct, AppendNote, DeleteNote, Cancel, Move, DiscardDraft)
_FREE_TEXT: tuple[Recogniser, ...] = (notes.take_note, messages.draft, memory.remember)


@dataclass(frozen=True)
class OfferBooking:
    """Ask whether an event that was only mentioned or asked about shall be booked."""

    text: str
    if_free: bool = False

    def run(self, scene: Scene) -> Routine:
        """Asks, and books when the person agreed."""
        if scene.agreed:
            return (yield from Book(self.text, self.if_free).run(scene))
        words = find_time_words(self.text)
        unnamed = unclear_title(words.rest())
        if unnamed:
            return unnamed
        times = read_event(words, scene.now, scene.zone)
        if isinstance(times, Unclear):
            return f"I booked nothing. {times.question}" if "past" not in times.question else times.question
        when = joined([_shown(each, scene) for each in times])
        return f"“{title_of(words.rest())}”, {when}.\n{SHALL_I_BOOK}"


def _shown(times: EventTimes, scene: Scene) -> str:
    if times.all_day and times.end is not None:
        return show_days(times.start, times.end, scene.today)
    elsewhere = f" ({times.zone.key})" if times.zone != scene.zone else ""
    return f"{show_moment(times.start, scene.today)}{elsewhere}"


@dataclass(frozen=True)
class OfferToRemember:
    """Ask whether what was stated shall be remembered."""

    text: str

    def run(self, scene: Scene) -> Routine:
        """Asks, and remembers when the person agreed."""
        if scene.agreed:
            return (yield from Remember(self.text).run(scene))
        return f"I have booked nothing and stored nothing.\n{SHALL_I_REMEMBER}"


def without_courteous_mark(text: str) -> str:
    """Returns "can you book lunch?" without its question mark, which only makes a request polite."""
    asked_to_do = ":" not in text and _COURTEOUS.match(text.strip()) and not _TELL.search(text)
    return text.rstrip(" ?") if asked_to_do else text


def plain_request(text: str) -> str:
    """Returns a sentence without its greetings and courtesies."""
    plain = _THANKS.sub("", without_courteous_mark(text).strip())
    while (match := _POLITE.match(plain)) is not None and plain[match.end() :].strip():
        plain = plain[match.end() :].lstrip()
    return plain


def command(text: str) -> Request | None:
    """Returns what a sentence asks for when it is one of the requests the planner knows, else None.

    A question never has anything written: it is answered, or asks back whether it shall be done.
    """
    remembered = _CAN_YOU_REMEMBER.fullmatch(text.rstrip(" ?.!"))
    if remembered is not None:
        return Recall(remembered["what"], mirrored(remembered["what"]))
    allowed = _MAY_I.fullmatch(text.strip(" ?"))
    if allowed is not None and isinstance(wanted := _asked_for(allowed["what"]), Book):
        return OfferBooking(wanted.text, wanted.if_free)
    asked = _asked_for(text)
    questioned = text.rstrip().endswith("?") and not _COURTEOUS.match(text.strip())
    return _only_asked(asked) if asked is not None and questioned else asked


def _only_asked(request: Request) -> Request:
    """Returns what is done for a request that was put as a question."""
    if isinstance(request, Book):
        return OfferBooking(request.text, request.if_free)
    return Say(ONLY_ASKED) if changes_something(request) and not isinstance(request, Remember) else request


def changes_something(request: Request | None) -> bool:
    """Tells whether a request has something written; a draft with a text may end in a question mark of its own."""
    return isinstance(request, _WRITES) or (isinstance(request, DraftMessage) and not request.said)


def is_interrogative(text: str) -> bool:
    """Tells whether a sentence is a question by its own words; "can you …" is a request."""
    return _INTERROGATIVE.fullmatch(plain_request(text)) is not None


def _asked_for(text: str) -> Request | None:
    plain = plain_request(text)
    recognisers: Sequence[Recogniser] = _COMMANDS if len(plain) <= LONGEST_SENTENCE else _FREE_TEXT
    changed_mind = _ACTUALLY.match(plain)
    if changed_mind is not None and len(plain) <= LONGEST_SENTENCE:
        asked = _asked_for(plain[changed_mind.end() :])
        if asked is not None:
            return asked
    return next((request for read in recognisers if (request := read(plain)) is not None), None)


def understand_after(text: str, event: Event) -> Request | None:
    """Reads a message as a correction of the event that was just stored or changed; None when it is none.

    What corrects that event never goes to memory, understood or not.
    """
    if len(text) > LONGEST_SENTENCE:
        return None
    plain, asked = plain_request(text), command(text)
    points = isinstance(asked, Book) and _POINTED.match(asked.text) is not None  # "make it 10am", "put that on Friday"
    if (asked is not None and not points and not isinstance(asked, Correct)) or "?" in plain or is_interrogative(text):
        return None
    changed = amendment(plain, event)
    stated = isinstance(asked or understand(text), Correct | OfferToRemember)
    if changed is None and (points or (stated and stems(plain) & stems(event.title))):
        return Say(
            f"{NOT_READ} as another day, time or length of “{event.title}”, so I changed nothing. "
            "Say “make it 10” or “move it to Friday”."
        )
    return changed


def stands_alone(text: str) -> bool:
    """Tells whether a message is a request or small talk of its own, whatever was asked before it."""
    return command(text) is not None or small_talk(plain_request(text)) is not None


def _mentioned_event(text: str) -> Request | None:
    """Recognises an event with day and time that nobody asked to book ("Lunch with Ana tomorrow at noon")."""
    words = find_time_words(text)
    timed = any(words.first(kind) is not None for kind in (Clock, ClockRange, DayRange))
    dated = any(words.first(kind) is not None for kind in (Day, DayRange, Recurrence))
    if not timed or not dated or _MUSING.search(text) or _PRONOUN_START.match(text) or "?" in text:
        return None
    title = "" if unclear_title(words.rest()) else title_of(words.rest())
    return OfferBooking(text) if title and len(title.split()) <= _LONGEST_TITLE_WORDS else None


def _question(text: str) -> Request | None:
    """Takes any other question to memory; one that is not about the person is then declined plainly."""
    if not (text.rstrip().endswith("?") or _INTERROGATIVE.fullmatch(text)) or not content_words(text):
        return None
    if _PERSONAL.search(text):
        return Recall(text)
    return Recall(text, otherwise=NO_GENERAL_KNOWLEDGE)


def _statement(text: str) -> Request | None:
    """Offers to remember what was stated; nothing is kept or booked unasked."""
    words = [word.casefold().strip(",.!;:") for word in text.split()]
    if len(words) < 3 or len(text) > LONGEST_SENTENCE or "?" in text:  # noqa: PLR2004 - subject, verb, object
        return None
    if "you" in words or "your" in words or _POINTING.match(text):
        return None  # said to the agent, or about what was said: nothing to keep
    verbs = (word for at, word in enumerate(words) if word != "am" or words[at - 1] == "i")  # German has "am" too
    known_verb = any(word in VERBS or word.endswith(_NEGATED) for word in verbs) or _MUSING.search(text)
    if not known_verb and not _PERSONAL.search(text):
        return None
    return OfferToRemember(text)


def _refusal(text: str) -> Request | None:
    return Say(DID_NOTHING) if _NO_REQUEST.fullmatch(text) else None


_OTHERS: tuple[Recogniser, ...] = (_refusal, _mentioned_event, beyond_rules, _question, _statement)


def understand(text: str) -> Request:
    """Returns what one sentence asks for; always something, if only to say that it was not understood."""
    if not any(character.isalnum() for character in text) and text.strip(" .!") != "?":
        return Say("I got no words. Say “help” to see what I can do.")
    found = (small_talk(text) if len(text) <= LONGEST_SENTENCE else None) or command(text)
    if found is not None:
        return found
    if len(text) > LONGEST_SENTENCE:
        return Say(
            f"That is {len(text)} characters, and I read requests of at most {LONGEST_SENTENCE}. "
            "To keep a long text, begin with “Take a note:”."
        )
    plain = plain_request(text)
    late = small_talk(plain) or next((request for read in _OTHERS if (request := read(plain)) is not None), None)
    return late or Say(NOT_UNDERSTOOD)
