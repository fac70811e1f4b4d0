"""What the tests of the gates are made of: the events of a turn on a real trace file, and some hits."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from agent_host.gates.hits import Hit
from agent_host.tracing.jsonl import TraceFile
from agent_host.tracing.turn_events import TurnEvents

TURN_ID = "t_01JZ0000000000000000000000"


def turn_events(folder: Path) -> TurnEvents:
    """Returns the events of a turn that nobody watches."""
    return TurnEvents(TURN_ID, TraceFile(folder, datetime(2026, 11, 30, tzinfo=UTC)), lambda: 1_000)


def hit(number: int, score: float | None = 1.0) -> Hit:
    """Returns a memory."""
    return Hit(f"mem_{number}", "fact", f"Fact {number}.", "2026-11-01", "prometheus", untrusted=False, score=score)
