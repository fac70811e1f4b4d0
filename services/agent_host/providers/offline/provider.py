"""The offline provider: the planner behind the same seam as every model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from agent_host.errors import ProviderRefusedError
from agent_host.providers.protocol import (
    Identity,
    Message,
    ModelReply,
    ModelRequest,
    Text,
    TextDelta,
    ToolUse,
    Usage,
)

if TYPE_CHECKING:
    from agent_host.providers.offline.routine import Calls

MODEL = "offline-rules"
_VERSION = "1"
_NO_MORE_TOOLS = (
    "I may call no more tools in this turn, so I stopped here. Say what is still missing, one thing at a time."
)
_NO_MODEL = (
    "The offline rules are no language model and answer nothing under a spec; set PROMETHEUS_PROVIDER and a key for a "
    "model."
)
_PIECE = re.compile(r"\s*\S+\s*")


class OfflineProvider:
    """Plans tool calls by rules. It knows no language, keeps nothing, and sends nothing anywhere.

    `clock` returns the present as an aware time; `zone` is the person's.
    """

    def __init__(self, clock: Callable[[], datetime], zone: ZoneInfo) -> None:
        self._clock = clock
        self._zone = zone

    @property
    def identity(self) -> Identity:
        """Who answers."""
        return Identity("offline", MODEL, _VERSION)

    async def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ModelReply]:
        """Streams the next step: a reply word by word, or tool calls without words.

        Raises:
            ProviderRefusedError: a value of a schema is asked for, which is a question to a language model.
        """
        if request.output_schema is not None:
            raise ProviderRefusedError(_NO_MODEL)
        from agent_host.providers.offline.planner import plan  # 0.07 s: loaded at the first message
        from agent_host.providers.offline.routine import ReplyStep

        offered = frozenset(tool.name for tool in request.tools)
        now = self._clock()
        step = plan(request.messages, offered, now, self._zone)
        if isinstance(step, ReplyStep):
            text = step.text
        elif request.tool_choice == "none":
            text = _NO_MORE_TOOLS
        else:
            blocks = _tool_uses(step.calls, request.messages, now)
            yield ModelReply(blocks, "tool_use", Usage(), MODEL)
            return
        for match in _PIECE.finditer(text):
            yield TextDelta(match.group())
        yield ModelReply((Text(text),), "end_turn", Usage(), MODEL)

    def warm_up(self) -> None:
        """Loads, ahead of the first message, what it will need: the planner and the date library (0.3 s in all)."""
        from agent_host.providers.offline.planner import plan

        plan((Message("user", (Text("what day is 3 December"),)),), frozenset(), self._clock(), self._zone)

    async def close(self) -> None:
        """Does nothing: there is nothing to release."""


def _tool_uses(calls: Calls, messages: Sequence[Message], now: datetime) -> tuple[ToolUse, ...]:
    """Gives each call an id that no other call of the conversation has.

    Ids grow out of the ids before them, so that they differ even when the window and the clock look the same again.
    """
    taken = {block.id for message in messages for block in message.blocks if isinstance(block, ToolUse)}
    seed = hashlib.sha256(f"{now.isoformat()} {len(messages)} {sorted(taken)}".encode()).hexdigest()[:16]
    uses: list[ToolUse] = []
    for call in calls:
        number = len(uses)
        while (identifier := f"offline_{seed}_{number}") in taken:
            number += 1
        taken.add(identifier)
        uses.append(ToolUse(identifier, call.tool, call.arguments))
    return tuple(uses)
