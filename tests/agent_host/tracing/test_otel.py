"""Spans of events: what is whose child, and what is current while a call is made."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import INVALID_SPAN, SpanKind, StatusCode, get_current_span

from agent_host.mcp_clients.protocol import ToolOutcome
from agent_host.providers.protocol import Identity, Usage
from agent_host.tracing.events import Consolidated, ModelCalled, ToolCalled, ToolStarted, TurnEnded, TurnStarted
from agent_host.tracing.otel import OtelSpans

STARTED = TurnStarted("t_1", "s_1", "cli", "hello")
ENDED = TurnEnded("replied", "hi", 1)
MS = 1_000_000


class Recorded:
    """Spans as they were ended, on a clock that goes a millisecond a look."""

    def __init__(self) -> None:
        self.flushes = 0
        self._kept = InMemorySpanExporter()
        self._ms = 1_000
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._kept))
        self.tracer = provider.get_tracer("mcp")
        self.spans = OtelSpans(provider, self._flush, now_ns=self._now_ns)

    def _flush(self) -> None:
        self.flushes += 1

    def _now_ns(self) -> int:
        self._ms += 1
        return self._ms * MS

    def ended(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self._kept.get_finished_spans()}

    def parents(self) -> dict[str, str]:
        """Return the name of each span's parent, empty for a root."""
        spans = self._kept.get_finished_spans()
        names = {span.context.span_id: span.name for span in spans if span.context}
        return {span.name: names[span.parent.span_id] if span.parent else "" for span in spans}

    async def tool(self, name: str, arrived: asyncio.Barrier | None = None) -> None:
        """Call a tool as the loop does, with a client inside that makes a span of its own."""
        self.spans.watch(ToolStarted(name))
        if arrived:
            await arrived.wait()
        with self.tracer.start_as_current_span(f"send {name}"):
            pass
        self.spans.watch(called(name))


def called(name: str, *, failed: bool = False) -> ToolCalled:
    return ToolCalled("use_1", name, {}, ToolOutcome("notes", name, "said", None, is_error=failed, duration_ms=40))


def asked(latency_ms: int = 900) -> ModelCalled:
    who = Identity("anthropic", "claude", "1")
    return ModelCalled("loop", who, "end_turn", Usage(1, 2), 3, latency_ms, "ok", "c_1", 7)


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    yield Recorded()
    assert get_current_span() is INVALID_SPAN  # nothing was left behind


async def test_what_a_turn_does_lies_under_its_span(recorded: Recorded) -> None:
    with recorded.spans.turn():
        recorded.spans.watch(STARTED)
        recorded.spans.watch(asked())
        await recorded.tool("notes_read")
        recorded.spans.watch(ENDED)

    assert recorded.parents() == {
        "invoke_agent prometheus-agent": "",
        "chat claude": "invoke_agent prometheus-agent",
        "execute_tool notes_read": "invoke_agent prometheus-agent",
        "send notes_read": "execute_tool notes_read",
    }
    turn = recorded.ended()["invoke_agent prometheus-agent"]
    assert (turn.attributes or {})["prometheus.outcome"] == "replied"
    assert turn.status.status_code is StatusCode.UNSET
    assert recorded.flushes == 1


async def test_tools_that_run_at_the_same_time_keep_their_own_children(recorded: Recorded) -> None:
    arrived = asyncio.Barrier(2)
    with recorded.spans.turn():
        recorded.spans.watch(STARTED)
        async with asyncio.TaskGroup() as group:
            for name in ("notes_read", "notes_list"):
                group.create_task(recorded.tool(name, arrived))

    parents = recorded.parents()
    assert parents["send notes_read"] == "execute_tool notes_read"
    assert parents["send notes_list"] == "execute_tool notes_list"
    assert parents["execute_tool notes_list"] == "invoke_agent prometheus-agent"


async def test_a_model_call_is_dated_back_by_its_latency(recorded: Recorded) -> None:
    with recorded.spans.turn():
        recorded.spans.watch(STARTED)
        recorded.spans.watch(asked(latency_ms=900))

    chat = recorded.ended()["chat claude"]
    assert chat.kind is SpanKind.CLIENT
    assert (chat.end_time or 0) - (chat.start_time or 0) == 900 * MS


def test_a_tool_call_that_nobody_announced_is_dated_back_too(recorded: Recorded) -> None:
    with recorded.spans.turn():
        recorded.spans.watch(STARTED)
        recorded.spans.watch(called("notes_read"))
        recorded.spans.watch(ENDED)

    tool = recorded.ended()["execute_tool notes_read"]
    assert recorded.parents()["execute_tool notes_read"] == "invoke_agent prometheus-agent"
    assert (tool.end_time or 0) - (tool.start_time or 0) == 41 * MS  # and one for the second look at the clock
    assert (recorded.ended()["invoke_agent prometheus-agent"].attributes or {})["prometheus.outcome"] == "replied"


def test_a_failure_is_an_error_without_words(recorded: Recorded) -> None:
    with recorded.spans.turn():
        recorded.spans.watch(STARTED)
        recorded.spans.watch(ToolStarted("notes_read"))
        recorded.spans.watch(called("notes_read", failed=True))
        recorded.spans.watch(TurnEnded("failed", "it went wrong", 0))

    for span in recorded.ended().values():
        assert span.status.status_code is StatusCode.ERROR
        assert span.status.description is None
    assert (recorded.ended()["execute_tool notes_read"].attributes or {})["error.type"] == "tool_error"


async def test_a_turn_that_is_torn_off_ends_every_span(recorded: Recorded) -> None:
    async def torn() -> None:
        recorded.spans.watch(ToolStarted("notes_list"))
        raise RuntimeError

    async def turn() -> None:
        with recorded.spans.turn():
            recorded.spans.watch(STARTED)
            recorded.spans.watch(ToolStarted("notes_read"))
            await asyncio.create_task(torn())

    with pytest.raises(RuntimeError):
        await turn()

    assert recorded.ended().keys() == {
        "invoke_agent prometheus-agent",
        "execute_tool notes_read",
        "execute_tool notes_list",
    }


async def test_the_end_of_one_turn_ends_nothing_of_another(recorded: Recorded) -> None:
    other_is_over = asyncio.Event()

    async def long_turn() -> None:
        with recorded.spans.turn():
            recorded.spans.watch(STARTED)
            recorded.spans.watch(ToolStarted("notes_read"))
            await other_is_over.wait()
            assert "execute_tool notes_read" not in recorded.ended()
            recorded.spans.watch(called("notes_read"))

    running = asyncio.create_task(long_turn())
    await asyncio.sleep(0)
    with recorded.spans.turn():
        recorded.spans.watch(STARTED)
    other_is_over.set()
    await running

    assert (recorded.ended()["execute_tool notes_read"].attributes or {})["gen_ai.tool.name"] == "notes_read"


async def test_work_in_the_background_of_no_turn_is_linked_to_none(recorded: Recorded) -> None:
    async def start() -> None:
        recorded.spans.leave_out()
        with recorded.spans.background("consolidate", "t_1"):
            pass

    await asyncio.create_task(start())

    assert recorded.ended()["consolidate"].links == ()


async def test_work_in_the_background_is_a_trace_of_its_own_linked_to_the_turn(recorded: Recorded) -> None:
    may_go_on = asyncio.Event()

    async def consolidate() -> None:
        await may_go_on.wait()
        with recorded.spans.background("consolidate", "t_1"):
            await recorded.tool("memory_remember")
            recorded.spans.watch(Consolidated("b_1", 6, ()))

    with recorded.spans.turn():
        recorded.spans.watch(STARTED)
        running = asyncio.create_task(consolidate())
    may_go_on.set()
    await running

    work, turn = recorded.ended()["consolidate"], recorded.ended()["invoke_agent prometheus-agent"]
    assert recorded.parents()["consolidate"] == ""
    assert recorded.parents()["create_memory memory_remember"] == "consolidate"
    assert work.context.trace_id != turn.context.trace_id
    assert [link.context for link in work.links] == [turn.context]
    assert work.attributes == {
        "prometheus.turn_id": "t_1",
        "prometheus.consolidation.batch_id": "b_1",
        "prometheus.consolidation.exchanges": 6,
        "prometheus.consolidation.kept": 0,
    }


async def test_what_starts_outside_of_turns_can_be_left_out(recorded: Recorded) -> None:
    async def start() -> None:
        recorded.spans.leave_out()
        with recorded.tracer.start_as_current_span("initialize"):
            pass

    await asyncio.create_task(start())

    assert recorded.ended() == {}
