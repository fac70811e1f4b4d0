"""What an import has read, before it meets the store. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from memory_mcp import intake
from memory_mcp.errors import InvalidArgumentError
from memory_mcp.model import Content, Origin, Trust
from memory_mcp.moments import FIRST_MS, LAST_MS, parse_moment, shown
from memory_mcp.scopes import Scope

MAX_ITEMS = 200_000
"""Memories of one import; it is one transaction."""
_SECONDS_BELOW = 100_000_000_000
"""Numbers below are seconds since 1970, as most exports write them, those above are milliseconds."""


@dataclass(frozen=True)
class Foreign:
    """A memory of another program, or one that a person wrote: it is new here, or known by its text."""

    where: str
    content: Content
    origin: Origin
    created_at_ms: int | None = None
    episode: str | None = None


@dataclass(frozen=True)
class Kept:
    """A memory of our own export, with all that was known of it; `number` is its place in the store it comes from."""

    where: str
    id: str
    content: Content
    origin: Origin
    number: int
    body_hash: str
    created_at_ms: int
    last_seen_at_ms: int
    episode: str | None = None
    position: int | None = None
    superseded_by: str | None = None
    retired_at_ms: int | None = None
    forgotten_at_ms: int | None = None
    forgotten_by: str | None = None
    erased: bool = False

    @property
    def is_live(self) -> bool:
        """Returns whether searches found it."""
        return self.superseded_by is None and self.forgotten_at_ms is None


@dataclass(frozen=True)
class EditedFile:
    """A file of the mirror that a person changed: the memory it shows, and what it says now."""

    where: str
    id: str
    content: Content
    origin: Origin


@dataclass(frozen=True)
class EditedLine:
    """A line of MEMORY.md that names a memory; the store knows whether it says anything new."""

    where: str
    id: str
    line: str
    origin: Origin


Item = Foreign | Kept | EditedFile | EditedLine


@dataclass(frozen=True)
class Skipped:
    """What was not taken in, where it stands in what was read, and why, in one sentence."""

    where: str
    reason: str


@dataclass(frozen=True)
class Batch:
    """Everything that was read, in the order in which it is to be stored."""

    format: str
    items: Sequence[Item]
    skipped: Sequence[Skipped] = ()


@dataclass(frozen=True)
class Manner:
    """How something is read.

    Times without an offset are in `zone`, memories that name no scope go to `scope`. `by_hand`: a person wrote it into
    our own mirror. `vouched`: it is a file of this machine, so our own export keeps the trust it states; what a caller
    sends as text does not.
    """

    zone: ZoneInfo
    scope: Scope
    by_hand: bool = False
    vouched: bool = False


@dataclass
class Collector:
    """Gathers what a reader of one format finds; a bad item is left out with its reason, the others stay."""

    format: str
    client: str
    manner: Manner
    items: list[Item] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def origin(self) -> Origin:
        """Returns who is said to have stored what is found."""
        return Origin("by hand", Trust.USER) if self.manner.by_hand else Origin(self.client, Trust.IMPORT)

    def add(self, where: str, body: object, **more: Any) -> None:
        """Adds a memory; `more` are kind, scope, subject, tags, happened_at, source_url, created_at, episode.

        Subjects and tags are cut to what is allowed. Times may be numbers or texts; what is neither is left out.

        Raises:
            InvalidArgumentError: There are too many memories for one import.
        """
        if not isinstance(body, str) or not body.strip():
            self.skip(where, "It has no text.")
            return
        created_at_ms = at_ms(more.pop("created_at", None), self.manner.zone)
        episode = more.pop("episode", None)
        more["happened_at"] = _moment_text(more.get("happened_at"), self.manner.zone)
        more["subject"] = clipped(more.get("subject"), intake.MAX_SUBJECT_CHARACTERS)
        more["tags"] = tags(more.get("tags"))
        more.setdefault("scope", self.manner.scope.name)
        try:
            content = intake.content(self.manner.zone, body=body, **more)
        except InvalidArgumentError as error:
            self.skip(where, str(error))
            return
        self.put(
            Foreign(unicode_of(where), content, self.origin, created_at_ms, clipped(episode, intake.MAX_KEY_CHARACTERS))
        )

    def put(self, item: Item) -> None:
        """Adds an item that is checked already.

        Raises:
            InvalidArgumentError: There are too many memories for one import.
        """
        if len(self.items) >= MAX_ITEMS:
            raise InvalidArgumentError(
                f"There are more than {MAX_ITEMS:,} memories in it; split it into smaller parts."
            )
        self.items.append(item)

    def skip(self, where: str, reason: str) -> None:
        """Notes what is left out and why."""
        self.skipped.append(Skipped(unicode_of(where), unicode_of(reason)))

    def batch(self) -> Batch:
        """Returns what was found."""
        return Batch(self.format, self.items, self.skipped)


def at_ms(time: object, zone: ZoneInfo) -> int | None:
    """Returns another program's time in ms since 1970 UTC: a number of seconds or milliseconds, or a text; or none.

    There is none for what only stands for no time, such as the first moment of the year 1.
    """
    if isinstance(time, bool) or time is None:
        return None
    if isinstance(time, int | float):
        if not 0 < time < _SECONDS_BELOW * 1000:
            return None
        return int(time * 1000) if time < _SECONDS_BELOW else int(time)
    text = time.isoformat() if isinstance(time, datetime) else str(time)
    try:
        moment = parse_moment("time", text, zone)
    except InvalidArgumentError:
        return None
    return moment.at_ms if moment and FIRST_MS <= moment.at_ms <= LAST_MS else None


def _moment_text(time: object, zone: ZoneInfo) -> str | None:
    """Returns a time as it can be stored: a text that is one as it stands, a number in words, or none."""
    found = at_ms(time, zone)
    if found is None:
        return None
    return time if isinstance(time, str) else shown(found, zone)


def clipped(text: object, characters: int) -> str | None:
    """Returns a text on one line and cut to a length, or none when there is none."""
    if not isinstance(text, str):
        return None
    return " ".join(unicode_of(text).split())[:characters].strip() or None


def unicode_of(text: str) -> str:
    """Returns a text without halves of surrogate pairs, which JSON and file names can hold but nothing can store."""
    return text.encode(errors="ignore").decode()


def tags(given: object) -> list[str]:
    """Returns tags as far as they are allowed: texts, or one text with commas."""
    words = given.split(",") if isinstance(given, str) else given if isinstance(given, list | tuple) else []
    tidy = [clipped(str(word), intake.MAX_TAG_CHARACTERS) for word in words if isinstance(word, str | int)]
    return [word for word in tidy if word][: intake.MAX_TAGS]


def text_of(fields: Mapping[str, Any], *names: str) -> str | None:
    """Returns the first of these fields that is a text with something in it."""
    for name in names:
        if isinstance(value := fields.get(name), str) and value.strip():
            return value
    return None
