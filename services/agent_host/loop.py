"""The loop: a model and its tools, until the model has nothing more to ask.

Pure over a `Model` and a `ToolBox`: no clock, no disk, no receipts. One model call a step; no tool request ends the
turn; every requested tool is run and its results go back in one user message. Requests in a row of tools that change
nothing run at the same time, every other one by itself; results keep the order of the requests. At the cap the model
is asked once more, without tools, so that a turn always ends in words (agent.md rows 2, 3 and 5).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Protocol

from agent_host.errors import ProviderError
from agent_host.mcp_clients.protocol import ToolBox, ToolOutcome
from agent_host.providers.protocol import Message, ModelReply, ModelRequest, StopReason, Text, ToolResult, ToolUse
from agent_host.tool_note import NoteFilter, without_notes
from agent_host.tracing.events import CallKind, Emit, Notice, PermissionDecided, ReplyDelta, ToolCalled, ToolStarted
from agent_host.trim import trimmed

LIMIT_NOTE = "You have used every step of this turn. Answer now, in words, from what you know."
EMPTY_MESSAGE = "The model gave no answer in words; ask again."
SILENCES: Mapping[StopReason, str] = {
    "refusal": "The model declined to answer that.",
    "max_tokens": "The model used up its output limit without a word; raise PROMETHEUS_MAX_TOKENS or ask for less.",
    "context_full": "The conversation no longer fits the model; start a new one.",
}
CANCELLED_CALL = "Cancelled while it ran; the server may have carried it out."
LIMIT_MESSAGE = "I stopped: this turn used all its steps before I had an answer. Ask again in smaller parts."


class Model(Protocol):
    """A model whose every call is recorded."""

    async def reply(self, request: ModelRequest, kind: CallKind, on_text: Callable[[str], None]) -> ModelReply:
        """Answers one request, passing text on as it arrives.

        Raises:
            ProviderError: no usable answer came.
        """
        ...


@dataclass(frozen=True)
class Reply:
    """What the loop came to. `messages` are the rows this turn added after the person's message."""

    text: str
    messages: tuple[Message, ...]
    limit_reached: bool


async def run_loop(
    model: Model, tools: ToolBox, request: ModelRequest, emit: Emit, *, turn_id: str, max_iterations: int
) -> Reply:
    """Runs model calls and tool calls until the model answers in words or the cap is reached.

    Raises:
        ProviderError: a model call gave nothing usable; what ran before it has been emitted.
    """
    added: list[Message] = []
    for _ in range(max_iterations):
        answer = await _ask(model, _with(request, added), "loop", emit)
        added.append(Message("assistant", answer.blocks))
        if answer.stop_reason == "pause":
            continue  # the provider wants its own words back and goes on from there
        if not answer.tool_uses:
            return _in_words(answer, added)
        read_only = frozenset(tool.name for tool in request.tools if tool.read_only)
        results = [
            result
            for batch in _batches(answer.tool_uses, read_only)
            for result in await _run_batch(tools, batch, emit, turn_id)
        ]
        added.append(Message("user", tuple(results)))
    text = await _final_answer(model, _with(request, added), emit)
    added.append(Message("assistant", (Text(text),)))
    return Reply(text, tuple(added), limit_reached=True)


def _with(request: ModelRequest, added: list[Message]) -> ModelRequest:
    """Returns the request of the next step: what was read before is trimmed (agent.md row 11)."""
    return replace(request, messages=trimmed((*request.messages, *added)))


async def _ask(model: Model, request: ModelRequest, kind: CallKind, emit: Emit) -> ModelReply:
    """Makes one model call; a line that imitates a tool note is neither streamed nor returned (agent.md row 10)."""
    stream = NoteFilter(lambda text: emit(ReplyDelta(text)))
    answer = await model.reply(request, kind, stream.feed)
    stream.end()
    blocks = (replace(one, text=without_notes(one.text)) if isinstance(one, Text) else one for one in answer.blocks)
    return replace(answer, blocks=tuple(blocks))


def _in_words(answer: ModelReply, added: list[Message]) -> Reply:
    """Returns the model's last answer; one without a word gets a sentence that says why there is none."""
    if answer.text.strip():
        return Reply(answer.text, tuple(added), limit_reached=False)
    text = SILENCES.get(answer.stop_reason, EMPTY_MESSAGE)
    return Reply(text, (*added[:-1], Message("assistant", (Text(text),))), limit_reached=False)


def _batches(uses: Sequence[ToolUse], read_only: frozenset[str]) -> Iterator[tuple[ToolUse, ...]]:
    """Yields the requests in order, those that may run at the same time together."""
    for is_read_only, row in groupby(uses, key=lambda use: use.name in read_only):
        if is_read_only:
            yield tuple(row)
        else:
            yield from ((use,) for use in row)


async def _run_batch(tools: ToolBox, batch: Sequence[ToolUse], emit: Emit, turn_id: str) -> tuple[ToolResult, ...]:
    """Runs calls at the same time; cancelling cancels each, and waits until each is emitted."""
    if len(batch) == 1:
        return (await _run_tool(tools, batch[0], emit, turn_id),)
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(_run_tool(tools, use, emit, turn_id)) for use in batch]
    return tuple(task.result() for task in running)


async def _run_tool(tools: ToolBox, use: ToolUse, emit: Emit, turn_id: str) -> ToolResult:
    """Runs one tool call, unless its request is faulty; a cancelled one says that it may have been carried out."""
    emit(ToolStarted(use.name))
    outcome = ToolOutcome("", use.name, use.fault or "", None, is_error=True, duration_ms=0)
    try:
        if use.fault is None:
            outcome = await tools.call(use.name, use.arguments, {"turn_id": turn_id})
    except asyncio.CancelledError:
        unknown = ToolOutcome("", use.name, CANCELLED_CALL, None, is_error=True, duration_ms=0)
        emit(ToolCalled(use.id, use.name, use.arguments, unknown))
        raise
    if outcome.permission is not None:
        emit(PermissionDecided(use.id, use.name, outcome.permission))
        if outcome.permission.answer == "unasked":
            emit(Notice(outcome.content))
    emit(ToolCalled(use.id, use.name, use.arguments, outcome))
    return ToolResult(use.id, outcome.content, outcome.is_error)


async def _final_answer(model: Model, request: ModelRequest, emit: Emit) -> str:
    """Asks once more with tools off; a failure or an empty answer becomes the fixed message (agent.md row 3)."""
    last = replace(request, system=f"{request.system}\n\n{LIMIT_NOTE}", tool_choice="none")
    try:
        answer = await _ask(model, last, "final", emit)
    except ProviderError:
        return LIMIT_MESSAGE
    return answer.text or LIMIT_MESSAGE
