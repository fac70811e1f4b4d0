from datetime import datetime, timedelta
from pathlib import Path

import pytest

from agent_host.constrained import run_constrained_ai
from agent_host.providers.offline import FIRST_SCREEN, OfflineProvider
from agent_host.providers.protocol import (
    Message,
    ModelReply,
    ModelRequest,
    Text,
    TextDelta,
    ToolResult,
    ToolSpec,
    ToolUse,
    Usage,
)
from evals.deterministic.scripted_tools import TOOLS
from tests.agent_host.constrained.parts import DEFAULT, MESSAGE, Desk, spec
from tests.agent_host.providers.offline.scenes import NOW, ZONE, said

SPECS = tuple(ToolSpec(name, "", {"type": "object"}) for name in TOOLS)


def request(*messages: Message, tools: tuple[ToolSpec, ...] = SPECS, choice: str = "auto") -> ModelRequest:
    return ModelRequest("", messages, tools, "none" if choice == "none" else "auto", 1024)


async def stream(asked: ModelRequest, now: datetime = NOW) -> tuple[list[str], ModelReply]:
    provider = OfflineProvider(lambda: now, ZONE)
    items = [item async for item in provider.stream(asked)]
    await provider.close()
    reply = items.pop()
    assert isinstance(reply, ModelReply)
    return [item.text for item in items if isinstance(item, TextDelta)], reply


def test_the_provider_says_who_it_is() -> None:
    identity = OfflineProvider(lambda: NOW, ZONE).identity
    assert (identity.provider, identity.model, identity.version) == ("offline", "offline-rules", "1")


async def test_a_reply_streams_in_pieces_that_join_to_its_text() -> None:
    deltas, reply = await stream(request(*said("help")))
    assert len(deltas) > 10
    assert "".join(deltas) == reply.text
    assert (reply.stop_reason, reply.usage, reply.model) == ("end_turn", Usage(), "offline-rules")
    assert reply.tool_uses == ()


async def test_a_question_under_a_spec_is_refused_with_what_to_set_and_asked_once(tmp_path: Path) -> None:
    offline = OfflineProvider(lambda: NOW, ZONE)
    desk = Desk(tmp_path)
    asked = spec(model_identity=offline.identity)  # one that may repair an output and retry
    decision = await run_constrained_ai(asked, MESSAGE, desk.options(offline))
    desk.close()
    assert desk.clock.waits == []
    assert (decision.exit_state, decision.output) == ("fallback_provider", DEFAULT)
    assert decision.reason == (
        "The offline rules are no language model and answer nothing under a spec; set PROMETHEUS_PROVIDER and a key "
        "for a model."
    )


async def test_tool_calls_come_without_words_and_with_a_stop_reason_of_their_own() -> None:
    deltas, reply = await stream(request(*said("Remember that Ana likes tea and book a call with her on Friday at 10")))
    assert deltas == []
    assert reply.stop_reason == "tool_use"
    assert [use.name for use in reply.tool_uses] == ["memory_remember", "calendar_create_event"]


async def test_the_results_of_a_turn_lead_to_its_reply() -> None:
    asked = said("Remember that Ana likes tea")
    _, first = await stream(request(*asked))
    (use,) = first.tool_uses
    result = ToolResult(use.id, '{"memory": {"id": "m"}, "deduped": false}', is_error=False)
    rows = (*asked, Message("assistant", first.blocks), Message("user", (result,)))
    _, second = await stream(request(*rows))
    assert second.text == "I'll remember: Ana likes tea."


async def test_no_two_calls_of_a_conversation_share_an_id_even_when_the_clock_stands_still() -> None:
    rows: list[Message] = []
    seen: list[str] = []
    for _ in range(8):
        rows.append(Message("user", (Text("Remember that A is B and that C is D"),)))
        _, reply = await stream(request(*rows))
        seen += [use.id for use in reply.tool_uses]
        results = tuple(ToolResult(use.id, "{}", is_error=False) for use in reply.tool_uses)
        rows += [Message("assistant", reply.blocks), Message("user", results), Message("assistant", (Text("done"),))]
        del rows[:-8]  # the window moves on
    assert len(set(seen)) == len(seen) == 16


async def test_an_id_that_is_taken_already_is_passed_over() -> None:
    asked = said("Remember that Ana likes tea")
    _, first = await stream(request(*asked))
    taken = first.tool_uses[0].id
    rows = (Message("assistant", (ToolUse(taken, "x", {}),)), *asked)
    _, again = await stream(request(*rows[1:]))
    assert again.tool_uses[0].id == taken, "the same conversation at the same time gets the same ids"
    _, second = await stream(request(*rows))
    assert second.tool_uses[0].id != taken


async def test_the_same_request_at_the_same_time_gives_the_same_reply() -> None:
    asked = request(*said("What's on my calendar this week?"))
    assert await stream(asked) == await stream(asked)


async def test_a_call_that_may_not_be_made_is_said_and_not_made() -> None:
    deltas, reply = await stream(request(*said("Remember that Ana likes tea"), choice="none"))
    assert reply.tool_uses == ()
    assert reply.stop_reason == "end_turn"
    assert "no more tools" in "".join(deltas)


async def test_what_needs_no_tool_is_answered_when_none_may_be_called() -> None:
    _, reply = await stream(request(*said("What is 6 times 7?"), choice="none"))
    assert reply.text.endswith("= 42")


@pytest.mark.parametrize(
    ("message", "server"),
    [
        ("Remember that Ana likes tea", "memory"),
        ("Book lunch with Ana tomorrow at noon", "calendar"),
        ("Take a note: milk", "notes"),
        ("Search the web for cats", "search"),
    ],
)
async def test_a_server_that_is_not_connected_is_named(message: str, server: str) -> None:
    _, reply = await stream(request(*said(message), tools=()))
    assert f"no {server} tool is connected" in reply.text


async def test_a_request_without_messages_is_answered() -> None:
    _, reply = await stream(request())
    assert "no words" in reply.text


async def test_time_moves_between_two_model_calls_of_a_turn() -> None:
    asked = said("Book a call with Ana in 2 hours")
    _, first = await stream(request(*asked))
    event = {
        "id": "e",
        "title": "Call with Ana",
        "start": "2026-12-01T12:00:00+01:00",
        "end": "2026-12-01T13:00:00+01:00",
    }
    result = ToolResult(first.tool_uses[0].id, f'{{"event": {event}}}'.replace("'", '"'), is_error=False)
    rows = (*asked, Message("assistant", first.blocks), Message("user", (result,)))
    _, second = await stream(request(*rows), NOW + timedelta(minutes=3))
    assert "12:00" in second.text


def test_warming_up_loads_the_date_library_and_changes_no_answer() -> None:
    provider = OfflineProvider(lambda: NOW, ZONE)
    provider.warm_up()
    provider.warm_up()


async def test_closing_twice_is_safe() -> None:
    provider = OfflineProvider(lambda: NOW, ZONE)
    await provider.close()
    await provider.close()


def test_the_first_screen_is_short_and_says_that_there_is_no_model_and_how_to_plug_one_in() -> None:
    lines = FIRST_SCREEN.splitlines()
    assert 2 <= len(lines) <= 4
    assert max(len(line) for line in lines) <= 110
    for words in (
        "no language model",
        "PROMETHEUS_PROVIDER=anthropic",
        "PROMETHEUS_API_KEY",
        "ANTHROPIC_API_KEY",
        ".env",
    ):
        assert words in FIRST_SCREEN
