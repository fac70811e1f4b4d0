"""The versions of a memory: what becomes a new one, which is the newest, and which others there are."""

from __future__ import annotations

from dataclasses import replace

from memory_mcp.errors import NotCurrentError, UnknownMemoryError
from memory_mcp.indexing import index_text
from memory_mcp.model import Content, Kind, Memory, Remembered, Status
from memory_mcp.storage.protocol import NewMemory, Reader, Writer


def known(reader: Reader, memory_id: str) -> Memory:
    """Returns the memory with this id.

    Raises:
        UnknownMemoryError: There is none.
    """
    memory = reader.memory(memory_id)
    if memory is None:
        raise UnknownMemoryError(memory_id)
    return memory


def not_current(reader: Reader, memory: Memory) -> str:
    """Returns the sentence for a memory that cannot be changed any more; it names the newest version."""
    if memory.status is not Status.SUPERSEDED:
        return f"The memory {memory.id} was forgotten; remember its text again if it is still wanted."
    newest = [memory, *_newer(reader, memory)][-1]
    return f"The memory {memory.id} was superseded; the newest version is {newest.id}, send that id instead."


def other_versions(reader: Reader, memory: Memory) -> tuple[str, ...]:
    """Returns, in words, the other versions of a memory whose text is still there."""
    versions = {newer.id: newer for newer in _newer(reader, memory)}
    pending = [memory.id, *versions]
    while pending:
        for older in reader.superseded_by(pending.pop()):
            if older not in versions and older != memory.id:
                versions[older] = known(reader, older)
                pending.append(older)
    return tuple(f"the version {version.id}" for version in versions.values() if not version.erased)


def _newer(reader: Reader, memory: Memory) -> list[Memory]:
    """Returns the versions after this one, each once: a damaged or older store may have them in a circle."""
    found: dict[str, Memory] = {}
    following = memory.superseded_by
    while following and following != memory.id and following not in found and (newer := reader.memory(following)):
        found[newer.id] = newer
        following = newer.superseded_by
    return list(found.values())


def stored(writer: Writer, new: NewMemory, replaced: Memory | None) -> Remembered:
    """Stores a memory, unless its scope has one with this body, and retires the one it replaces.

    Raises:
        NotCurrentError: The replaced memory is not live.
    """
    same = writer.live_with_body(new.content.scope, new.body_hash)
    if same is not None and replaced is not None and same.id == replaced.id and same.content != new.content:
        same = None  # a new version with the same words
    superseded = () if replaced is None or (same and same.id == replaced.id) else (replaced.id,)
    if replaced is not None and superseded and not (same and replaced.superseded_by == same.id):
        if replaced.status is not Status.LIVE:
            raise NotCurrentError(not_current(writer, replaced))
        writer.supersede(replaced, index_text(replaced.content), same.id if same else new.id, new.created_at_ms)
    if same is None:
        return Remembered(writer.insert(new), deduped=False, superseded=superseded)
    writer.touch(same, new.created_at_ms)
    return Remembered(replace(same, last_seen_at_ms=new.created_at_ms), deduped=True, superseded=superseded)


def kept_otherwise(known_as: Content, sent: Content) -> tuple[str, ...]:
    """Returns, in words, what a memory that stands for one that was sent has otherwise; what was not sent is no matter.

    Two bodies count as the same although capitals, white space or compatible signs differ, and a key or a power can
    mean another thing then: so that is told too.
    """
    differs = {
        "wording": " ".join(sent.body.split()) != " ".join(known_as.body.split()),
        "kind": sent.kind not in (Kind.FACT, known_as.kind),
        "subject": sent.subject not in (None, known_as.subject),
        "tags": sent.tags not in ((), known_as.tags),
        "happened_at": sent.happened not in (None, known_as.happened),
        "source_url": sent.source_url not in (None, known_as.source_url),
    }
    return tuple(name for name, is_other in differs.items() if is_other)
