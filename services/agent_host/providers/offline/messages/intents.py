"""Which words ask for drafts of messages: draft, list, show, discard, and what is no draft because it is to be sent."""

from __future__ import annotations

import re

from agent_host.providers.offline.messages.requests import (
    CANNOT_SEND,
    DiscardDraft,
    DraftMessage,
    ListDrafts,
    ShowDraft,
)
from agent_host.providers.offline.patterns import one_of, pattern
from agent_host.providers.offline.routine import Request, Say
from agent_host.providers.offline.wording import tidy

_MAIL = r"(?:e-?mails?|mails?)"
_CHAT = "(?:chat|slack|whatsapp|teams|direct) messages?"
_KINDS = rf"(?:{_MAIL}|sms|text messages?|texts?|{_CHAT}|dms?|messages?|msg|reply|draft)"
_SAYING = one_of(
    r"\s*:\s*",
    r"\s*\n\s*",
    r",?\s+"
    + one_of(
        "saying", "to say", "and say", "(?:that|which) (?:says?|reads?)", "telling (?:him|her|them)",
        "and tell (?:him|her|them)",
        "to tell (?:him|her|them)", "letting (?:him|her|them) know", "to let (?:him|her|them) know", "that",
        "(?:with|and)(?: the| a)? (?:text|body|message|words)",
    )
    + r"\b[:,]?\s+(?:that\s+)?",
)  # fmt: skip
_DOING = one_of(
    "asking", "inviting", "thanking", "reminding", "apologi[sz]ing", "congratulating", "confirming", "requesting",
    "to ask", "to invite", "to thank", "to remind", "to apologi[sz]e", "to congratulate", "to confirm", "to request",
)  # fmt: skip
_NAMES = r"(?P<to>[^:\n]{1,200}?)"
_ON = "(?:about|regarding|concerning|on|re|titled|(?:with (?:the |a )?)?subject(?: line)?)"
_ABOUT = rf"(?:,?\s+{_ON}\b:?\s+(?P<about>[^:\n]{{1,300}}?))?"
_TEXT = rf"(?:{_SAYING}(?P<said>.+)|\s+(?P<doing>{_DOING}\b[^\n]{{1,500}}))?"
_DRAFT = pattern(
    r"(?P<verb>draft|write|compose|prepare|create|make|send|type|send off)(?: up| out)?(?: me)?",
    r"\s+(?:an?\s+|the\s+|another\s+|some\s+)?(?:(?:new|quick|short|brief|draft|polite|friendly)\s+)*",
    rf"(?P<kind>{_KINDS})\b(?:\s+draft)?(?:\s+(?:to|for)\s+{_NAMES})?{_ABOUT}{_TEXT}",
)
_TO_FIRST = pattern(  # "send Sam an email about …"
    r"(?P<verb>draft|write|send)\s+(?P<to>[^:\n]{1,80}?)\s+(?:an?|another)\s+(?:(?:new|quick|short|brief)\s+)*",
    rf"(?P<kind>{_KINDS})\b{_ABOUT}{_TEXT}",
)
_DIRECT = pattern(
    rf"(?P<kind>{_MAIL}|text|message|sms|dm|whatsapp|slack|write(?: to)?|reply to)\s+{_NAMES}{_ABOUT}{_TEXT}",
)
_BY_VERB = {"message": "chat", "whatsapp": "chat", "slack": "chat"}
_ALONE = ("e-mail", "email", "mail")  # the verbs after which a name is enough
_NEEDS_NO_NAME = pattern(rf"{_MAIL}|sms|text messages?|draft|reply|{_CHAT}")
_NO_PERSON = pattern(r"(?:me|myself|us|it|this|that|you|an?|my own|from|in|of|about|with|and|or|for|is|was)\b.*")
_LETTER = pattern(
    r"(?:draft|compose)\s+(?:an?\s+|the\s+)?(?:(?:new|quick|short)\s+)*(?P<kind>note|letter|line)\s+to\s+",
    rf"{_NAMES}{_ABOUT}{_TEXT}",
)
_TELL = pattern(
    r"(?:let\s+(?P<to>[^:\n]{1,60}?)\s+know(?:\s+that)?|tell\s+(?P<told>[^:\n]{1,60}?)\s+that)\s+(?P<said>.+)"
)
_AND = re.compile(r"\s*[,;&]\s*(?:and\s+)?|\s+and\s+", re.IGNORECASE)
_A_NAME = pattern(r"(?!the\b)\S+(?: \S+){0,2}")  # "email Ana Maria"
_CC = re.compile(r"^\s*b?cc:?\s+", re.IGNORECASE)
_MOST_NAMES = 50

_DRAFTS = one_of("drafts", "drafted (?:messages|e-?mails)", "outbox", "unsent (?:messages|e-?mails)", "messages")
_LIST = pattern(
    one_of(
        "list", "show(?: me)?", "read(?: me)?", "see", "view", "open", "check", "what(?:.?s| is| are)?(?: in)?",
        "which",
        "do i have", "have i got", "are there",
    ),
    r"?\s*(?:(?:all|any|of|the|my|our|unsent|message|e-?mail|pending|current)\s+)*",
    rf"{_DRAFTS}(?:\s+(?:do i have|are there|have i got|folder))?(?:\s+(?:in|are in) (?:my|the) outbox)?",
)  # fmt: skip
_WHOSE = r"(?:\s+(?:to|for|about|on|regarding|called|titled|with)\s+(?P<wanted>.+?))?"
_LATEST = r"(?P<latest>(?:last|latest|newest|most recent)\s+)?"
_IS_THERE = pattern(rf"(?:is there|do i have|have i got) an? draft(?:\s+{_MAIL}|\s+message)?{_WHOSE}")
_WHAT_I_DRAFTED = pattern("(?:show me |list )?what (?:did i draft|i(?:.?ve| have)? drafted|have i drafted)")
_SHOW = pattern(
    one_of("show", "read", "open", "see", "view", "find", "get", "what does", "what(?:.?s| is) in"),
    rf"(?:\s+me)?\s+(?:my|the|that|this)\s+{_LATEST}(?:{_MAIL}\s+|message\s+)?draft(?:\s+{_MAIL}|\s+message)?{_WHOSE}",
    r"(?:\s+says?)?",
)
_DISCARD = pattern(
    "(?:discard|delete|remove|throw (?:away|out)|trash|bin|drop|scrap|cancel|get rid of)",
    rf"\s+(?:(?:all|every|of|my|the|that|this|these|those|unsent)\s+)*{_LATEST}",
    rf"(?:drafts?(?:\s+(?:{_MAIL}|messages?|texts?))?|(?:{_MAIL}|messages?|sms|texts?)(?:\s+drafts?)?){_WHOSE}",
)
_SEND = pattern(
    "send (?:off )?(?:it|that|this|them|(?:the|my|that|this|all)(?: my| the)?(?: last| latest)? ",
    rf"(?:drafts?|{_MAIL}|messages?))(?: (?:to|off|out|now|about) ?.*)?",
)


def draft(text: str) -> Request | None:
    """Reads "draft an email to Sam about …", "text Mum that …", "email Ana: …"; a message to be sent is drafted too."""
    if _SEND.fullmatch(text.rstrip(" .!?")) and ":" not in text:
        return Say(CANNOT_SEND)
    match = _DRAFT.fullmatch(text)
    if match is not None:
        needed = match["verb"].casefold() in ("draft", "compose", "send") or _NEEDS_NO_NAME.fullmatch(match["kind"])
        return _message(match, match["kind"], match["verb"]) if match["to"] or needed else None
    match = _TO_FIRST.fullmatch(text)
    if match is not None and not _NO_PERSON.match(match["to"]):
        return _message(match, match["kind"], match["verb"])
    letter = _LETTER.fullmatch(text)
    return _message(letter, letter["kind"], "draft") if letter is not None else _direct(text)


def _direct(text: str) -> Request | None:
    """Reads "email Sam about …", "let Sam know that …": sending was asked for."""
    told = _TELL.fullmatch(text)
    if told is not None and not _NO_PERSON.match(told["to"] or told["told"]):
        return DraftMessage("email", _people(told["to"] or told["told"]), "", told["said"].strip(), send=True)
    match = _DIRECT.fullmatch(text)
    if match is None or _NO_PERSON.match(match["to"]):
        return None
    says = match["about"] or match["said"] or match["doing"]
    alone = match["kind"].casefold() in _ALONE and _A_NAME.fullmatch(match["to"].rstrip(" .!?"))
    kind = _BY_VERB.get(match["kind"].casefold(), match["kind"])
    return _message(match, kind, "send") if says or alone else None


def _message(match: re.Match[str], kind: str, verb: str) -> DraftMessage | None:
    names = _people(match["to"])
    said = (match["said"] or "").strip()
    if said[:1] in '"“' and said[-1:] in '"”':
        said = said.strip('"“”')
    doing = _bare(match["doing"]).removeprefix("to ")
    return DraftMessage(
        _channel(kind),
        names,
        _bare(match["about"]),
        said or doing,
        send=verb.casefold().startswith("send"),
    )


def _people(text: str | None) -> tuple[str, ...]:
    """Returns the names or addresses in "Sam, Ana and Bo, cc Zoe"."""
    parts = (tidy(_CC.sub("", part)) for part in _AND.split(_bare(text)))
    return tuple(part for part in parts if part)[:_MOST_NAMES]


def _bare(text: str | None) -> str:
    return tidy((text or "").rstrip(" .!?")).strip('"“”')


def _channel(kind: str) -> str:
    """Tells by which way a message would go; email when the words do not say."""
    plain = kind.casefold()
    if plain.startswith(("sms", "text")):
        return "sms"
    return "chat" if plain.startswith(("chat", "slack", "whatsapp", "teams", "direct", "dm")) else "email"


def list_drafts(text: str) -> Request | None:
    """Reads "list my drafts", "what's in my outbox?"."""
    plain = text.rstrip(" ?.!")
    return ListDrafts() if _LIST.fullmatch(plain) or _WHAT_I_DRAFTED.fullmatch(plain) else None


def show_draft(text: str) -> Request | None:
    """Reads "show the draft to Sam"."""
    plain = text.rstrip(" ?.!")
    asked = _IS_THERE.fullmatch(plain)
    if asked is not None:
        return ShowDraft(_bare(asked["wanted"]))
    match = _SHOW.fullmatch(plain)
    return ShowDraft(_bare(match["wanted"]), match["latest"] is not None) if match is not None else None


def discard_draft(text: str) -> Request | None:
    """Reads "discard the draft to Sam", "delete my last draft"."""
    match = _DISCARD.fullmatch(text.rstrip(" ?.!"))
    return DiscardDraft(_bare(match["wanted"]), match["latest"] is not None) if match is not None else None
