"""A provider that says what a test wrote down for it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from typing import TypeAlias

from agent_host.errors import ProviderError
from agent_host.providers.protocol import (
    Identity,
    ModelReply,
    ModelRequest,
    StopReason,
    Text,
    TextDelta,
    ToolUse,
    Usage,
)

Line: TypeAlias = ModelReply | ProviderError | asyncio.Event
Rule: TypeAlias = Callable[[ModelRequest], Line]

IDENTITY = Identity("mock", "scripted", "1")
USAGE = Usage(input_tokens=12, output_tokens=33)


def says(text: str, stop_reason: StopReason = "end_turn", usage: Usage = USAGE) -> ModelReply:
    """A reply in words."""
    return ModelReply((Text(text),), stop_reason, usage, IDENTITY.model)


def asks(*uses: ToolUse, text: str = "", usage: Usage = USAGE) -> ModelReply:
    """A reply that asks for tools, after some words if any."""
    words = (Text(text),) if text else ()
    return ModelReply((*words, *uses), "tool_use", usage, IDENTITY.model)


class ScriptedProvider:
    """Plays its lines in order, a line a request; a function as first line answers every request.

    An error is raised, and again and again when it is the last line. An `asyncio.Event` is waited for (a model that
    hangs). `requests` is what it was asked.
    """

    def __init__(self, *lines: Line | Rule) -> None:
        self._lines = list(lines)
        self.requests: list[ModelRequest] = []
        self.closed = False

    @property
    def identity(self) -> Identity:
        """Who answers."""
        return IDENTITY

    async def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ModelReply]:
        """Streams the next line, a word at a time."""
        self.requests.append(request)
        line = self._next(request)
        if isinstance(line, asyncio.Event):
            await line.wait()
            line = self._next(request)
        if isinstance(line, ProviderError):
            raise line
        if isinstance(line, asyncio.Event):
            raise TypeError("an event must be followed by a reply or an error")
        for piece in re.findall(r"\s*\S+|\s+", line.text):
            await asyncio.sleep(0)
            yield TextDelta(piece)
        yield line

    async def close(self) -> None:
        """Notes that it was closed."""
        self.closed = True

    def _next(self, request: ModelRequest) -> Line:
        line = self._lines[0]
        if not isinstance(line, ModelReply | ProviderError | asyncio.Event):
            return line(request)
        if len(self._lines) > 1 or not isinstance(line, ProviderError):
            del self._lines[0]
        return line
