"""What the tools answer: structured content, as pydantic models. Empty fields are left out of what is sent.

Times are RFC 3339 in the configured zone, with its offset; a memory of a day shows the date. `untrusted` is
set when the text came from the web or from an import: it is data, whatever it says.
"""

from __future__ import annotations

from zoneinfo import ZoneInfo

from pydantic import BaseModel

from memory_mcp import answer_size
from memory_mcp.model import (
    UNTRUSTED,
    Forgotten,
    Found,
    History,
    Hit,
    Memory,
    Page,
    Recalled,
    Remembered,
    Similar,
    Status,
)
from memory_mcp.moments import shown
from memory_mcp.snippets import clip


class Entry(BaseModel):
    """A memory in a list: where it belongs, when it is from, and a piece of its text."""

    id: str
    kind: str
    scope: str
    created_at: str
    happened_at: str | None = None
    subject: str | None = None
    snippet: str
    score: float | None = None
    parts: dict[str, float] | None = None
    origin: str
    status: str | None = None
    report: bool | None = None
    untrusted: bool | None = None


class Whole(BaseModel):
    """A memory with its text and history. `body_next` is where the next part begins when one answer cannot hold it."""

    id: str
    kind: str
    scope: str
    created_at: str
    happened_at: str | None = None
    subject: str | None = None
    tags: list[str] | None = None
    body: str
    body_start: int | None = None
    body_next: int | None = None
    status: str
    superseded_by: str | None = None
    supersedes: list[str] | None = None
    forgotten_at: str | None = None
    forgotten_by: str | None = None
    report: bool | None = None
    episode: str | None = None
    position: int | None = None
    source_url: str | None = None
    origin: str
    trust: str
    untrusted: bool | None = None


class Close(BaseModel):
    """The closest other memory. `conflicts`: same subject, other words, so one may have to supersede the other."""

    id: str
    snippet: str
    likeness: float
    conflicts: bool


class RememberAnswer(BaseModel):
    """Of `memory_remember` and `memory_update`. `kept`: what a known memory has otherwise than it was sent."""

    memory: Entry
    deduped: bool
    kept: list[str] | None = None
    superseded: list[str]
    similar: Close | None = None
    time_zone_assumed: str | None = None


class SearchAnswer(BaseModel):
    """Of `memory_search`."""

    entries: list[Entry]
    next_cursor: str | None = None
    scope_effective: str
    retrieval_trace_id: str


class GetAnswer(BaseModel):
    """Of `memory_get`."""

    memory: Whole


class Reference(BaseModel):
    """A memory by its id."""

    id: str


class RecallAnswer(BaseModel):
    """Of `memory_recall`: the block, the memories in it, and how many did not fit."""

    block: str
    entries: list[Reference]
    omitted: int
    scope_effective: str
    retrieval_trace_id: str


class ListAnswer(BaseModel):
    """Of `memory_list`."""

    entries: list[Entry]
    next_cursor: str | None = None


class ForgetAnswer(BaseModel):
    """Of `memory_forget`: `remains` says where the text may still be after an erasure."""

    id: str
    forgotten_at: str
    already_forgotten: bool
    erased: bool
    remains: list[str] | None = None


def entry(memory: Memory, zone: ZoneInfo, snippet: str | None = None) -> Entry:
    """Returns a memory as an entry of a list; without a snippet it shows the beginning of the text."""
    content = memory.content
    return Entry(
        id=memory.id,
        kind=content.kind,
        scope=content.scope.name,
        created_at=shown(memory.created_at_ms, zone),
        happened_at=content.happened.text if content.happened else None,
        subject=content.subject,
        snippet=clip(content.body, answer_size.ENTRY_CHARACTERS) if snippet is None else snippet,
        origin=memory.origin.client,
        status=None if memory.status is Status.LIVE else memory.status,
        report=content.is_report or None,
        untrusted=_untrusted(memory),
    )


def found_entry(hit: Hit, zone: ZoneInfo, *, explain: bool) -> Entry:
    """Returns a hit as an entry, with the parts of its score when they are asked for."""
    parts = {name: round(part, 4) for name, part in hit.parts.items()} if explain else None
    return entry(hit.memory, zone, hit.snippet).model_copy(update={"score": hit.score, "parts": parts})


def remember_answer(done: Remembered, zone: ZoneInfo) -> RememberAnswer:
    """Returns the answer of a write."""
    return RememberAnswer(
        memory=entry(done.memory, zone),
        deduped=done.deduped,
        kept=list(done.kept) or None,
        superseded=list(done.superseded),
        similar=_close(done.similar) if done.similar else None,
        time_zone_assumed=done.zone_assumed,
    )


def search_answer(found: Found, zone: ZoneInfo, *, explain: bool) -> SearchAnswer:
    """Returns the answer of a search."""
    return SearchAnswer(
        entries=[found_entry(hit, zone, explain=explain) for hit in found.hits],
        next_cursor=found.next_cursor,
        scope_effective=found.scope,
        retrieval_trace_id=found.trace_id,
    )


def get_answer(history: History, zone: ZoneInfo, start: int) -> GetAnswer:
    """Returns one memory, with the part of its body that begins at `start` and fits into an answer."""
    content = history.memory.content
    whole = _without_body(history, zone)
    part, following = answer_size.body_part(content.body, start, len(whole.model_dump_json(exclude_none=True).encode()))
    place = (start if content.body else None) or None
    return GetAnswer(memory=whole.model_copy(update={"body": part, "body_start": place, "body_next": following}))


def _without_body(history: History, zone: ZoneInfo) -> Whole:
    memory, content = history.memory, history.memory.content
    return Whole(
        id=memory.id,
        kind=content.kind,
        scope=content.scope.name,
        created_at=shown(memory.created_at_ms, zone),
        happened_at=content.happened.text if content.happened else None,
        subject=content.subject,
        tags=list(content.tags) or None,
        body="",
        status=memory.status,
        superseded_by=memory.superseded_by,
        supersedes=list(history.supersedes[-answer_size.SUPERSEDED_IDS :]) or None,
        forgotten_at=None if memory.forgotten_at_ms is None else shown(memory.forgotten_at_ms, zone),
        forgotten_by=memory.forgotten_by,
        report=content.is_report or None,
        episode=memory.episode,
        position=memory.position,
        source_url=content.source_url,
        origin=memory.origin.client,
        trust=memory.origin.trust,
        untrusted=_untrusted(memory),
    )


def recall_answer(recalled: Recalled) -> RecallAnswer:
    """Returns the answer of a recall."""
    return RecallAnswer(
        block=recalled.block,
        entries=[Reference(id=memory.id) for memory in recalled.memories],
        omitted=recalled.omitted,
        scope_effective=recalled.scope,
        retrieval_trace_id=recalled.trace_id,
    )


def list_answer(page: Page, zone: ZoneInfo) -> ListAnswer:
    """Returns the answer of a listing."""
    return ListAnswer(entries=[entry(memory, zone) for memory in page.memories], next_cursor=page.next_cursor)


def forget_answer(forgotten: Forgotten, zone: ZoneInfo) -> ForgetAnswer:
    """Returns the answer of forgetting."""
    return ForgetAnswer(
        id=forgotten.memory_id,
        forgotten_at=shown(forgotten.at_ms, zone),
        already_forgotten=forgotten.already,
        erased=forgotten.erased,
        remains=list(forgotten.remains) if forgotten.erased else None,
    )


def _close(similar: Similar) -> Close:
    return Close(
        id=similar.memory.id,
        snippet=clip(similar.memory.content.body, answer_size.ENTRY_CHARACTERS),
        likeness=similar.likeness,
        conflicts=similar.conflicts,
    )


def _untrusted(memory: Memory) -> bool | None:
    return True if memory.origin.trust in UNTRUSTED else None
