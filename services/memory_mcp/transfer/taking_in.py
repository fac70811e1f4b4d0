"""Taking a batch into the store: all of it in one transaction, each memory once however often it is imported.

A memory that was corrected or forgotten here does not come back by importing the file it once came from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from memory_mcp.indexing import index_text
from memory_mcp.mirror import pages
from memory_mcp.model import UNTRUSTED, Content, Memory, Origin, Status
from memory_mcp.normal_form import body_hash
from memory_mcp.storage.protocol import NewMemory, Writer
from memory_mcp.terms import IndexedText
from memory_mcp.transfer.circles import in_circles
from memory_mcp.transfer.items import Batch, EditedFile, EditedLine, Foreign, Item, Kept, Skipped
from memory_mcp.versions import stored

_NOTHING = IndexedText({}, 0)


@dataclass
class Taken:
    """What became of a batch.

    `new` are the ids of new memories, `known` counts those that were here, `updated` are new versions and `retired` the
    ones they replaced.
    """

    format: str
    dry_run: bool = False
    new: list[str] = field(default_factory=list)
    known: int = 0
    updated: list[str] = field(default_factory=list)
    retired: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


class TakingIn:
    """One import, inside one transaction; times are ms since 1970 UTC."""

    def __init__(self, writer: Writer, now_ms: int, new_id: Callable[[], str]) -> None:
        self._writer = writer
        self._now_ms = now_ms
        self._new_id = new_id
        self._retired = writer.retired_bodies()
        self._known_as: dict[str, str] = {}
        self._circles: frozenset[str] = frozenset()

    def take(self, batch: Batch) -> Taken:
        """Stores the batch.

        Raises:
            StoreError: The store refused; undo the transaction.
        """
        done = Taken(batch.format, skipped=list(batch.skipped))
        for item in batch.items:
            if isinstance(item, Kept) and item.is_live and (same := self._same(item.content, item.body_hash)):
                self._known_as[item.id] = same.id
        new = (item for item in batch.items if isinstance(item, Kept) and not self._writer.memory(item.id))
        self._circles = in_circles({item.id: item.superseded_by for item in new}, self._replaced_by)
        for item in batch.items:
            self._take(item, done)
        return done

    def _take(self, item: Item, done: Taken) -> None:
        if isinstance(item, Kept):
            self._restore(item, done)
        elif isinstance(item, EditedFile):
            self._edit(item, done)
        elif isinstance(item, EditedLine):
            self._edit_line(item, done)
        else:
            self._add(item, done)

    def _add(self, item: Foreign, done: Taken) -> None:
        hashed = body_hash(item.content.body)
        if self._same(item.content, hashed):
            done.known += 1
        elif retired := self._retired.get((item.content.scope.key, hashed)):
            done.skipped.append(Skipped(item.where, f"It was corrected or forgotten here ({retired})."))
        else:
            done.new.append(self._writer.insert(self._new(item.content, item.origin, item)).id)

    def _restore(self, item: Kept, done: Taken) -> None:
        if item.id in self._known_as or self._writer.memory(item.id) or self._same(item.content, item.body_hash):
            done.known += 1
            return
        if item.id in self._circles:
            done.skipped.append(Skipped(item.where, "It is said to be replaced by itself, or by what it replaced."))
            return
        if item.is_live and (retired := self._retired.get((item.content.scope.key, item.body_hash))):
            done.skipped.append(Skipped(item.where, f"It was corrected or forgotten here ({retired})."))
            return
        text = _NOTHING if item.erased else index_text(item.content)
        memory = self._writer.insert(
            NewMemory(
                id=item.id,
                content=item.content,
                body_hash=item.body_hash,
                origin=item.origin,
                created_at_ms=item.created_at_ms,
                text=text,
                episode=item.episode,
                position=item.position,
            ),
        )
        if item.last_seen_at_ms != item.created_at_ms:
            self._writer.touch(memory, item.last_seen_at_ms)
        if item.superseded_by is not None:
            by = self._known_as.get(item.superseded_by, item.superseded_by)
            self._writer.supersede(memory, text, by, item.retired_at_ms or item.created_at_ms)
        if item.forgotten_at_ms is not None:
            current = self._writer.memory(item.id) or memory
            self._writer.forget(current, text, item.forgotten_by or "unknown", item.forgotten_at_ms)
            if item.erased:
                self._writer.erase(current)
        done.new.append(item.id)

    def _edit(self, item: EditedFile, done: Taken) -> None:
        old = self._writer.memory(item.id)
        if old is None or old.status is not Status.LIVE:
            if old is not None and _says_the_same(old.content, item.content):
                done.known += 1
                return
            self._add(
                Foreign(item.where, item.content, item.origin), done
            )  # both stay: the newer version and this text
            return
        body = old.content.body if _same_lines(old.content.body, item.content.body) else item.content.body
        self._replace(old, replace(item.content, body=body), item.origin, done)

    def _edit_line(self, item: EditedLine, done: Taken) -> None:
        old = self._writer.memory(item.id)
        if old is not None and pages.index_line(old) == item.line:
            done.known += 1
        elif old is None or old.status is not Status.LIVE:
            done.skipped.append(
                Skipped(item.where, f"{item.id} is not current any more; write it as a line of its own.")
            )
        elif body := pages.body_of_line(item.line, old):
            self._replace(old, replace(old.content, body=body), item.origin, done)
        else:
            file = f"{pages.FOLDER}/{pages.file_name(item.id)}"
            done.skipped.append(
                Skipped(item.where, f"The line shows only the beginning of the memory; edit {file} instead.")
            )

    def _replace(self, old: Memory, content: Content, origin: Origin, done: Taken) -> None:
        """Stores an edited memory as a new version; what came from the web stays untrusted, whoever edits it."""
        if content == old.content:
            done.known += 1
            return
        kept = replace(origin, trust=old.origin.trust) if old.origin.trust in UNTRUSTED else origin
        position = old.position if content.scope.key == old.content.scope.key else None
        new = replace(self._new(content, kept), episode=old.episode, position=position)
        result = stored(self._writer, new, old)
        done.retired.extend(result.superseded)
        done.updated.append(result.memory.id)

    def _same(self, content: Content, hashed: str) -> Memory | None:
        return self._writer.live_with_body(content.scope, hashed)

    def _replaced_by(self, memory_id: str) -> str | None:
        memory = self._writer.memory(memory_id)
        return memory.superseded_by if memory else None

    def _new(self, content: Content, origin: Origin, item: Foreign | None = None) -> NewMemory:
        at_ms = item.created_at_ms if item and item.created_at_ms is not None else self._now_ms
        return NewMemory(
            id=self._new_id(),
            content=content,
            body_hash=body_hash(content.body),
            origin=origin,
            created_at_ms=min(at_ms, self._now_ms),
            text=index_text(content),
            episode=item.episode if item else None,
        )


def _says_the_same(old: Content, new: Content) -> bool:
    return _same_lines(old.body, new.body)


def _same_lines(one: str, other: str) -> bool:
    """Returns whether two bodies differ in nothing but how editors end lines."""
    return [line.rstrip() for line in one.splitlines()] == [line.rstrip() for line in other.splitlines()]
