"""Which words ask for notes: take, append, find, read, list."""

from __future__ import annotations

from agent_host.providers.offline.notes.requests import AppendNote, DeleteNote, FindNote, ListNotes, TakeNote
from agent_host.providers.offline.patterns import one_of, pattern
from agent_host.providers.offline.routine import Request
from agent_host.providers.offline.wording import tidy

_NEW = "(?:take|make|write|create|add|start|save)"
_NAMED = "(?:titled|called|named|with (?:the )?title|under|about|on)"

_TITLED = pattern(
    rf"(?:(?:{_NEW}|new)\s+)?(?:me\s+)?(?:a\s+|an\s+)?(?:new\s+)?note\s+{_NAMED}\s+",
    r"(?:[\"“](?P<quoted>[^\"”]+)[\"”]|(?P<title>[^:\n]{1,120}?))",
    r"(?:\s*:\s*|\s*\n\s*|,?\s+(?:with the (?:text|content|words)\b:?|with|saying|that says|and write)\s+)(?P<body>.+)",
)
_TAKE = pattern(
    one_of(
        rf"{_NEW}\s+(?:me\s+)?(?:a\s+|this\s+)?(?:quick\s+|new\s+)?note", "note to self", "new note", "note",
        "(?:jot|write|note) (?:this )?down",
    ),
    r"(?:(?: (?:of )?this)?\s*[:\n]\s*|\s+(?:that|saying|of)\s+|\s*$)(?P<body>.*)",
)  # fmt: skip
_NOTE_THAT = pattern(r"note that\b.*")
_DOWN = pattern(r"(?:jot|write|note) down\s+(?:that\s+)?(?P<body>.+)")
_APPEND = pattern(
    r"(?:add|append|put)\s+(?P<body>.+?)\s+(?:to|on|in|into|onto)\s+(?:my|the|our)\s+",
    r"(?:note\s+(?:called|titled|named|about)?\s*(?P<after>.+)|(?P<title>.+?)\s+(?:notes?|list))",
)
_CALENDAR = pattern("(?:my |the )?(?:calendar|agenda|schedule|diary)")
_APPEND_TO = pattern(r"(?:add|append) to (?:my |the )?(?:note\s+)?(?P<title>[^:\n]+?)(?:\s+note)?\s*:\s*(?P<body>.+)")
_FIND = pattern(
    one_of(
        "find", "search", "look (?:up|in|through)", "show", "open", "read", "get", "what(?:.?s| is| does) (?:in|on)",
        "what does", "where(?:.?s| is)", "do i have", "pull up", "which",
    ),
    r"(?:\s+(?:me|for|in|through|all|any|of|a|out))*\s+(?:(?:my|the|our)\s+)?",
    r"(?:notes?\s*(?:about|on|for|called|titled|named|of|with|mentioning|that mentions?|:)?\s+(?P<after>.+?)",
    r"|(?P<title>.+?)\s+(?:notes?|list))(?:\s+(?:say|says))?",
)  # fmt: skip
_DELETE = pattern(
    "(?:delete|remove|throw away|trash|discard) (?:my |the |our )?",
    "(?:note (?:called |titled |named |about |on )?(?P<after>.+)|(?P<title>.+?) note)",
)
_HAVE = pattern(r"(?:what|which|any) notes (?:do i have )?(?:about|on|for) (?P<after>.+)")
_LIST = pattern(
    "(?:", one_of("list", "show(?: me)?", "what(?:.?s| is| are)?(?: in| are)?", "do i have", "which", "see", "read"),
    r"\s+)?(?:(?:all|any|of)\s+)*(?:(?:my|the)\s+)?notes(?:\s+(?:do i have|are there|list))?",
)  # fmt: skip


def take_note(text: str) -> Request | None:
    """Reads "take a note: …", "note titled Groceries: …", "jot down …"."""
    if _NOTE_THAT.fullmatch(text):
        return None  # "note that …" is for the memory
    titled = _TITLED.fullmatch(text)
    if titled is not None:
        return TakeNote(tidy(titled["quoted"] or titled["title"]), titled["body"].strip())
    match = _TAKE.fullmatch(text) or _DOWN.fullmatch(text)
    return TakeNote("", match["body"].strip()) if match is not None else None


def append_note(text: str) -> Request | None:
    """Reads "add milk to my groceries note"."""
    plain = text.rstrip(" .!")
    named = _APPEND_TO.fullmatch(plain)
    match = named or _APPEND.fullmatch(plain)
    if match is None:
        return None
    title = tidy(match["title"] or ("" if named else match["after"]))
    if not title or _CALENDAR.fullmatch(title):
        return None
    return AppendNote(title.strip('"“”'), tidy(match["body"]))


def delete_note(text: str) -> Request | None:
    """Reads "delete my note about …"."""
    match = _DELETE.fullmatch(text.rstrip(" .!"))
    return DeleteNote(tidy(match["after"] or match["title"]).strip('"“”')) if match is not None else None


def find_note(text: str) -> Request | None:
    """Reads "find my note about …", "what's in my groceries note?", "list my notes"."""
    plain = text.rstrip(" ?.!")
    if _LIST.fullmatch(plain):
        return ListNotes()
    having = _HAVE.fullmatch(plain)
    if having is not None:
        return FindNote(tidy(having["after"]))
    match = _FIND.fullmatch(plain)
    if match is None:
        return None
    return FindNote(tidy(match["after"] or match["title"] or "").strip('"“”'))
