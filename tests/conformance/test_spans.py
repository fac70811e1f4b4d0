"""Whoever is told of turns in spans takes every event, anywhere, and is no reason for anything to fail."""

from __future__ import annotations

import asyncio

import pytest
from opentelemetry.sdk.trace import TracerProvider

from agent_host.mcp_clients.protocol import ToolOutcome
from agent_host.tracing.events import Notice, ReplyDelta, ToolCalled, ToolStarted, TurnEnded, TurnEvent, TurnStarted
from agent_host.tracing.otel import OtelSpans
from agent_host.tracing.spans import NoSpans, Spans

OUTCOME = ToolOutcome("notes", "notes_read", "said", None, is_error=False, duration_ms=1)
EVENTS: tuple[TurnEvent, ...] = (
    TurnStarted("t_1", "s_1", "cli", "hello"),
    ToolStarted("notes_read"),
    ToolCalled("use_1", "notes_read", {}, OUTCOME),
    ReplyDelta("hi"),
    Notice("memory: not reachable"),
    TurnEnded("replied", "hi", 1),
)


@pytest.fixture(params=["nobody", "OpenTelemetry"])
def spans(request: pytest.FixtureRequest) -> Spans:
    if request.param == "nobody":
        return NoSpans()
    return OtelSpans(TracerProvider(shutdown_on_exit=False), lambda: None)


async def test_a_turn_and_what_it_began_can_be_told_of(spans: Spans) -> None:
    async def work() -> None:
        with spans.background("consolidate", "t_1"):
            for event in EVENTS[1:3]:
                spans.watch(event)

    spans.leave_out()
    with spans.turn():
        for event in EVENTS:
            spans.watch(event)
        running = asyncio.create_task(work())
    await running


async def test_events_in_any_order_and_outside_of_a_turn_do_no_harm(spans: Spans) -> None:
    async def tell() -> None:
        for event in reversed(EVENTS):
            spans.watch(event)

    await asyncio.create_task(tell())


def test_an_error_goes_through_as_it_is(spans: Spans) -> None:
    with pytest.raises(KeyError, match="mine"), spans.turn():
        raise KeyError("mine")
    with pytest.raises(KeyError, match="mine"), spans.background("consolidate", "t_1"):
        raise KeyError("mine")
