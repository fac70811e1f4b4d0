"""The usage ledger: a line for each request to a model, and for each tool call that said its price (agent.md row 85).

    {"ts": "2026-12-01T09:00:00.000Z", "provider": "anthropic", "model": "…", "kind": "loop", "turn_id": "t_…",
     "in": 1200, "out": 85}
    {"ts": "…", "provider": "search", "model": "search_web", "kind": "tool", "turn_id": "t_…", "in": null, "out": null,
     "charged_micro_usd": 4000}

Append-only, and without prices of models: what such a row cost is computed when it is read, so that a corrected table
corrects the past (row 90). A tool's price is in no table: its row keeps what the tool said it charged. `in` leaves
cached tokens out; `cache_read` and `cache_write` stand there when they are not 0. `in` and `out` are null where nobody
counted. A lost line costs a line of a report and never a turn, so there is no fsync.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

from agent_host.providers.pricing import cost_micro_usd
from agent_host.providers.protocol import Usage
from agent_host.tracing.events import ModelCalled

Meter: TypeAlias = Callable[[ModelCalled, str | None], None]
"""Takes each model call once, with the turn it belongs to, if any."""

TOOL_KIND: Final = "tool"
"""The `kind` of a row that is no model call's."""

logger = logging.getLogger(__name__)


def unmetered(_: ModelCalled, _turn_id: str | None) -> None:
    """Meters nothing, where no home keeps the ledger."""


@dataclass(frozen=True)
class UsageRow:
    """One request to a model, or a tool call (`provider` is its server, `model` its name) with what it said it charged.

    `usage` is None when nobody counted tokens.
    """

    at: datetime
    provider: str
    model: str
    kind: str
    turn_id: str | None
    usage: Usage | None
    charged_micro_usd: int | None = None

    @property
    def cost_micro_usd(self) -> int | None:
        """What it charged, else what it cost at today's list price; None when its price or its tokens are not known."""
        if self.charged_micro_usd is not None:
            return self.charged_micro_usd
        known = Usage() if self.provider == "offline" else self.usage
        return None if known is None else cost_micro_usd(self.provider, self.model, known)


class UsageFile:
    """The ledger of one home, in one file; it has one writer, the host that holds the home."""

    def __init__(self, path: Path, now: Callable[[], datetime]) -> None:
        self._path = path
        self._now = now
        self._read_bytes = 0
        self._day: datetime | None = None
        self._spent_micro_usd = 0

    def add(self, event: ModelCalled, turn_id: str | None) -> None:
        """Appends a row for each request of one model call; a disk that refuses it is logged, and costs no more."""
        counted = event.usage != Usage() or event.cost_micro_usd is not None
        who = event.identity
        for usage in event.usage.each if counted else (None,):
            self._keep(UsageRow(self._now(), who.provider, who.model, event.kind, turn_id, usage))

    def charge(self, server: str, tool: str, micro_usd: int, turn_id: str | None) -> None:
        """Appends the row of a tool call that said what it charged."""
        self._keep(UsageRow(self._now(), server, tool, TOOL_KIND, turn_id, None, micro_usd))

    def rows(self) -> Iterator[UsageRow]:
        """Yields every row that can be read, oldest first."""
        if self._path.exists():
            with self._path.open("rb") as file:
                yield from _rows(file)

    def spent_today_micro_usd(self) -> int:
        """Returns what the calls since the last local midnight cost, those without a price left out.

        Reads only what was appended since it was asked last.
        """
        midnight = self._now().replace(hour=0, minute=0, second=0, microsecond=0)
        if midnight != self._day:
            self._day, self._spent_micro_usd = midnight, 0
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._read_bytes)
                new = [row for row in _rows(file) if row.at >= midnight]
                self._read_bytes = file.tell()
            self._spent_micro_usd += sum(row.cost_micro_usd or 0 for row in new)
        return self._spent_micro_usd

    def _keep(self, row: UsageRow) -> None:
        try:
            self._append(_line(row))
        except OSError as error:
            logger.warning("a call is not in the usage ledger: %s", error.strerror)

    def _append(self, line: bytes) -> None:
        descriptor = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            os.write(descriptor, b"\n" * torn + line)
        finally:
            os.close(descriptor)


def _line(row: UsageRow) -> bytes:
    usage = row.usage
    members: dict[str, str | int | None] = {
        "ts": row.at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "provider": row.provider,
        "model": row.model,
        "kind": row.kind,
        "turn_id": row.turn_id,
        "in": usage.input_tokens if usage else None,
        "out": usage.output_tokens if usage else None,
    }
    if usage and usage.cache_read_tokens:
        members["cache_read"] = usage.cache_read_tokens
    if usage and usage.cache_write_tokens:
        members["cache_write"] = usage.cache_write_tokens
    if row.charged_micro_usd is not None:
        members["charged_micro_usd"] = row.charged_micro_usd
    return json.dumps(members, ensure_ascii=False).encode(errors="replace") + b"\n"


def _rows(lines: Iterable[bytes]) -> Iterator[UsageRow]:
    """Reads lines; one that is torn or was edited into nonsense is passed over."""
    for line in lines:
        try:
            yield _row(json.loads(line))
        except (ValueError, LookupError, TypeError, AttributeError):
            continue


def _row(members: Mapping[str, Any]) -> UsageRow:
    counts = [members["in"], members["out"], members.get("cache_read", 0), members.get("cache_write", 0)]
    usage = None if None in counts else Usage(*map(_count, counts))
    at = datetime.fromisoformat(members["ts"]).astimezone(UTC)
    provider, model, kind = (str(members[name]) for name in ("provider", "model", "kind"))
    charged = members.get("charged_micro_usd")
    return UsageRow(at, provider, model, kind, members["turn_id"], usage, None if charged is None else _count(charged))


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("no count")
    return value
