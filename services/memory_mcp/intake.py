"""Checks and tidies what a caller sends, before anything is stored or searched. Pure.

Every bound is here; each refusal is one sentence that says what to send instead.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from zoneinfo import ZoneInfo

from memory_mcp.errors import InvalidArgumentError
from memory_mcp.model import MEMORY_ID, Changes, Content, Kind, Origin, Source, Trust
from memory_mcp.moments import parse_moment
from memory_mcp.scopes import parse_scope

MAX_BODY_BYTES = 65_536
MAX_SUBJECT_CHARACTERS = 200
MAX_TAGS = 20
MAX_TAG_CHARACTERS = 64
MAX_URL_CHARACTERS = 2_000
MAX_KEY_CHARACTERS = 200
MAX_QUERY_CHARACTERS = 4_000
MAX_LIMIT = 50
OWN_AGENT = "prometheus-agent"
OWN_AGENT_ORIGIN = "prometheus"
_BLANK_LETTERS = "\u115f\u1160\u2800\u3164\uffa0"  # letters and a symbol that are blanks by design


def content(
    zone: ZoneInfo,
    *,
    body: str,
    kind: str | None = None,
    scope: str | None = None,
    subject: str | None = None,
    tags: Sequence[str] = (),
    happened_at: str | None = None,
    source_url: str | None = None,
) -> Content:
    """Returns the content of a new memory.

    Raises:
        InvalidArgumentError: A value is empty, too long or not possible.
    """
    return Content(
        body=checked_body(body),
        kind=parse_kind(kind) or Kind.FACT,
        scope=parse_scope(scope),
        subject=checked_subject(subject),
        tags=checked_tags(tags),
        happened=parse_moment("happened_at", happened_at, zone),
        source_url=_checked_url(source_url),
    )


def changes(
    body: str | None = None,
    subject: str | None = None,
    tags: Sequence[str] | None = None,
    scope: str | None = None,
) -> Changes:
    """Returns what an update is to change; an empty list of tags clears them, an empty subject clears it.

    Raises:
        InvalidArgumentError: A value is not possible, or there is nothing to change.
    """
    wanted = Changes(
        body=None if body is None else checked_body(body),
        subject=None if subject is None else checked_subject(subject) or "",
        tags=None if tags is None else checked_tags(tags),
        scope=parse_scope(scope) if scope and scope.strip() else None,
    )
    if wanted == Changes():
        raise InvalidArgumentError("There is nothing to change; send a new body, subject, tags or scope.")
    return wanted


def origin(client: str, source_url: str | None = None, trust: str | None = None) -> Origin:
    """Returns who stores a memory: our own agent is shown as `prometheus`; what names a web source is of the web.

    Raises:
        InvalidArgumentError: There is no such trust.
    """
    shown = OWN_AGENT_ORIGIN if client == OWN_AGENT else client
    told = parse_trust(trust) or Trust.AGENT
    return Origin(shown, Trust.WEB if source_url and source_url.strip() else told)


def source(client: str | None, trust: str | None) -> Source:
    """Returns whose memories are meant.

    Raises:
        InvalidArgumentError: There is no such trust.
    """
    tidy = " ".join(client.split()) if client else ""
    return Source((OWN_AGENT_ORIGIN if tidy == OWN_AGENT else tidy) or None, parse_trust(trust))


def checked_body(body: str) -> str:
    """Returns the body without white space around it; 1 byte to 64 kB of UTF-8.

    Raises:
        InvalidArgumentError: It is empty, too long or no text.
    """
    tidy = _plain("body", body).strip()
    if all(map(_is_unseen, tidy)):
        raise InvalidArgumentError("The body is empty; send the text to remember.")
    size_bytes = len(tidy.encode())
    if size_bytes > MAX_BODY_BYTES:
        raise InvalidArgumentError(
            f"The body has {size_bytes:,} bytes, at most {MAX_BODY_BYTES:,} are kept; split it or send a summary.",
        )
    return tidy


def checked_subject(subject: str | None) -> str | None:
    """Returns a subject on one line, or none when there is nothing in it."""
    return _line("subject", subject, MAX_SUBJECT_CHARACTERS)


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Returns the tags in lower case, each once, in order.

    Raises:
        InvalidArgumentError: There are more than 20, or one is longer than 64 characters.
    """
    tidy = [_line("tag", tag, MAX_TAG_CHARACTERS) for tag in tags]
    unique = tuple(dict.fromkeys(tag.lower() for tag in tidy if tag))
    if len(unique) > MAX_TAGS:
        raise InvalidArgumentError(f"There are {len(unique)} tags; send at most {MAX_TAGS}.")
    return unique


def checked_key(name: str, key: str | None) -> str | None:
    """Returns an idempotency key or the key of an episode, or none."""
    return _line(name, key, MAX_KEY_CHARACTERS)


def checked_id(memory_id: str) -> str:
    """Returns a memory id.

    Raises:
        InvalidArgumentError: The text cannot be one.
    """
    tidy = memory_id.strip()
    if not MEMORY_ID.match(tidy):
        raise InvalidArgumentError(
            f"{tidy[:60]!r} is no memory id; ids look like 'mem_' and 20 hex digits, take one from memory_search.",
        )
    return tidy


def checked_query(query: str) -> str:
    """Returns the query; a blank one is possible and finds nothing.

    Raises:
        InvalidArgumentError: It is longer than 4,000 characters.
    """
    if len(query) > MAX_QUERY_CHARACTERS:
        raise InvalidArgumentError(
            f"The query has {len(query):,} characters; send at most {MAX_QUERY_CHARACTERS:,}, the words that matter.",
        )
    return query


def parse_kind(kind: str | None) -> Kind | None:
    """Returns the kind, or none when none was sent.

    Raises:
        InvalidArgumentError: There is no such kind.
    """
    if kind is None or not kind.strip():
        return None
    try:
        return Kind(kind.strip().lower())
    except ValueError as error:
        raise InvalidArgumentError(
            f"There is no kind {kind[:40]!r}; send one of {', '.join(member.value for member in Kind)}.",
        ) from error


def parse_trust(trust: str | None) -> Trust | None:
    """Returns the trust, or none when none was sent.

    Raises:
        InvalidArgumentError: There is no such trust.
    """
    if trust is None or not trust.strip():
        return None
    try:
        return Trust(trust.strip().lower())
    except ValueError as error:
        raise InvalidArgumentError(
            f"There is no trust {trust[:40]!r}; send one of {', '.join(member.value for member in Trust)}.",
        ) from error


def page_size(limit: int | None, default: int) -> int:
    """Returns how many entries a page has at most: 1 to 50."""
    return default if limit is None else max(1, min(limit, MAX_LIMIT))


def _checked_url(url: str | None) -> str | None:
    tidy = _line("source_url", url, MAX_URL_CHARACTERS)
    if tidy is not None and not tidy.lower().startswith(("https://", "http://")):
        raise InvalidArgumentError(
            "The source_url is no web address; send one that starts with https:// or leave it out."
        )
    return tidy


def _is_unseen(letter: str) -> bool:
    """Tells whether a character leaves nothing to see by itself: white space, a control or a format sign, a blank."""
    return letter.isspace() or unicodedata.category(letter) in {"Cc", "Cf"} or letter in _BLANK_LETTERS


def _line(name: str, text: str | None, limit: int) -> str | None:
    """Returns a text on one line, or none when it is missing or blank."""
    if text is None:
        return None
    tidy = " ".join(_plain(name, text).split())
    if len(tidy) > limit:
        raise InvalidArgumentError(f"The {name} has {len(tidy):,} characters; send at most {limit:,}.")
    return tidy or None


def _plain(name: str, text: str) -> str:
    """Refuses what is no Unicode text: half of a surrogate pair cannot be stored or sent on."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(f"The {name} holds half of a surrogate pair; send valid Unicode text.") from error
    return text
