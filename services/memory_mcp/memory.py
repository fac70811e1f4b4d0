"""The memory service: remembering, correcting, forgetting and reading back.

Nothing is overwritten. A correction is a new memory that supersedes the old one; forgetting takes a memory out of every
search. What is a duplicate and what replaces what is decided here, inside one transaction of the store.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from zoneinfo import ZoneInfo

from memory_mcp import answer_size, cursors, intake
from memory_mcp.errors import IdempotencyConflictError, NotCurrentError, StoreError
from memory_mcp.indexing import index_text
from memory_mcp.mirror import pages
from memory_mcp.mirror.protocol import UNMIRRORED, Mirror
from memory_mcp.model import (
    ANY_SOURCE,
    UNTRUSTED,
    Changes,
    Content,
    Forgotten,
    History,
    Memory,
    Origin,
    Page,
    Remembered,
    Similar,
    Source,
    Status,
)
from memory_mcp.normal_form import body_hash
from memory_mcp.removal import erased_remains
from memory_mcp.scopes import parse_search_scope
from memory_mcp.search import MemorySearch
from memory_mcp.storage.protocol import MemoryStore, NewMemory, Reader, RecordedReply, Searched, Writer
from memory_mcp.versions import kept_otherwise, known, not_current, other_versions, stored

DEFAULT_PAGE = 20


class MemoryService:
    """Everything the tools do but searching, over a store, a clock (ms since 1970 UTC) and a source of ids."""

    def __init__(
        self,
        store: MemoryStore,
        search: MemorySearch,
        zone: ZoneInfo,
        now_ms: Callable[[], int],
        new_id: Callable[[], str],
        *,
        mirror: Mirror = UNMIRRORED,
    ) -> None:
        self._store = store
        self._search = search
        self._zone = zone
        self._now_ms = now_ms
        self._new_id = new_id
        self._mirror = mirror

    def remember(
        self,
        content: Content,
        origin: Origin,
        *,
        episode: str | None = None,
        supersedes: str | None = None,
        idempotency_key: str | None = None,
    ) -> Remembered:
        """Stores a memory durably, or returns the one that already says this in its scope.

        Raises:
            MemoryServerError: An argument is not possible, the replaced memory is unknown or not current, the key was
                used for other content, or the store refused.
        """
        episode = intake.checked_key("episode", episode)
        replaced_id = intake.checked_id(supersedes) if supersedes and supersedes.strip() else None
        key = intake.checked_key("idempotency_key", idempotency_key)
        request_hash = _request_hash("remember", asdict(content), episode, replaced_id)
        new = replace(self._new(content, origin), episode=episode)
        with self._store.writing() as writer:
            done = _replayed(writer, key, request_hash)
            if done is None:
                replaced = known(writer, replaced_id) if replaced_id else None
                done = stored(writer, new, replaced)
                _record(writer, key, request_hash, done, new.created_at_ms)
        self._mirror.changed((done.memory.id, *done.superseded))
        assumed = self._zone.key if content.happened and content.happened.zone_assumed else None
        kept = kept_otherwise(done.memory.content, content) if done.deduped and not done.memory.erased else ()
        return replace(done, similar=self._closest(done.memory), zone_assumed=assumed, kept=kept)

    def update(
        self,
        memory_id: str,
        changes: Changes,
        origin: Origin,
        *,
        idempotency_key: str | None = None,
    ) -> Remembered:
        """Stores a new version of a live memory; the old one stays readable as superseded.

        The same update sent again gives the same version.

        Raises:
            MemoryServerError: The memory is unknown or not current, the key was used for another update, or the store
                refused.
        """
        memory_id = intake.checked_id(memory_id)
        key = intake.checked_key("idempotency_key", idempotency_key)
        request_hash = _request_hash("update", memory_id, asdict(changes))
        with self._store.writing() as writer:
            done = _replayed(writer, key, request_hash)
            if done is None:
                old = known(writer, memory_id)
                content = changes.applied_to(old.content)
                new = self._new(content, _tainted(origin, old))
                done = _already_made(writer, old, content)
                if done is None:
                    position = old.position if content.scope.key == old.content.scope.key else None
                    done = stored(writer, replace(new, episode=old.episode, position=position), old)
                if done.deduped:
                    done = replace(done, kept=kept_otherwise(done.memory.content, content))
                _record(writer, key, request_hash, done, new.created_at_ms)
        self._mirror.changed((done.memory.id, *done.superseded))
        return done

    def forget(self, memory_id: str, origin: Origin, *, hard: bool = False) -> Forgotten:
        """Takes a memory out of every search; `hard` also erases its text from the store. Twice is no error.

        Raises:
            MemoryServerError: The id is unknown, or the store refused.
        """
        memory_id = intake.checked_id(memory_id)
        now_ms = self._now_ms()
        with self._store.writing() as writer:
            memory = known(writer, memory_id)
            already = memory.forgotten_at_ms is not None
            if not already:
                writer.forget(memory, index_text(memory.content), origin.client, now_ms)
            if hard:
                writer.erase(memory)
            versions = other_versions(writer, memory) if hard else ()
        self._mirror.changed((memory_id,))
        return Forgotten(
            memory_id=memory_id,
            at_ms=memory.forgotten_at_ms if memory.forgotten_at_ms is not None else now_ms,
            already=already and (memory.erased or not hard),
            erased=hard or memory.erased,
            remains=versions + erased_remains(self._store, self._mirror, (memory_id,)) if hard else (),
        )

    def get(self, memory_id: str) -> History:
        """Returns one memory, whatever its status, with the ids it replaced.

        Raises:
            MemoryServerError: The id is unknown, or the store refused.
        """
        memory_id = intake.checked_id(memory_id)
        with self._store.reading() as reader:
            return History(known(reader, memory_id), reader.superseded_by(memory_id))

    def newest(
        self,
        scope: str | None,
        kind: str | None,
        limit: int | None,
        cursor: str | None,
        source: Source = ANY_SOURCE,
    ) -> Page:
        """Returns a page of live memories, newest first.

        Raises:
            MemoryServerError: An argument is not possible, or the store refused.
        """
        searched, wanted = parse_search_scope(scope), intake.parse_kind(kind)
        question = ("list", searched.key if searched else None, wanted, source.client, source.trust)
        place = cursors.place_of(cursor, question, numbers=2)
        size = intake.page_size(limit, DEFAULT_PAGE)
        with self._store.reading() as reader:
            found = reader.newest(searched, wanted, (place[0], place[1]) if place else None, size + 1, source)
        page = answer_size.fitting(found[:size], lambda memory: answer_size.entry_bytes(memory, memory.content.body))
        if len(page) == len(found):
            return Page(page)
        return Page(page, cursors.cursor(question, (page[-1].created_at_ms, page[-1].number)))

    def index(self) -> str:
        """Returns MEMORY.md: the newest memories, a line each.

        Raises:
            StoreError: The store refused.
        """
        with self._store.reading() as reader:
            newest = reader.newest(None, None, None, pages.INDEX_LINES)
            return pages.index_of(newest, reader.totals(Searched()).memories)

    def _closest(self, memory: Memory) -> Similar | None:
        """Returns the closest other memory; the memory is stored by now, so a failure only leaves out the hint."""
        try:
            return self._search.closest(memory)
        except StoreError:
            return None

    def _new(self, content: Content, origin: Origin) -> NewMemory:
        return NewMemory(
            id=self._new_id(),
            content=content,
            body_hash=body_hash(content.body),
            origin=origin,
            created_at_ms=self._now_ms(),
            text=index_text(content),
        )


def _tainted(origin: Origin, old: Memory) -> Origin:
    """Returns who updates a memory; what came from the web or an import stays untrusted, whoever changes it."""
    return replace(origin, trust=old.origin.trust) if old.origin.trust in UNTRUSTED else origin


def _already_made(reader: Reader, old: Memory, content: Content) -> Remembered | None:
    """Returns the version an update made before, none when the memory can be updated.

    Raises:
        NotCurrentError: The memory is not live, and its successor is another one than this update makes.
    """
    if old.status is Status.LIVE:
        return None
    successor = reader.memory(old.superseded_by) if old.superseded_by else None
    if old.status is Status.SUPERSEDED and successor is not None and successor.content == content:
        return Remembered(successor, deduped=True, superseded=(old.id,))
    raise NotCurrentError(not_current(reader, old))


def _request_hash(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def _replayed(reader: Reader, key: str | None, request_hash: str) -> Remembered | None:
    """Returns what the write with this idempotency key did, none when it is new.

    Raises:
        IdempotencyConflictError: The key was used for other content.
    """
    reply = reader.reply_to(key) if key else None
    if key is None or reply is None:
        return None
    if reply.request_hash != request_hash:
        raise IdempotencyConflictError(key)
    return Remembered(known(reader, reply.memory_id), deduped=reply.deduped, superseded=reply.superseded)


def _record(writer: Writer, key: str | None, request_hash: str, done: Remembered, at_ms: int) -> None:
    if key is not None:
        writer.record_reply(RecordedReply(key, request_hash, done.memory.id, done.deduped, done.superseded), at_ms)
