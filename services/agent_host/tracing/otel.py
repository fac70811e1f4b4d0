"""Spans of a turn's events, for OpenTelemetry.

A tool call's span is open, and in the context of the task that made the call, from `ToolStarted` to `ToolCalled`: both
are emitted by that task, around the call. So the MCP SDK finds it and hands it on to the server. A model call is told
of once it is over; its span is dated back by its latency, and lies under the turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Token
from dataclasses import dataclass
from typing import Final

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    TracerProvider,
    get_current_span,
    set_span_in_context,
)

from agent_host.tracing import otel_names as names
from agent_host.tracing.attributes import (
    Attribute,
    added_attributes,
    model_attributes,
    model_name,
    started_attributes,
    tool_attributes,
    tool_name,
    turn_attributes,
    turn_name,
)
from agent_host.tracing.events import ModelCalled, ToolCalled, ToolStarted, TurnEvent, TurnStarted

SCOPE: Final = "agent_host"
_NS_PER_MS: Final = 1_000_000
_NOT_RECORDED: Final = NonRecordingSpan(SpanContext(1, 1, is_remote=True, trace_flags=TraceFlags(TraceFlags.DEFAULT)))


@dataclass(frozen=True)
class _Open:
    """A span that is current in some task, how it came to be, and the tool whose call it is, if it is one's."""

    span: Span
    token: Token[Context]
    tool: str | None = None

    @property
    def trace_id(self) -> int:
        return self.span.get_span_context().trace_id


class OtelSpans:
    """The spans of this host's turns, made with a provider's tracer; `flush` is called after each turn."""

    is_recording: Final = True

    def __init__(
        self,
        provider: TracerProvider,
        flush: Callable[[], None],
        *,
        with_queries: bool = False,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._tracer = provider.get_tracer(SCOPE)
        self._flush = flush
        self._with_queries = with_queries
        self._now_ns = now_ns
        self._open: dict[int, _Open] = {}  # by the span's id

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Spans a turn; whatever it left open ends with it."""
        outer = get_current_span()
        try:
            yield
        finally:
            self._end_all(outer)
            self._flush()

    @contextmanager
    def background(self, name: str, turn_id: str) -> Iterator[None]:
        """Spans work in the background: a trace of its own, linked to the turn that is current."""
        outer = get_current_span()
        turn = outer.get_span_context()
        links = [Link(turn)] if turn.trace_flags.sampled else []
        self._begin(name, {names.TURN_ID: turn_id}, parent=Context(), links=links)
        try:
            yield
        finally:
            self._end_all(outer)
            self._flush()

    def watch(self, event: TurnEvent) -> None:
        """Begins, ends or adds to a span."""
        match event:
            case TurnStarted():
                self._begin(turn_name(), turn_attributes(event))
            case ToolStarted():
                self._begin(tool_name(event.name), started_attributes(event.name), tool=event.name)
            case ToolCalled():
                self._tool_called(event)
            case ModelCalled():
                self._model_called(event)
            case _:
                _tell(get_current_span(), added_attributes(event))

    def leave_out(self) -> None:
        """Makes a span current that is not recorded, and whose children are not either."""
        otel_context.attach(set_span_in_context(_NOT_RECORDED))

    def _begin(
        self,
        name: str,
        attributes: Mapping[str, Attribute],
        *,
        parent: Context | None = None,
        links: Sequence[Link] = (),
        tool: str | None = None,
    ) -> None:
        span = self._tracer.start_span(name, parent, SpanKind.INTERNAL, attributes, links, self._now_ns())
        token = otel_context.attach(set_span_in_context(span, parent))
        self._open[_id(span)] = _Open(span, token, tool)

    def _tool_called(self, event: ToolCalled) -> None:
        current = get_current_span()
        one = self._open.get(_id(current))
        if one is None or one.tool != event.name:  # nobody said that it began
            began_ns = self._now_ns() - event.outcome.duration_ms * _NS_PER_MS
            current = self._tracer.start_span(tool_name(event.name), start_time=began_ns)
        else:
            del self._open[_id(current)]
            otel_context.detach(one.token)
        _tell(current, tool_attributes(event, with_queries=self._with_queries))
        current.end(self._now_ns())

    def _model_called(self, event: ModelCalled) -> None:
        ended_ns = self._now_ns()
        began_ns = ended_ns - event.latency_ms * _NS_PER_MS
        told = model_attributes(event)
        span = self._tracer.start_span(model_name(event), None, SpanKind.CLIENT, told, start_time=began_ns)
        _tell(span, told)
        span.end(ended_ns)

    def _end_all(self, outer: Span) -> None:
        """Ends what the present task opened since `outer` was current, and what other tasks left open under it."""
        traces = set()
        while (current := get_current_span()) is not outer and (one := self._open.pop(_id(current), None)):
            traces.add(one.trace_id)
            otel_context.detach(one.token)
            one.span.end(self._now_ns())
        for left in [key for key, one in self._open.items() if one.trace_id in traces]:
            self._open.pop(left).span.end(self._now_ns())


def _id(span: Span) -> int:
    return span.get_span_context().span_id


def _tell(span: Span, attributes: Mapping[str, Attribute]) -> None:
    span.set_attributes(attributes)
    if names.ERROR_TYPE in attributes:
        span.set_status(StatusCode.ERROR)
