"""The seam to whoever is told of turns in spans; that is nobody, unless a collector is set (agent.md row 89)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from typing import Final, Protocol

from agent_host.tracing.events import TurnEvent
from service_telemetry.export import start

CLOSING_S: Final = 0.5
"""How long the end of a host may wait for its last spans; they have been under way since the turn ended."""
CAPTURE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CAPTURED: Final = frozenset({"true", "span_only", "span_and_event"})


class Spans(Protocol):
    """Makes spans of events. What is called while a span is open finds it in its context, and so do its servers."""

    @property
    def is_recording(self) -> bool:
        """Whether anybody is told, so that calls to other processes should carry the trace."""
        ...

    def turn(self) -> AbstractContextManager[None]:
        """Returns what spans a turn: its span begins with `TurnStarted` and ends with the block."""
        ...

    def background(self, name: str, turn_id: str) -> AbstractContextManager[None]:
        """Returns the span of work that a turn began and does not wait for: a trace of its own, linked to the turn."""
        ...

    def watch(self, event: TurnEvent) -> None:
        """Takes one event, in the task that it happened in; never raises."""
        ...

    def leave_out(self) -> None:
        """Makes no spans of what the present task, and those it starts, do outside of turns."""
        ...


class NoSpans:
    """Tells nobody."""

    is_recording: Final = False

    def turn(self) -> AbstractContextManager[None]:
        """Spans nothing."""
        return nullcontext()

    def background(self, name: str, turn_id: str) -> AbstractContextManager[None]:  # noqa: ARG002 -- the seam's
        """Spans nothing."""
        return nullcontext()

    def watch(self, event: TurnEvent) -> None:
        """Takes an event, and tells nobody."""

    def leave_out(self) -> None:
        """Has nothing to leave out."""


def open_spans(told: Mapping[str, str], resources: AsyncExitStack) -> Spans:
    """Returns how turns are told of, by the settings; `resources` sends what is left. Imports the SDK when asked to."""
    export = start(told, "agent-host")
    if export is None:
        return NoSpans()
    from agent_host.tracing.otel import OtelSpans

    resources.callback(export.close, CLOSING_S)
    with_queries = told.get(CAPTURE, "").strip().lower() in _CAPTURED
    flush: Callable[[], None] = export.flush_soon
    return OtelSpans(export.provider, flush, with_queries=with_queries)
