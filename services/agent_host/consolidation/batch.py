"""The exchanges that are consolidated together. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import Any, Final

from agent_host.chat_log import UNANSWERED, words_of
from agent_host.consolidation.reading import bounded
from agent_host.providers.protocol import JsonValue
from agent_host.report_digest import report_in
from agent_host.tool_note import without_notes

SIDE_CHARACTERS: Final = 4_000
"""How much of a message or a reply the summariser reads."""
BATCH_CHARACTERS: Final = 60_000


@dataclass(frozen=True)
class LogRow:
    """One row of the chat log."""

    row_id: int
    session_id: str
    turn_id: str
    role: str
    content: str
    meta: str
    created_at_ms: int


@dataclass(frozen=True)
class Exchange:
    """A message and its reply. `report` is the report that the turn wrote, empty for any other turn."""

    row_ids: tuple[int, ...]
    session_id: str
    person: str
    assistant: str
    read: tuple[str, ...]
    report: str
    outside: bool
    at_ms: int


@dataclass(frozen=True)
class Batch:
    """The exchanges of one call: turns with a report apart from all others, as other rules hold for them."""

    exchanges: tuple[Exchange, ...]

    @property
    def row_ids(self) -> tuple[int, ...]:
        """The rows that were read, and may be marked."""
        return tuple(row_id for exchange in self.exchanges for row_id in exchange.row_ids)

    @property
    def reports(self) -> tuple[str, ...]:
        """The reports; none in a batch of other turns."""
        return tuple(exchange.report for exchange in self.exchanges if exchange.report)

    @property
    def read(self) -> tuple[str, ...]:
        """What these turns read from memory, bounded."""
        return bounded(text for exchange in self.exchanges for text in exchange.read)

    @property
    def outside(self) -> bool:
        """Whether words from outside, such as a web page's, came in."""
        return any(exchange.outside for exchange in self.exchanges)

    def values(self, today: str) -> dict[str, JsonValue]:
        """Returns the input of the spec `consolidation`."""
        told: list[JsonValue] = [{"person": one.person, "assistant": one.assistant} for one in self.exchanges]
        return {"exchanges": told, "read": "\n".join(bounded(self.read))[:6_000], "today": today}


def batch_of(rows: Iterable[LogRow]) -> Batch | None:
    """Returns the first batch of open rows, oldest first; None without any."""
    exchanges = [_exchange(list(group)) for _, group in groupby(rows, key=lambda row: row.turn_id)]
    if not exchanges:
        return None
    is_report = bool(exchanges[0].report)
    alike = takewhile(lambda exchange: bool(exchange.report) == is_report, exchanges)
    chosen: list[Exchange] = []
    left = BATCH_CHARACTERS
    for exchange in alike:
        left -= len(exchange.person) + len(exchange.assistant)
        if left < 0:  # never at the first, which is cut to a part of that
            break
        chosen.append(exchange)
    return Batch(tuple(chosen))


def _exchange(rows: Sequence[LogRow]) -> Exchange:
    person = "\n".join(row.content for row in rows if row.role == "user")
    replies = [row for row in rows if row.role == "assistant"]
    reply = without_notes("\n".join(words_of(row.content, row.meta) for row in replies)).replace(UNANSWERED, "")
    meta = _meta(replies[-1].meta) if replies else {}
    report, written = str(meta.get("report", "")), report_in(reply)
    if written is not None:  # the report's findings are in the report
        reply, report = reply[: len(reply) - len(written)], report or written
    read = meta.get("read")
    return Exchange(
        row_ids=tuple(row.row_id for row in rows),
        session_id=rows[0].session_id,
        person=person[:SIDE_CHARACTERS],
        assistant=reply.strip()[:SIDE_CHARACTERS],
        read=tuple(str(text) for text in read) if isinstance(read, list) else (),
        report=report,
        outside=meta.get("outside") is True,
        at_ms=rows[-1].created_at_ms,
    )


def _meta(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
