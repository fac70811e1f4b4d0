"""What the memory server keeps and answers, as frozen values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from memory_mcp.moments import Moment
from memory_mcp.scopes import Scope

MEMORY_ID = re.compile(r"mem_[0-9a-f]{20}\Z")
"""Ids are 80 random bits: they cannot be guessed, and they say nothing."""


class Kind(StrEnum):
    """What a memory is: a fact something observed, a dated episode, or knowledge of one of three sorts."""

    FACT = "fact"
    REFERENCE = "reference"
    SEMANTIC = "semantic"
    DECISION = "decision"
    EPISODE = "episode"


class Trust(StrEnum):
    """Where the content came from, as far as the writer said; shown to the reader, never used to allow anything."""

    USER = "user"
    AGENT = "agent"
    WEB = "web"
    IMPORT = "import"


UNTRUSTED = frozenset({Trust.WEB, Trust.IMPORT})
"""Content that other people wrote: data, whatever it says."""


class Status(StrEnum):
    """Whether a memory is found by searches, and why not."""

    LIVE = "live"
    SUPERSEDED = "superseded"
    FORGOTTEN = "forgotten"
    ERASED = "erased"


@dataclass(frozen=True)
class Origin:
    """Who stored a memory: the client's name as it gives it, and the trust of the content."""

    client: str
    trust: Trust


@dataclass(frozen=True)
class Source:
    """Whose memories are meant: those of one client, of one trust, or both; none means any."""

    client: str | None = None
    trust: Trust | None = None

    def covers(self, origin: Origin) -> bool:
        """Returns whether a memory with this origin is meant."""
        return self.client in (None, origin.client) and self.trust in (None, origin.trust)


ANY_SOURCE = Source()
REPORT_TAG = "report"
"""The flag of a research report: a memory of kind `semantic` with this tag (agent.md section 6, point 3)."""


@dataclass(frozen=True)
class Content:
    """What a memory says and how it is filed; checked and tidied by `intake`."""

    body: str
    kind: Kind
    scope: Scope
    subject: str | None = None
    tags: tuple[str, ...] = ()
    happened: Moment | None = None
    source_url: str | None = None

    @property
    def is_report(self) -> bool:
        """Returns whether this is a research report, and not just any semantic memory."""
        return self.kind is Kind.SEMANTIC and REPORT_TAG in self.tags


@dataclass(frozen=True)
class Changes:
    """What an update changes in a content; what is none stays as it was, no tags (an empty tuple) clears them."""

    body: str | None = None
    subject: str | None = None
    tags: tuple[str, ...] | None = None
    scope: Scope | None = None

    def applied_to(self, content: Content) -> Content:
        """Returns the content with the changes made."""
        return replace(
            content,
            body=self.body or content.body,
            subject=content.subject if self.subject is None else self.subject or None,
            tags=content.tags if self.tags is None else self.tags,
            scope=self.scope or content.scope,
        )


@dataclass(frozen=True)
class Memory:
    """One stored memory, with its history.

    `number` orders memories by when they were stored. `position` is the place in the conversation `episode`, from 0.
    `words` is the length the index counts, `distinct_terms` the entries it has there.
    """

    number: int
    id: str
    content: Content
    body_hash: str
    origin: Origin
    created_at_ms: int
    last_seen_at_ms: int
    words: int
    distinct_terms: int
    episode: str | None = None
    episode_number: int | None = None
    position: int | None = None
    superseded_by: str | None = None
    retired_at_ms: int | None = None
    forgotten_at_ms: int | None = None
    forgotten_by: str | None = None
    erased: bool = False

    @property
    def status(self) -> Status:
        """Returns whether searches find the memory, and if not, why."""
        if self.erased:
            return Status.ERASED
        if self.forgotten_at_ms is not None:
            return Status.FORGOTTEN
        return Status.LIVE if self.superseded_by is None else Status.SUPERSEDED

    @property
    def at_ms(self) -> int:
        """Returns when it happened, else when it was stored (ms since 1970 UTC): what `after` and `before` compare."""
        return self.content.happened.at_ms if self.content.happened else self.created_at_ms


@dataclass(frozen=True)
class Similar:
    """The closest other live memory of the same scope, when it is close.

    `likeness` is the shared part of the content words, 0 to 1. `conflicts` says that the subject is the same and the
    bodies differ, so that one may replace the other: a proposal, nothing is merged or retired by itself.
    """

    memory: Memory
    likeness: float
    conflicts: bool


@dataclass(frozen=True)
class Remembered:
    """The outcome of remembering or updating: the live memory, and what it replaced.

    `kept` names what a memory that was known already has otherwise than it was sent: it keeps its own.
    """

    memory: Memory
    deduped: bool
    superseded: tuple[str, ...] = ()
    similar: Similar | None = None
    zone_assumed: str | None = None
    kept: tuple[str, ...] = ()


@dataclass(frozen=True)
class Forgotten:
    """The outcome of forgetting: when, whether it had been forgotten before, and what still holds the text."""

    memory_id: str
    at_ms: int
    already: bool
    erased: bool
    remains: tuple[str, ...] = ()


@dataclass(frozen=True)
class Swept:
    """The outcome of forgetting a whole source: the memories as they were, and what still holds erased text."""

    memories: tuple[Memory, ...]
    remains: tuple[str, ...] = ()


@dataclass(frozen=True)
class Restored:
    """The outcome of bringing forgotten memories back: those that are, and by id why others are not."""

    memories: tuple[Memory, ...]
    left: Mapping[str, str]


@dataclass(frozen=True)
class OriginCount:
    """How many memories came from one origin, by what has become of them; erased ones count as forgotten."""

    origin: Origin
    live: int
    superseded: int
    forgotten: int


@dataclass(frozen=True)
class History:
    """A memory with the ids of the versions it replaced."""

    memory: Memory
    supersedes: tuple[str, ...]


@dataclass(frozen=True)
class Hit:
    """A memory that a search found: its score, the parts of the score, and a piece of the body with `<<…>>`."""

    memory: Memory
    score: float
    snippet: str
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """One page of hits, best first. `scope` is what was really searched, `trace_id` names this search in logs."""

    hits: tuple[Hit, ...]
    scope: str
    trace_id: str
    next_cursor: str | None = None


@dataclass(frozen=True)
class Page:
    """One page of memories, newest first."""

    memories: tuple[Memory, ...]
    next_cursor: str | None = None


@dataclass(frozen=True)
class Recalled:
    """A block of text ready to be read, newest knowledge first, each line with its date and id."""

    block: str
    memories: tuple[Memory, ...]
    omitted: int
    scope: str
    trace_id: str
