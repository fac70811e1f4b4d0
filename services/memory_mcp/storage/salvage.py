"""Getting memories out of a damaged SQLite store into a new one; the damaged file is kept beside it.

What the file has lost may still be in the mirror: its files are read too. Nothing is changed before the new store is
whole, and then files are only renamed.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

from memory_mcp.errors import InvalidArgumentError, StoreDamagedError, StoreError, StoreOpenError
from memory_mcp.mirror import pages
from memory_mcp.normal_form import body_hash
from memory_mcp.scopes import GLOBAL, parse_scope
from memory_mcp.storage.carving import Carved, carve
from memory_mcp.storage.holding import held_alone, state_of
from memory_mcp.storage.leftovers import SALVAGING, salvaged_name
from memory_mcp.storage.sqlite import open_sqlite
from memory_mcp.transfer.bundle import bundle_at
from memory_mcp.transfer.fields import kept_of
from memory_mcp.transfer.formats import markdown
from memory_mcp.transfer.items import Batch, Collector, Kept, Manner
from memory_mcp.transfer.taking_in import TakingIn

_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffd]")
_LOST_SCOPE = "recovered"
"""Family of the scopes whose name cannot be read any more: `recovered:3`."""


@dataclass(frozen=True)
class Salvaged:
    """How much was got out of the file and how much more of the mirror, and under which name the damaged file is kept.

    `cut` memories have only the beginning of their text, `lost` could not be read as a memory.
    """

    from_file: int
    from_mirror: int
    cut: tuple[str, ...]
    lost: int
    kept_as: str | None = None


def is_good(path: Path) -> bool:
    """Returns whether SQLite finds nothing wrong with a store; it looks at a copy, so that nothing is changed.

    Raises:
        StoreOpenError: Another process has it open, so that no copy is whole.
        OSError: The disk refused.
    """
    with held_alone(path):
        pass
    with tempfile.TemporaryDirectory(prefix=SALVAGING, dir=path.parent) as folder:
        copy = Path(folder, path.name)
        for name in (path.name, f"{path.name}-wal"):
            if (source := path.with_name(name)).exists():
                shutil.copyfile(source, copy.with_name(name))
        try:
            store = open_sqlite(copy)
            store.close()
            with closing(sqlite3.connect(copy)) as connection:
                return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        except StoreDamagedError:
            return False
        except sqlite3.Error:
            return False


def salvage(path: Path, zone: ZoneInfo, new_id: Callable[[], str], *, dry_run: bool = False) -> Salvaged:
    """Puts a new store with everything readable in a damaged one's place; the damaged file is renamed, not changed.

    Raises:
        StoreOpenError: Another process has the store open, or wrote to it meanwhile; everything is as it was.
        StoreError: Nothing can be read of it, or the new store could not be written; everything is as it was.
        OSError: The disk refused; everything is as it was.
    """
    with held_alone(path):
        before = state_of(path)
    carved = carve(path)
    manner = Manner(zone, parse_scope(GLOBAL), vouched=True)
    batch, cut = _batch(carved, manner)
    mirrored = _mirrored(path.parent / pages.FOLDER, manner)
    fresh = path.with_name(salvaged_name(path))
    _remove(fresh)
    try:
        store = open_sqlite(fresh)
        try:
            with store.writing() as writer:
                now_ms = time.time_ns() // 1_000_000
                first = TakingIn(writer, now_ms, new_id).take(batch)
                second = TakingIn(writer, now_ms, new_id).take(mirrored)
            store.purge()
        finally:
            store.close()
        result = Salvaged(len(first.new), len(second.new), cut, len(first.skipped))
        if not first.new and not second.new:
            raise StoreError(
                "No memory can be read from the file, and it was left as it is; move it out of the folder that "
                "`memory-mcp --where` prints to start afresh.",
            )
        if dry_run:
            return result
        with held_alone(path):
            if state_of(path) != before or not fresh.exists():
                raise StoreOpenError
            return _put_in_place(path, fresh, result)
    finally:
        _remove(fresh)


def _batch(carved: Carved, manner: Manner) -> tuple[Batch, tuple[str, ...]]:
    """Returns the memories of a file, and the ids of those of whose text only the beginning is left."""
    found = Collector("damaged store", "unknown", manner)
    cut = []
    for row in sorted(carved.memories.values(), key=lambda row: int(row["number"] or 0)):
        memory_id, body = str(row["id"]), str(row.get("body") or "")
        whole = bool(row["erased"]) or body_hash(body) == row["body_hash"]
        try:
            found.put(_kept({**row, "body": body if whole else _readable(body)}, carved, manner))
        except (InvalidArgumentError, ValueError) as error:
            found.skip(memory_id, str(error))
            continue
        if not whole:
            cut.append(memory_id)
    return found.batch(), tuple(cut)


def _readable(body: str) -> str:
    """Returns a damaged text up to where it stops being text."""
    return _NO_TEXT.split(body, maxsplit=1)[0]


def _kept(row: Mapping[str, object], carved: Carved, manner: Manner) -> Kept:
    scope, episode = row["scope"], row["episode"]
    fields = {
        **row,
        "scope": carved.scopes.get(scope) or f"{_LOST_SCOPE}:{scope}" if isinstance(scope, int) else None,
        "episode": (carved.episodes.get(episode) or f"{_LOST_SCOPE} {episode}") if isinstance(episode, int) else None,
        "tags": json.loads(str(row["tags"] or "[]")),
        "happened_at": row["happened_text"],
        "erased": bool(row["erased"]) or None,
    }
    return kept_of(fields, manner, str(row["id"]))


def _mirrored(folder: Path, manner: Manner) -> Batch:
    """Returns the memories that the mirror's files show as we wrote them; what was edited by hand is for an import."""
    if not folder.is_dir():
        return Batch(markdown.OWN, ())
    batch = markdown.read_own(bundle_at(folder), manner)
    return Batch(batch.format, [item for item in batch.items if isinstance(item, Kept)])


def _put_in_place(path: Path, fresh: Path, result: Salvaged) -> Salvaged:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    kept = path.with_name(f"{path.stem}.damaged-{stamp}{path.suffix}")
    for ending in ("-wal", "-shm"):
        if (part := path.with_name(f"{path.name}{ending}")).exists():
            part.replace(kept.with_name(f"{kept.name}{ending}"))
    path.replace(kept)
    fresh.replace(path)
    return Salvaged(result.from_file, result.from_mirror, result.cut, result.lost, kept.name)


def _remove(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        path.with_name(f"{path.name}{ending}").unlink(missing_ok=True)
