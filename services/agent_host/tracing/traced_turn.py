"""A turn as its trace has it: what was asked, which calls were made, what was answered. Pure.

What a line does not say, or says in a form nobody expects, stays empty or None: a trace may be of any age, and may have
been edited.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final

from agent_host.tracing.reading import Row, by_turn

_MICRO: Final = 1_000_000
_MOST_USD: Final = 1_000_000


@dataclass(frozen=True)
class TracedTool:
    """One tool call. `ok` is None in old traces; `cut` says that `output` is only the beginning."""

    tool: str
    source: str
    span: str
    ok: bool | None
    error: str
    args: str
    output: str
    cut: bool
    provider: str
    endpoint_id: str
    cost_micro_usd: int | None
    duration_ms: int | None
    results: int | None
    by_host: bool  # read first, or a search by word of the retrieval gate


@dataclass(frozen=True)
class TracedCall:
    """One model call."""

    kind: str
    provider: str
    model: str
    cost_micro_usd: int | None
    duration_ms: int | None


@dataclass(frozen=True)
class TracedTurn:
    """One turn: `rows` from its start to its end, `later` what came after (receipt, consolidation, scores)."""

    turn_id: str
    rows: tuple[Row, ...]
    later: tuple[Row, ...]

    @property
    def is_old(self) -> bool:
        """Whether it was traced before version 2."""
        return not self.rows or self.rows[0].version < 2  # noqa: PLR2004 - the version

    @property
    def started(self) -> datetime | None:
        """When it started."""
        return next((row.at for row in self.rows if row.at), None)

    @property
    def message(self) -> str:
        """What the person said."""
        return _text(self._of("turn_start"), "user_message")

    @property
    def gateway(self) -> str:
        """Where it was said."""
        return _text(self._of("turn_start"), "gateway")

    @property
    def has_ended(self) -> bool:
        """Whether the trace holds its end."""
        return bool(self._of("turn_end"))

    @property
    def reply(self) -> str:
        """What was answered."""
        return _text(self._of("turn_end"), "reply")

    @property
    def outcome(self) -> str:
        """How it ended; empty in old traces and for a turn that did not."""
        return _text(self._of("turn_end"), "outcome")

    @cached_property
    def tools(self) -> tuple[TracedTool, ...]:
        """The tool calls, in their order."""
        return tuple(_tool(row.members) for row in self.rows if row.kind == "tool")

    @cached_property
    def calls(self) -> tuple[TracedCall, ...]:
        """The model calls of the turn itself, in their order."""
        return tuple(_call(row.members) for row in self.rows if row.kind == "llm")

    @property
    def skills(self) -> frozenset[str]:
        """The skills that joined its prompt."""
        names = [name for row in self.rows if row.kind == "skills" for name in _list(row.members, "names")]
        return frozenset(str(name) for name in names)

    @property
    def reports(self) -> int:
        """How many reports the host says it saved."""
        return sum(row.kind == "report" for row in self.rows)

    @property
    def known(self) -> tuple[Any, ...]:
        """What memory held about the subject, as the prompt had it."""
        return tuple(entry for row in self.rows if row.kind == "used" for entry in _list(row.members, "entries"))

    @property
    def entry_id(self) -> int | None:
        """The receipt's number in the ledger, None while it waits, or in old traces."""
        entry = next((row.members.get("entry") for row in self.later if row.kind == "receipt"), None)
        return _count(entry, "id") if isinstance(entry, Mapping) else None

    @property
    def scores(self) -> tuple[Mapping[str, Any], ...]:
        """The scores it was given afterwards."""
        return tuple(row.members for row in self.later if row.kind == "score")

    @cached_property
    def sha256(self) -> str:
        """Lower-case hex SHA-256 of the lines, from start to end, as they stand."""
        return hashlib.sha256(b"".join(row.raw for row in self.rows)).hexdigest()

    @property
    def is_as_receipted(self) -> bool | None:
        """Whether the lines are those whose hash the trace's own receipt line names; None without such a line.

        That line is not signed: who may change the others may change it. What is signed is on the ledger.
        """
        made = next((row.members.get("turn_receipt") for row in self.later if row.kind == "receipt"), None)
        if not isinstance(made, Mapping):
            return None
        return self.sha256 == made.get("trace_hash")

    def _of(self, kind: str) -> Mapping[str, Any]:
        return next((row.members for row in self.rows if row.kind == kind), {})


def traced_turns(rows: Iterable[Row]) -> list[TracedTurn]:
    """Returns the turns that begin, or at least end, in these rows, in the order they began."""
    return [
        _turn(turn_id, found)
        for turn_id, found in by_turn(rows).items()
        if any(row.kind in {"turn_start", "turn_end"} for row in found)
    ]


def _turn(turn_id: str, rows: Sequence[Row]) -> TracedTurn:
    ends = next((at for at, row in enumerate(rows, start=1) if row.kind == "turn_end"), len(rows))
    return TracedTurn(turn_id, tuple(rows[:ends]), tuple(rows[ends:]))


def _tool(members: Mapping[str, Any]) -> TracedTool:
    ok, args = members.get("ok"), members.get("args")
    return TracedTool(
        tool=_text(members, "tool"),
        source=_text(members, "source"),
        span=_text(members, "span"),
        ok=ok if isinstance(ok, bool) else None,
        error=_text(members, "error"),
        args=args if isinstance(args, str) else str(args or ""),
        output=_text(members, "output"),
        cut=_count(members, "output_chars") is not None,
        provider=_text(members, "provider"),
        endpoint_id=_text(members, "endpoint_id"),
        cost_micro_usd=_cost(members),
        duration_ms=_count(members, "duration_ms"),
        results=_count(members, "results"),
        by_host=members.get("read_first") is True or members.get("gated") is True,
    )


def _call(members: Mapping[str, Any]) -> TracedCall:
    return TracedCall(
        kind=_text(members, "kind") or "loop",
        provider=_text(members, "provider"),
        model=_text(members, "model"),
        cost_micro_usd=_cost(members),
        duration_ms=_count(members, "duration_ms"),
    )


def _cost(members: Mapping[str, Any]) -> int | None:
    """Returns a cost in micro-dollars; version 1 has dollars, under `cost_usd`."""
    if (micro := _count(members, "cost_micro_usd")) is not None:
        return micro
    dollars = members.get("cost_usd")
    if isinstance(dollars, bool) or not isinstance(dollars, int | float) or not 0 <= dollars < _MOST_USD:
        return None
    return round(dollars * _MICRO)


def _text(members: Mapping[str, Any], name: str) -> str:
    value = members.get(name)
    return value if isinstance(value, str) else ""


def _count(members: Mapping[str, Any], name: str) -> int | None:
    value = members.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _list(members: Mapping[str, Any], name: str) -> Sequence[Any]:
    value = members.get(name)
    return value if isinstance(value, list) else ()
