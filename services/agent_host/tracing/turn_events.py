"""The events of one turn: kept for the receipt, written to the trace, shown to whoever watches."""

from __future__ import annotations

import logging
from collections.abc import Callable

from agent_host.tracing.events import Emit, ModelCalled, ReplyDelta, TurnEvent
from agent_host.tracing.jsonl import TraceFile
from agent_host.tracing.lines import trace_line

logger = logging.getLogger(__name__)


class TurnEvents:
    """Takes every event of a turn once, in order; a watcher that has gone costs the watching, never the turn."""

    def __init__(self, turn_id: str, trace: TraceFile, now_ms: Callable[[], int], *watchers: Emit) -> None:
        self.kept: list[TurnEvent] = []
        self.turn_id = turn_id
        self._trace = trace
        self._now_ms = now_ms
        self._watchers = list(watchers)

    def emit(self, event: TurnEvent) -> None:
        """Keeps, traces and shows one event."""
        self.kept.append(event)
        line = trace_line(event, self.turn_id, self._now_ms(), self.iterations)
        if line is not None:
            self._trace.write(line)
        for watch in tuple(self._watchers):
            try:
                watch(event)
            except OSError as error:  # whoever watched has gone; the turn goes on
                logger.warning("a turn can no longer be shown: %s", error.strerror)
                self._watchers.remove(watch)

    @property
    def iterations(self) -> int:
        """The model calls of the loop so far, the final one at the cap included."""
        return sum(isinstance(event, ModelCalled) and event.kind in {"loop", "final"} for event in self.kept)

    @property
    def streamed_text(self) -> str:
        """What the model has said so far, each answer of it a paragraph of its own."""
        answers = [""]
        for event in self.kept:
            if isinstance(event, ReplyDelta):
                answers[-1] += event.text
            elif isinstance(event, ModelCalled):
                answers.append("")
        return "\n\n".join(text for text in answers if text.strip())
