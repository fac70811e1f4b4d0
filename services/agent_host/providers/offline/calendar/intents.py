"""Which words ask for the calendar: book, list, find free time, cancel, move."""

from __future__ import annotations

from agent_host.providers.offline.calendar.booking import Book
from agent_host.providers.offline.calendar.changing import Cancel, Move
from agent_host.providers.offline.calendar.looking import FindFree, ListEvents, NextEvent
from agent_host.providers.offline.patterns import one_of, pattern
from agent_host.providers.offline.routine import Request, Say
from agent_host.providers.offline.times.clock import Clock, ClockRange
from agent_host.providers.offline.times.days import Day, DayRange
from agent_host.providers.offline.times.durations import Duration, Offset
from agent_host.providers.offline.times.pieces import Part, Span, TimeWords, find_time_words
from agent_host.providers.offline.times.recurrence import Recurrence
from agent_host.providers.offline.wording import capitalised, tidy

_CALENDAR = "(?:calendar|agenda|schedule|diary)"
_EVENTS = "(?:meetings?|appointments?|events?|calls?|bookings?)"
_I_HAVE = "(?:do (?:i|we) have|have (?:i|we) got|have (?:i|we))"
_WHAT_IS = "what(?:.?s| is)"

_BOOK = pattern(
    one_of(
        "book", "schedule", "arrange", "organi[sz]e", "set(?: up)?", "block(?: out| off)?", "reserve", "pencil in",
        "plan", "new event:?", "create", "add", "put", "make", "enter", "insert",
    ),
    r"\b(?: (?:me|us|in)\b)?\s*(?P<what>.*)",
)  # fmt: skip
_PLAIN_VERB = pattern(r"(?:create|add|put|make|plan|enter|insert|organi[sz]e|set(?! up))\b")
_IN_CALENDAR = pattern(rf"\b(?:{_CALENDAR}|event|meeting|appointment|call)\b")
_REMIND = pattern(
    "(?:remind me|set (?:me )?a reminder|don.?t let me forget)", r"\b\s*(?:(?:to|about|that|for|of)\b)?\s*(?P<what>.*)"
)
_AHEAD = pattern(r"(?:.*\b)?(?:before|beforehand|in advance|ahead of time)(?: (?:it|that|then|the \w+))?")
_NO_ALARM = "I can't set a reminder before an event. Say “remind me to … on Thursday at 9” for one of its own."
_REMEMBER_TO = pattern("(?:remember|don.?t forget|do not forget) to (?P<what>.+)")
_IF_FREE = pattern(
    r",?\s*(?:but )?(?:only )?if ",
    one_of("(?:i am|i.?m|we are|we.?re) (?:free|available)", "(?:there is|there.?s) nothing else"),
    r"(?: then| on\b(?! \w))?,?",
)
_FREE_THEN_BOOK = pattern(
    r"(?P<when>[^,]+?),\s*(?:then )?(?P<verb>book|schedule|add|put|set up|arrange)\s+(?P<what>.+)"
)
_LIST = pattern(
    one_of(
        f"what(?:.?s| is| {_I_HAVE})?(?: going)?(?: planned| scheduled| coming up)?", "show(?: me)?", "list",
        "read(?: me)?", "check", "tell me", "give me", "see", "view", "open", _I_HAVE, "are there", "is there", "any",
        "how (?:does|is|many)", "which",
    ),
    rf"\b.*?(?:\b(?:{_CALENDAR}|{_EVENTS})\b|\bon (?:my|the|our) plate\b).*",
)  # fmt: skip
_LIST_DAY = pattern(
    one_of(
        f"(?:tell me |show me )?{_WHAT_IS} (?:on|happening|up|planned|coming up|going on)",
        f"what {_I_HAVE}(?: on| planned)?",
        "what (?:am|are) (?:i|we) (?:doing|up to)", f"{_I_HAVE} (?:anything|something|plans)(?: on| planned)?",
        "(?:how )?(?:am|are) (?:i|we) (?:busy|booked)", "how (?:busy|full) (?:am|are) (?:i|we)",
        "is (?:there )?anything (?:on|planned)", "any plans", "show(?: me)?", "my day", "what does",
        "how(?:.?s| does| is)",
    ),
    r"\b.*",
)  # fmt: skip
_AGENDA = pattern(rf"(?:(?:my|the|today.?s|tomorrow.?s) )?(?:{_CALENDAR}|events|meetings|appointments)\b.*")
_NEXT = pattern(
    one_of(
        f"when(?:.?s| is| are| {_I_HAVE}| do (?:i|we) (?:meet|see)| am i (?:meeting|seeing))",
        f"{_WHAT_IS} (?:my|the|our) next", "(?:at )?what time (?:is|does|do)",
    ),
    r"\s+(?:(?:my|the|our)\s+)?(?:next\s+)?(?P<what>.+)",
)  # fmt: skip
_WHATS_NEXT = pattern(f"{_WHAT_IS} (?:next|coming up)(?: (?:on|in) (?:my|the|our) {_CALENDAR})?")
_WHAT_ABOUT = pattern(r"(?:and|what about|how about)(?P<when> .+)|(?P<only>.+)\?")
_EVENT_WORDS = pattern(
    r"\b",
    one_of(
        _EVENTS, "catch[- ]?up", "stand[- ]?up", "sync", "review", "retro", "lunch", "dinner", "breakfast", "dentist",
        "doctor", "flight", "interview", "visit", "workshop", "session", "party", "class", "lesson", "one-on-one",
        "1:1", "coffee", "gym",
    ),
    r"\b",
)  # fmt: skip
_FREE = pattern(
    one_of(
        "(?:when )?(?:am|are) (?:i|we) (?:free|available)",
        r"find(?: me| us)? (?:a |some |an )?(?:free|open|available)?\s*(?:slot|time|gap|window|hour|half hour)",
        r"(?:find|look for|show)(?: me| us)?\b.*\b(?:slot|gap|free time)",
        f"{_I_HAVE} (?:any )?(?:free )?(?:time|a (?:free )?(?:slot|gap|hour|moment))",
        "when (?:do|can) (?:i|we) have time",
        "when can (?:i|we) (?:meet|do|squeeze|fit)",
        "free (?:time|slots?)",
        f"{_WHAT_IS} (?:a |my )?(?:free|good time)",
        "is there (?:a |any )?(?:free |open )?(?:slot|gap|time)",
    ),
    r"\b.*",
)
_IS_FREE = pattern(r"is (?:my )?(?P<when>.+) free")
_CANCEL = pattern(
    r"(?:cancel|call off|delete|remove|drop|unbook|clear|scrap|skip|take (?=.*\boff\b))", r"\s*(?P<what>.*)"
)
_CERTAINLY_CANCEL = pattern(r"(?:cancel|call off|unbook)\b")
_MOVE = pattern(
    r"(?:move|reschedule|shift|postpone|push(?: back)?|bring forward|change|delay)\s+(?P<what>.+?)",
    r"\s+(?:to|until|till|onto)\s+(?P<to>.+)",
)
_RENAME = pattern(
    "(?:rename|retitle|change the (?:name|title) of)",
    r"\s+(?P<what>.+?)\s+(?:to|as|into)\s+[\"“]?(?P<title>.+?)[\"”]?",
)
_SHIFT = pattern(
    one_of(
        r"(?P<push>push|put)\b(?=.*\bback\b)",
        r"(?P<bring>bring|pull)\b(?=.*\b(?:forward|up)\b)",
        r"(?:move|shift|push|put|reschedule|bring|make)\b(?=.*\b(?P<way>later|earlier|sooner)\b)",
        "(?P<delay>delay|postpone)",
    ),
    r"\s+(?P<what>.+)",
)  # "move it back" and "move it forward" mean either to different people
_WAY = pattern(r"\b(?:back|forward|up|later|earlier|sooner|by)\b")
_NOT_OURS = pattern(r"set (?:a|an|the|my) (?:alarm|timer)\b.*")
_NOT_AN_EVENT = pattern(r"\b(?:notes?|memor(?:y|ies)|facts?|files?|(?<=[a-z] )list|reminder to self)\b")


def has_time(words: TimeWords) -> bool:
    """Tells whether a sentence names a day, a time or a repetition."""
    return any(words.first(kind) is not None for kind in (Day, DayRange, Clock, ClockRange, Offset, Recurrence, Part))


def book(text: str) -> Request | None:
    """Reads "book …", "schedule …", "put … in my calendar", "remind me to … at …".

    A verb that also means other things ("add", "make") counts when a time or the calendar is named.
    """
    if_free = _IF_FREE.search(text) is not None
    plain = _IF_FREE.sub(" ", text).strip(" ,") if if_free else text
    turned = _FREE_THEN_BOOK.fullmatch(plain) if if_free else None
    if turned is not None:  # "if I'm free on Friday at 9, book a call"
        return Book(f"{turned['what']} {turned['when']}", if_free=True)
    reminder = _REMIND.fullmatch(plain)
    if reminder is not None and _AHEAD.fullmatch(reminder["what"].rstrip(" .!")):
        return Say(_NO_ALARM)
    if reminder is not None:
        return Book(reminder["what"])
    task = _REMEMBER_TO.fullmatch(plain)
    if task is not None:
        return Book(task["what"]) if has_time(find_time_words(task["what"])) else None
    match = _BOOK.fullmatch(plain) if not _NOT_OURS.fullmatch(plain) else None
    if match is None or (_PLAIN_VERB.match(plain) and not _is_booking(match["what"])):
        return None
    return Book(match["what"], if_free)


def _is_booking(what: str) -> bool:
    if _NOT_AN_EVENT.search(what):
        return False
    return _IN_CALENDAR.search(what) is not None or has_time(find_time_words(what))


def find_free(text: str) -> Request | None:
    """Reads "when am I free …?", "find a slot …"."""
    plain = text.rstrip(" ?.!")
    named = _IS_FREE.fullmatch(plain)
    if named is not None and not find_time_words(named["when"]).rest():
        return FindFree(plain)
    return FindFree(plain) if _FREE.fullmatch(plain) else None


def list_events(text: str) -> Request | None:
    """Reads "what's on my calendar …?", "do I have anything on Friday?", "when is my next meeting?"."""
    plain = text.rstrip(" ?.!")
    if _NOT_AN_EVENT.search(plain):
        return None
    if _WHATS_NEXT.fullmatch(plain):
        return NextEvent("")
    upcoming = _NEXT.fullmatch(plain)
    if upcoming is not None and _EVENT_WORDS.search(upcoming["what"]):
        return NextEvent(upcoming["what"])
    if _LIST.fullmatch(plain) or _AGENDA.fullmatch(plain):
        return ListEvents(plain)
    words = find_time_words(plain)
    dated = has_time(words) or words.first(Span) is not None
    return ListEvents(plain) if dated and _LIST_DAY.fullmatch(plain) else None


def same_for_another_day(text: str) -> Request | None:
    """Reads "what about Friday?", "and tomorrow", "on Friday?"."""
    match = _WHAT_ABOUT.fullmatch(text)
    words = find_time_words((match["when"] or match["only"]).rstrip(" ?.!")) if match is not None else None
    return ListEvents(words.text) if words is not None and words.found and not words.rest().strip(" ,") else None


def cancel(text: str) -> Request | None:
    """Reads "cancel …" and "delete … from my calendar"."""
    plain = text.rstrip(" ?.!")
    match = _CANCEL.fullmatch(plain)
    if match is None or _NOT_AN_EVENT.search(plain) or not match["what"]:
        return None
    certain = _CERTAINLY_CANCEL.match(plain) or _EVENT_WORDS.search(plain) or _IN_CALENDAR.search(plain)
    fits = certain is not None or has_time(find_time_words(plain))
    return Cancel(match["what"]) if fits else None


def move(text: str) -> Request | None:
    """Reads "move … to …", "push … back 30 minutes", "rename … to …"."""
    plain = text.rstrip(" ?.!")
    renamed = _RENAME.fullmatch(plain) if not _NOT_AN_EVENT.search(plain) else None
    if renamed is not None:
        return Move(renamed["what"], title=capitalised(renamed["title"]))
    shifted = _shifted(plain)
    if shifted is not None:
        return shifted
    match = _MOVE.fullmatch(plain)
    if match is None or not has_time(find_time_words(f"at {match['to']}")):
        return None
    return Move(match["what"], match["to"])


def _shifted(plain: str) -> Request | None:
    """Reads by how much something is to move; its day, when one is named, tells which event is meant."""
    match = _SHIFT.fullmatch(plain)
    words = find_time_words(match["what"]) if match is not None else None
    length = next((item for item in words.found if isinstance(item.piece, Duration)), None) if words else None
    if match is None or words is None or length is None or not isinstance(length.piece, Duration):
        return None
    earlier = match["bring"] or (match["way"] or "").casefold() in ("earlier", "sooner")
    target = tidy(_WAY.sub(" ", f"{words.text[: length.start]} {words.text[length.end :]}"))
    return Move(target, shift=-length.piece.minutes if earlier else length.piece.minutes)
