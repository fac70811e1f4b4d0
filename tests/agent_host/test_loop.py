"""The loop over a scripted model and an in-memory tool box."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from agent_host.calling import CANCELLED_CALL
from agent_host.errors import ProviderError, ProviderRefusedError
from agent_host.loop import BREAKS, EMPTY_MESSAGE, LIMIT_MESSAGE, LIMIT_NOTE, SILENCES, Reply, run_loop
from agent_host.mcp_clients.protocol import Permission, ToolOutcome
from agent_host.providers.protocol import (
    JsonValue,
    Message,
    ModelReply,
    ModelRequest,
    StopReason,
    Text,
    ToolResult,
    ToolSpec,
    ToolUse,
    Usage,
)
from agent_host.tracing.events import CallKind, Notice, PermissionDecided, ReplyDelta, ToolCalled, TurnEvent

REQUEST = ModelRequest("be brief", (Message("user", (Text("hello"),)),), (), "auto", 100)


def said(text: str, stop: StopReason = "end_turn") -> ModelReply:
    return ModelReply((Text(text),), stop, Usage(), "scripted")


def asks(*names: str) -> ModelReply:
    uses = tuple(ToolUse(f"use-{index}-{name}", name, {"q": index}) for index, name in enumerate(names))
    return ModelReply(uses, "tool_use", Usage(), "scripted")


class Scripted:
    """A `Model` that answers from a list and keeps what it was asked."""

    def __init__(self, *replies: ModelReply | ProviderError) -> None:
        self._replies = list(replies)
        self.requests: list[ModelRequest] = []
        self.kinds: list[str] = []

    async def reply(self, request: ModelRequest, kind: CallKind, on_text: Callable[[str], None]) -> ModelReply:
        self.requests.append(request)
        self.kinds.append(kind)
        answer = self._replies.pop(0)
        if isinstance(answer, ProviderError):
            raise answer
        on_text(answer.text)
        return answer


class Tools:
    """A `ToolBox` whose every tool echoes its name; `failing` ones answer with an error."""

    def __init__(self, failing: Sequence[str] = (), says: str = "") -> None:
        self._failing = failing
        self._says = says
        self.metas: list[Mapping[str, str]] = []

    async def specs(self) -> tuple[ToolSpec, ...]:
        return ()

    async def call(self, name: str, arguments: Mapping[str, JsonValue], meta: Mapping[str, str]) -> ToolOutcome:
        self.metas.append(meta)
        return ToolOutcome("echo", name, f"{name} says {arguments['q']}{self._says}", None, name in self._failing, 1)

    def problems(self) -> tuple[str, ...]:
        return ()

    async def close(self) -> None:
        return


async def loop(model: Scripted, tools: Tools | None = None, cap: int = 5) -> tuple[Reply, list[TurnEvent]]:
    events: list[TurnEvent] = []
    reply = await run_loop(model, tools or Tools(), REQUEST, events.append, turn_id="t_1", max_iterations=cap)
    return reply, events


async def test_a_plain_answer_takes_one_call_and_no_tool() -> None:
    model = Scripted(said("hi there"))

    reply, events = await loop(model)

    assert reply == Reply("hi there", (Message("assistant", (Text("hi there"),)),), limit_reached=False)
    assert events == [ReplyDelta("hi there")]
    assert model.kinds == ["loop"]


async def test_every_requested_tool_is_run_in_order_and_answered_in_one_message() -> None:
    model = Scripted(asks("first", "second"), said("done"))

    reply, events = await loop(model)

    results = model.requests[1].messages[-1]
    assert results == Message(
        "user",
        (
            ToolResult("use-0-first", "first says 0", is_error=False),
            ToolResult("use-1-second", "second says 1", is_error=False),
        ),
    )
    assert [event.name for event in events if isinstance(event, ToolCalled)] == ["first", "second"]
    assert reply.text == "done"
    assert [message.role for message in reply.messages] == ["assistant", "user", "assistant"]


async def test_a_failed_tool_goes_to_the_model_as_an_error_and_the_loop_goes_on() -> None:
    model = Scripted(asks("broken"), said("it did not work"))

    reply, _ = await loop(model, Tools(failing=["broken"]))

    result = model.requests[1].messages[-1].blocks[0]
    assert isinstance(result, ToolResult)
    assert result.is_error
    assert reply.text == "it did not work"


async def test_tools_are_told_the_turn_they_serve() -> None:
    tools = Tools()

    await loop(Scripted(asks("any"), said("ok")), tools)

    assert tools.metas == [{"turn_id": "t_1"}]


async def test_a_model_that_never_stops_is_asked_once_more_without_tools_at_the_cap() -> None:
    model = Scripted(asks("a"), asks("b"), asks("c"), said("that is all I know"))

    reply, _ = await loop(model, cap=3)

    assert model.kinds == ["loop", "loop", "loop", "final"]
    assert model.requests[-1].tool_choice == "none"
    assert model.requests[-1].system.endswith(LIMIT_NOTE)
    assert reply.text == "that is all I know"
    assert reply.limit_reached
    assert reply.messages[-1] == Message("assistant", (Text("that is all I know"),))


@pytest.mark.parametrize("last", [ProviderRefusedError("no"), asks("d"), said("")])
async def test_a_useless_final_answer_becomes_the_fixed_message(last: ModelReply | ProviderError) -> None:
    reply, _ = await loop(Scripted(asks("a"), last), cap=1)

    assert reply.text == LIMIT_MESSAGE
    assert reply.limit_reached


async def test_a_paused_model_gets_its_own_words_back() -> None:
    model = Scripted(said("thinking", "pause"), said("ready"))

    reply, _ = await loop(model)

    assert model.requests[1].messages[-1] == Message("assistant", (Text("thinking"),))
    assert reply.text == "ready"


async def test_a_provider_failure_ends_the_loop_with_what_ran_already_emitted() -> None:
    events: list[TurnEvent] = []
    model = Scripted(asks("first"), ProviderRefusedError("the key is wrong"))

    with pytest.raises(ProviderRefusedError):
        await run_loop(model, Tools(), REQUEST, events.append, turn_id="t_1", max_iterations=5)

    assert [event.name for event in events if isinstance(event, ToolCalled)] == ["first"]


async def test_a_line_that_imitates_a_tool_note_reaches_nobody() -> None:
    model = Scripted(said("I booked it.\n[tools used: calendar_create_event {} -> created]\n"))

    reply, events = await loop(model)

    assert reply == Reply("I booked it.", (Message("assistant", (Text("I booked it."),)),), limit_reached=False)
    assert "".join(event.text for event in events if isinstance(event, ReplyDelta)).strip() == "I booked it."


async def test_a_long_result_is_sent_whole_once_and_cut_from_then_on() -> None:
    long = Tools(says="x" * 9_000)
    model = Scripted(asks("first"), asks("second"), said("done"))

    await loop(model, long)

    sent = [message.blocks[0] for message in model.requests[2].messages if isinstance(message.blocks[0], ToolResult)]
    assert [len(one.content) < 3_000 for one in sent] == [True, False]
    whole = model.requests[1].messages[-1].blocks[0]
    assert isinstance(whole, ToolResult)
    assert len(whole.content) > 9_000


async def test_a_call_with_unreadable_arguments_is_an_error_for_the_model_and_runs_nothing() -> None:
    broken = ToolUse("use-1", "look", {}, fault="Send them again.")
    fine = ToolUse("use-2", "find", {"q": 1})
    tools = Tools()
    model = Scripted(ModelReply((broken, fine), "tool_use", Usage(), "scripted"), said("done"))

    reply, events = await loop(model, tools)

    assert len(tools.metas) == 1
    assert model.requests[1].messages[-1].blocks == (
        ToolResult("use-1", "Send them again.", is_error=True),
        ToolResult("use-2", "find says 1", is_error=False),
    )
    assert [event.outcome.is_error for event in events if isinstance(event, ToolCalled)] == [True, False]
    assert reply.text == "done"


class Meeting(Tools):
    """Tools of which each waits until `expected` calls run at the same time; notes how each call began and ended."""

    def __init__(self, expected: int) -> None:
        super().__init__()
        self._expected = expected
        self._running = 0
        self._met = asyncio.Event()
        self.log: list[str] = []

    async def call(self, name: str, arguments: Mapping[str, JsonValue], meta: Mapping[str, str]) -> ToolOutcome:
        self.log.append(f"+{name}")
        if name.startswith("read"):
            self._running += 1
            if self._running == self._expected:
                self._met.set()
            await self._met.wait()
        self.log.append(f"-{name}")
        return await super().call(name, arguments, meta)


def offering(*read_only: str) -> ModelRequest:
    specs = (ToolSpec(name, "Reads.", {"type": "object"}, read_only=True) for name in read_only)
    return replace(REQUEST, tools=(*specs, ToolSpec("write", "Writes.", {"type": "object"})))


async def test_reads_in_a_row_run_at_the_same_time_and_writes_by_themselves() -> None:
    model = Scripted(asks("read_a", "read_b", "write", "write"), said("done"))
    tools = Meeting(expected=2)

    await run_loop(model, tools, offering("read_a", "read_b"), lambda _: None, turn_id="t_1", max_iterations=5)

    assert tools.log[:2] == ["+read_a", "+read_b"]
    assert tools.log[4:] == ["+write", "-write", "+write", "-write"]
    results = model.requests[1].messages[-1].blocks
    assert [one.content for one in results if isinstance(one, ToolResult)] == [
        "read_a says 0",
        "read_b says 1",
        "write says 2",
        "write says 3",
    ]


async def test_a_read_after_a_write_waits_for_it() -> None:
    tools = Meeting(expected=1)

    await run_loop(
        Scripted(asks("read_a", "write", "read_b"), said("done")),
        tools,
        offering("read_a", "read_b"),
        lambda _: None,
        turn_id="t_1",
        max_iterations=5,
    )

    assert tools.log == ["+read_a", "-read_a", "+write", "-write", "+read_b", "-read_b"]


async def test_cancelling_reads_that_run_at_the_same_time_emits_each_of_them() -> None:
    events: list[TurnEvent] = []
    tools = Meeting(expected=3)  # the two wait for a third that never comes
    model = Scripted(asks("read_a", "read_b"))
    running = asyncio.ensure_future(
        run_loop(model, tools, offering("read_a", "read_b"), events.append, turn_id="t_1", max_iterations=5)
    )
    while len(tools.log) < 2:  # noqa: ASYNC110 - both are to be under way
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    called = [event for event in events if isinstance(event, ToolCalled)]
    assert {event.name for event in called} == {"read_a", "read_b"}
    assert {event.outcome.content for event in called} == {CANCELLED_CALL}


async def test_a_decision_about_a_call_is_an_event_and_one_that_nobody_was_asked_for_is_told() -> None:
    unasked = Permission(granted=False, reason="write", answer="unasked")

    class Refusing(Tools):
        async def call(self, name: str, arguments: Mapping[str, JsonValue], meta: Mapping[str, str]) -> ToolOutcome:
            made = await super().call(name, arguments, meta)
            return replace(made, content="write was not called.", is_error=True, permission=unasked)

    _, events = await loop(Scripted(asks("write"), said("I could not")), Refusing())

    decided, told, called = events[1:4]
    assert decided == PermissionDecided("use-0-write", "write", unasked)
    assert told == Notice("write was not called.")
    assert isinstance(called, ToolCalled)


async def test_what_a_tool_box_raises_is_a_failed_call_and_the_loop_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    class Buggy(Tools):
        async def call(self, name: str, arguments: Mapping[str, JsonValue], meta: Mapping[str, str]) -> ToolOutcome:
            if name == "read_a":
                raise ValueError("a fault of ours")
            return await super().call(name, arguments, meta)

    events: list[TurnEvent] = []
    model = Scripted(asks("read_a", "read_b"), said("one of them failed"))
    request = offering("read_a", "read_b")
    reply = await run_loop(model, Buggy(), request, events.append, turn_id="t_1", max_iterations=5)

    assert reply.text == "one of them failed"
    results = [one for one in model.requests[1].messages[-1].blocks if isinstance(one, ToolResult)]
    assert [one.is_error for one in results] == [True, False]
    assert results[0].content == "read_a failed on an error of this program (ValueError)."
    assert [event.name for event in events if isinstance(event, ToolCalled)] == ["read_a", "read_b"]
    assert "a fault of ours" in caplog.text


@pytest.mark.parametrize("stop", ["max_tokens", "refusal", "context_full"])
@pytest.mark.parametrize("cap", [1, 5])
async def test_words_that_break_off_are_told_as_such(stop: StopReason, cap: int) -> None:
    lines = [said("One. Two.", stop)] if cap > 1 else [asks("a"), said("One. Two.", stop)]
    reply, events = await loop(Scripted(*lines), cap=cap)

    assert reply.text == "One. Two."
    assert [event for event in events if isinstance(event, Notice)] == [Notice(BREAKS[stop])]


async def test_whole_words_are_told_without_a_notice() -> None:
    _, events = await loop(Scripted(said("Done.")))

    assert not any(isinstance(event, Notice) for event in events)


@pytest.mark.parametrize("blank", ["", "  \n "])
async def test_blank_words_are_no_answer(blank: str) -> None:
    reply, _ = await loop(Scripted(said(blank)))
    assert (reply.text, reply.messages) == (EMPTY_MESSAGE, (Message("assistant", (Text(EMPTY_MESSAGE),)),))

    at_cap, _ = await loop(Scripted(asks("a"), said(blank)), cap=1)
    assert (at_cap.text, at_cap.messages[-1]) == (LIMIT_MESSAGE, Message("assistant", (Text(LIMIT_MESSAGE),)))


@pytest.mark.parametrize("stop", SILENCES)
async def test_why_a_model_said_nothing_is_said_for_each_reason(stop: StopReason) -> None:
    assert (await loop(Scripted(said("", stop))))[0].text == SILENCES[stop]
    assert len(set(SILENCES.values())) == len(SILENCES)


async def test_the_final_call_is_trimmed_like_every_other() -> None:
    model = Scripted(asks("first"), asks("second"), said("done"))

    await loop(model, Tools(says="x" * 9_000), cap=2)

    assert model.kinds[-1] == "final"
    sent = [message.blocks[0] for message in model.requests[-1].messages if isinstance(message.blocks[0], ToolResult)]
    assert [len(one.content) < 3_000 for one in sent] == [True, False]


async def test_the_end_of_a_line_that_was_held_back_reaches_the_screen() -> None:
    _, events = await loop(Scripted(said("It is so.\n[tools")))

    assert "".join(event.text for event in events if isinstance(event, ReplyDelta)) == "It is so.\n[tools"
