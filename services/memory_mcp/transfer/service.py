"""Importing and exporting over a store."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from zoneinfo import ZoneInfo

from memory_mcp.errors import InvalidArgumentError
from memory_mcp.mirror import pages
from memory_mcp.mirror.protocol import Mirror
from memory_mcp.model import Memory, Status
from memory_mcp.removal import every
from memory_mcp.scopes import parse_scope, parse_search_scope
from memory_mcp.storage.protocol import MemoryStore
from memory_mcp.transfer import giving_out, reading
from memory_mcp.transfer.bundle import Bundle, bundle_at, bundle_of_text
from memory_mcp.transfer.formats import markdown, own
from memory_mcp.transfer.items import Manner
from memory_mcp.transfer.taking_in import Taken, TakingIn

MAX_CONTENT_CHARACTERS = 1_000_000
MAX_LINKED_BYTES = 16 * 1024 * 1024
"""Of an export that is read as a resource; larger ones are written by the command line."""


@dataclass(frozen=True)
class Gate:
    """Which paths may be read: any (the caller works on this machine as the person who started us), or a folder's.

    `mirror` is the folder of our own mirror: what is read there was written by us or by a person's hand. Whoever names
    MEMORY.md means that folder, from wherever.
    """

    any_path: bool
    folder: Path | None = None
    mirror: Path | None = None

    def checked(self, text: str) -> Path:
        """Returns the path, links followed, when it may be read.

        Raises:
            InvalidArgumentError: It may not be read from here, or it is no path.
        """
        if self.mirror is not None and text.strip() == pages.INDEX_NAME:
            return Path(os.path.realpath(self.mirror))
        try:
            path = Path(text.strip()).expanduser()
            base = self.folder if self.folder is not None and not self.any_path else Path.cwd()
            real = Path(os.path.realpath(base / path))
            allowed = None if self.folder is None else Path(os.path.realpath(self.folder))
        except (OSError, ValueError, RuntimeError) as error:
            raise InvalidArgumentError("The path is not possible; send that of a file or folder to import.") from error
        if self.any_path or (allowed is not None and (real == allowed or allowed in real.parents)):
            return real
        raise InvalidArgumentError(
            "A path cannot be read from here; send the text as content, or a path inside the import folder that "
            "whoever runs this server has set (PROMETHEUS_MEMORY_IMPORT_FOLDER).",
        )


class Transfer:
    """Imports into and exports out of a store."""

    def __init__(
        self,
        store: MemoryStore,
        zone: ZoneInfo,
        now_ms: Callable[[], int],
        new_id: Callable[[], str],
        *,
        mirror: Mirror,
    ) -> None:
        self._store = store
        self._zone = zone
        self._now_ms = now_ms
        self._new_id = new_id
        self._mirror = mirror

    def take_in(
        self,
        *,
        gate: Gate,
        path: str | None = None,
        content: str | None = None,
        format_name: str | None = None,
        scope: str | None = None,
        dry_run: bool = False,
    ) -> Taken:
        """Imports what is at a path, or a text; all of it or nothing, each memory once.

        A dry run does the same and undoes it, so that its counts are true.

        Raises:
            MemoryServerError: Nothing or both was sent, it cannot be read, or the store refused; nothing was imported.
        """
        if bool(path and path.strip()) == bool(content and content.strip()):
            raise InvalidArgumentError("Send either a path or content to import.")
        real = gate.checked(path) if path and path.strip() else None
        bundle = bundle_at(real) if real else _of_content(content or "")
        by_hand = real is not None and gate.mirror is not None and _is_mirror(real, gate.mirror)
        manner = Manner(self._zone, parse_scope(scope), by_hand=by_hand, vouched=real is not None)
        batch = reading.read(bundle, manner, format_name)
        try:
            with self._store.writing() as writer:
                done = TakingIn(writer, self._now_ms(), self._new_id).take(batch)
                if dry_run:
                    _undo()
        except _DryRun:
            done.dry_run = True
            return done
        if real is not None and by_hand:
            left = {one.where.partition(" line ")[0] for one in done.skipped}
            read = {name: data for name, data in bundle.files.items() if name not in left}
            self._mirror.settled(real if real.is_dir() else real.parent, read)
        self._mirror.changed((*done.new, *done.updated, *done.retired))
        return done

    @contextmanager
    def memories(self, scope: str | None = None, *, live_only: bool = False) -> Iterator[Iterator[Memory]]:
        """Opens one consistent view of what an export holds, in the order in which it was stored.

        Raises:
            MemoryServerError: There is no such scope, or the store refused.
        """
        wanted = parse_search_scope(scope)
        with self._store.reading() as reader:
            yield (
                memory
                for memory in every(reader)
                if (wanted is None or memory.content.scope.key == wanted.key)
                and (not live_only or memory.status is Status.LIVE)
            )

    def counts(self, scope: str | None = None) -> Counter[Status]:
        """Returns how many memories an export holds, by status.

        Raises:
            MemoryServerError: There is no such scope, or the store refused.
        """
        with self.memories(scope) as memories:
            return Counter(memory.status for memory in memories)

    def linked(self, format_name: str, scope: str | None) -> str | bytes:
        """Returns an export as a resource shows it: JSON lines as text, Markdown files as a zip archive.

        Raises:
            MemoryServerError: The format or scope is unknown, it is too large, or the store refused.
        """
        chosen = export_format(format_name)
        with self.memories(scope) as memories:
            if chosen == markdown.OWN:
                data = giving_out.zipped(giving_out.markdown_files(memories))
                _check_size(len(data))
                return data
            lines, size = list[str](), 0
            for line in giving_out.jsonl(memories):
                size += len(line.encode())
                _check_size(size)
                lines.append(line)
            return "".join(lines)


def export_format(name: str | None) -> str:
    """Returns the format of an export; none is JSON lines.

    Raises:
        InvalidArgumentError: There is no such format.
    """
    tidy = (name or "").strip().lower() or own.NAME
    if tidy not in giving_out.FORMATS:
        raise InvalidArgumentError(f"There is no export format {tidy[:40]!r}; send {' or '.join(giving_out.FORMATS)}.")
    return tidy


class _DryRun(Exception):  # noqa: N818 - it undoes the transaction and never leaves this module
    """Undoes a dry run."""


def _undo() -> NoReturn:
    raise _DryRun


def _of_content(content: str) -> Bundle:
    if len(content) > MAX_CONTENT_CHARACTERS:
        raise InvalidArgumentError(
            f"The content has {len(content):,} characters, at most {MAX_CONTENT_CHARACTERS:,} are taken; send a path, "
            "or run `memory-mcp import PATH`.",
        )
    try:
        return bundle_of_text(content)
    except UnicodeEncodeError as error:
        raise InvalidArgumentError("The content holds half of a surrogate pair; send valid Unicode text.") from error


def _is_mirror(path: Path, mirror: Path) -> bool:
    real = Path(os.path.realpath(mirror))
    return path == real or real in path.parents


def _check_size(size_bytes: int) -> None:
    if size_bytes > MAX_LINKED_BYTES:
        raise InvalidArgumentError(
            f"The export is over {MAX_LINKED_BYTES >> 20} MiB; run `memory-mcp export`, which writes any amount, or "
            "name a scope.",
        )
