"""The loop: a model and its tools, until the model has nothing more to ask.

Pure over a `Model` and a `ToolBox`: no clock, no disk, no receipts. One model call a step; no tool request ends the
turn; every requested tool is run and its results go back in one user message. Requests in a row of tools that change
nothing run at the same time, every other one by itself; results keep the order of the requests. At the cap the model
is asked once more, without tools, so that a turn always ends in words (agent.md rows 2, 3 and 5).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Protocol

from agent_host.calling import call_tool
from agent_host.errors import ProviderError
from agent_host.mcp_clients.protocol import ToolBox
from agent_host.providers.protocol import Message, ModelReply, ModelRequest, StopReason, Text, ToolResult, ToolUse
from agent_host.tool_note import NoteFilter, without_notes
from agent_host.tracing.events import CallKind, Emit, Notice, ReplyDelta
from agent_host.trim import trimmed

LIMIT_NOTE = "You have used every step of this turn. Answer now, in words, from what you know."
EMPTY_MESSAGE = "The model gave no answer in words; ask again."
SILENCES: Mapping[StopReason, str] = {
    "refusal": "The model declined to answer that.",
    "max_tokens": "The model used up its output limit without a word; raise PROMETHEUS_MAX_TOKENS or ask for less.",
    "context_full": "The conversation no longer fits the model; start a new one.",
}
BREAKS: Mapping[StopReason, str] = {
    "refusal": "The reply breaks off: the model declined to go on.",
    "max_tokens": "The reply was cut off at its output limit; raise PROMETHEUS_MAX_TOKENS or ask for less.",
    "context_full": "The reply breaks off: the conversation no longer fits the model; start a new one.",
}
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
            return _in_words(answer, added, emit)
        read_only = frozenset(tool.name for tool in request.tools if tool.read_only)
        results = [
            result
            for batch in _batches(answer.tool_uses, read_only)
            for result in await _run_batch(tools, batch, read_only, emit, turn_id)
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


def _in_words(answer: ModelReply, added: list[Message], emit: Emit) -> Reply:
    """Returns the model's last answer; one without a word gets a sentence that says why there is none."""
    text = _words(answer, SILENCES.get(answer.stop_reason, EMPTY_MESSAGE), emit)
    last = added[-1] if text == answer.text else Message("assistant", (Text(text),))
    return Reply(text, (*added[:-1], last), limit_reached=False)


def _words(answer: ModelReply, otherwise: str, emit: Emit) -> str:
    """Returns what an answer says, else `otherwise`; that words break off is told, as they do not show it."""
    if not answer.text.strip():
        return otherwise
    if answer.stop_reason in BREAKS:
        emit(Notice(BREAKS[answer.stop_reason]))
    return answer.text


def _batches(uses: Sequence[ToolUse], read_only: frozenset[str]) -> Iterator[tuple[ToolUse, ...]]:
    """Yields the requests in order, those that may run at the same time together."""
    for is_read_only, row in groupby(uses, key=lambda use: use.name in read_only):
        if is_read_only:
            yield tuple(row)
        else:
            yield from ((use,) for use in row)


async def _run_batch(
    tools: ToolBox, batch: Sequence[ToolUse], read_only: frozenset[str], emit: Emit, turn_id: str
) -> tuple[ToolResult, ...]:
    """Runs calls at the same time; cancelling cancels each, and waits until each is emitted."""

    async def answered(use: ToolUse) -> ToolResult:
        outcome = await call_tool(tools, use, emit, turn_id, read_only=use.name in read_only)
        return ToolResult(use.id, outcome.content, outcome.is_error)

    if len(batch) == 1:
        return (await answered(batch[0]),)
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(answered(use)) for use in batch]
    return tuple(task.result() for task in running)


async def _final_answer(model: Model, request: ModelRequest, emit: Emit) -> str:
    """Asks once more with tools off; a failure or an empty answer becomes the fixed message (agent.md row 3)."""
    last = replace(request, system=f"{request.system}\n\n{LIMIT_NOTE}", tool_choice="none")
    with suppress(ProviderError):
        return _words(await _ask(model, last, "final", emit), LIMIT_MESSAGE, emit)
    return LIMIT_MESSAGE
