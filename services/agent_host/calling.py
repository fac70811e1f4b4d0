"""One tool call of a turn, as everybody makes it: sent, timed, allowed or not, and told as events.

The loop calls what a model asked for; the host calls by itself what it reads first and where it saves a report. Either
way a call ends as a value. A tool box that raises has a fault of this program: its call failed, and the turn goes on
(agent.md row 5).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from agent_host.mcp_clients.protocol import BY_HOST, ToolBox, ToolOutcome
from agent_host.providers.protocol import ToolUse
from agent_host.tracing.events import Emit, Notice, PermissionDecided, ToolCalled, ToolStarted

CANCELLED_CALL: Final = "Cancelled while it ran; the server may have carried it out."

logger = logging.getLogger(__name__)


async def call_tool(
    tools: ToolBox,
    use: ToolUse,
    emit: Emit,
    turn_id: str,
    *,
    by_host: bool = False,
    read_only: bool = False,
    read_first: bool = False,
) -> ToolOutcome:
    """Runs one tool call, unless its request is faulty; `by_host`: no model asked for it.

    Raises:
        CancelledError: the turn was cancelled; the call's event says that it may have been carried out.
    """
    emit(ToolStarted(use.name))
    outcome = _failed(use.name, use.fault or CANCELLED_CALL)
    try:
        if use.fault is None:
            outcome = await _called(tools, use, {"turn_id": turn_id, **(BY_HOST if by_host else {})})
        if outcome.permission is not None:
            emit(PermissionDecided(use.id, use.name, outcome.permission))
            if outcome.permission.answer == "unasked":
                emit(Notice(outcome.content))
    finally:
        emit(ToolCalled(use.id, use.name, use.arguments, outcome, read_first=read_first, read_only=read_only))
    return outcome


async def _called(tools: ToolBox, use: ToolUse, meta: Mapping[str, str]) -> ToolOutcome:
    try:
        return await tools.call(use.name, use.arguments, meta)
    except Exception as error:  # a box that keeps its promise raises nothing; one that does not costs its call
        logger.exception("the call of %s failed on an error of this program", use.name)
        return _failed(use.name, f"{use.name} failed on an error of this program ({type(error).__name__}).")


def _failed(name: str, words: str) -> ToolOutcome:
    return ToolOutcome("", name, words, None, is_error=True, duration_ms=0)
