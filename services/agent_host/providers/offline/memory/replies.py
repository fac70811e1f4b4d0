"""What the memory server returned, in words: each memory with the date it was noted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from agent_host.providers.offline.results import as_mapping, date_of, rows_of, text_of
from agent_host.providers.offline.routine import Outcome, Scene
from agent_host.providers.offline.times.format import show_day
from agent_host.providers.offline.wording import bullets, clip, coverage
from agent_host.providers.protocol import JsonValue

_LONGEST_LINE = 300


@dataclass(frozen=True)
class Memory:
    """One memory as a tool returned it; `noted` is the local day it was stored, when that is known."""

    id: str
    text: str
    subject: str
    noted: date | None

    def fits(self, wanted: str) -> float:
        """Returns what part of the wanted words this memory holds, 0 to 1."""
        return coverage(wanted, f"{self.subject} {self.text}")


def read_memory(row: JsonValue, scene: Scene) -> Memory:
    """Reads one entry; the marks of a snippet are taken out."""
    text = text_of(row, "body", "snippet", "text", "content")
    plain = " ".join(text.replace("<<", "").replace(">>", "").split())
    identifier = as_mapping(row).get("id")
    noted = date_of(row, scene.zone, "happened_at", "created_at", "updated_at")
    return Memory(str(identifier or ""), plain, text_of(row, "subject"), noted)


def read_memories(outcome: Outcome, scene: Scene) -> tuple[Memory, ...]:
    """Reads the entries of a search or a list, in their order, each text once."""
    rows = rows_of(outcome, "entries", "memories", "results", "items")
    found = {memory.text.casefold(): memory for memory in (read_memory(row, scene) for row in reversed(rows))}
    return tuple(reversed([memory for memory in found.values() if memory.text]))


def line(memory: Memory, scene: Scene) -> str:
    """Returns one memory with its date."""
    dated = f" (noted {show_day(memory.noted, scene.today)})" if memory.noted else ""
    return f"{clip(memory.text, _LONGEST_LINE)}{dated}"


def lines(memories: Iterable[Memory], scene: Scene) -> str:
    """Returns memories as a list."""
    return bullets(line(memory, scene) for memory in memories)


def split_by_fit(memories: Sequence[Memory], wanted: str, least: float) -> tuple[list[Memory], list[Memory]]:
    """Parts memories into those that hold at least that part of the wanted words, and the others."""
    close = [memory for memory in memories if memory.fits(wanted) >= least]
    return close, [memory for memory in memories if memory not in close]
