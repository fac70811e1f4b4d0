"""A `ToolBox` without processes: tools are Python functions."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from agent_host.mcp_clients.protocol import ToolOutcome
from agent_host.providers.protocol import JsonValue, ToolSpec

Arguments: TypeAlias = Mapping[str, JsonValue]
Function: TypeAlias = "Callable[[Arguments], JsonValue | Awaitable[JsonValue]]"


class ToolFailedError(Exception):
    """Raised by a function to make its call fail; its message is what the model reads."""


@dataclass(frozen=True)
class Call:
    """A call as it came."""

    name: str
    arguments: Arguments
    meta: Mapping[str, str]


class FakeToolBox:
    """Tools by model-facing name, as `<server>_<tool>`. A function returns text, or data for structured output.

    `calls` is what was called, `unusable` what `problems` says.
    """

    def __init__(self, functions: Mapping[str, Function], unusable: tuple[str, ...] = ()) -> None:
        self._functions = dict(functions)
        self._unusable = unusable
        self.calls: list[Call] = []
        self.closed = False

    async def specs(self) -> tuple[ToolSpec, ...]:
        """Returns the tools, sorted by name; each takes any arguments."""
        if self.closed:
            return ()
        return tuple(ToolSpec(name, f"Does {name}.", {"type": "object"}) for name in sorted(self._functions))

    async def call(self, name: str, arguments: Arguments, meta: Mapping[str, str]) -> ToolOutcome:
        """Calls a function; what it raises as `ToolFailedError` becomes a failed outcome."""
        self.calls.append(Call(name, arguments, meta))
        function = self._functions.get(name)
        if function is None or self.closed:
            words = (
                "The tools are closed." if self.closed else f"There is no tool named {name}; use one that is offered."
            )
            return ToolOutcome("", name, words, None, is_error=True, duration_ms=0)
        server, _, tool = name.partition("_")
        try:
            made = function(arguments)
            value = await made if inspect.isawaitable(made) else made
        except ToolFailedError as error:
            return ToolOutcome(server, tool, str(error), None, is_error=True, duration_ms=1)
        if isinstance(value, str):
            return ToolOutcome(server, tool, value, None, is_error=False, duration_ms=1)
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return ToolOutcome(server, tool, text, value, is_error=False, duration_ms=1)

    def problems(self) -> tuple[str, ...]:
        """Returns what it was told to say."""
        return self._unusable

    async def close(self) -> None:
        """Notes that it was closed."""
        self.closed = True
