"""Completes the conversation of turns that a host died in: what the trace has of them becomes the reply.

A killed host leaves a message on disk and no reply. The next host of the home gives it one, so that the person sees
what was done, and a model that goes on with the conversation does not do it again (agent.md rows 1 and 9). A call that
was under way when the host died has no line in the trace, so nobody can tell of it.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from agent_host.chat_log import UNANSWERED, ChatLog, Unanswered
from agent_host.errors import TraceError
from agent_host.providers.protocol import JsonValue
from agent_host.tool_note import note_of, told, with_note
from agent_host.tracing.reading import Row, read_file

INTERRUPTED: Final = "Interrupted: the program ended before there was an answer."

logger = logging.getLogger(__name__)


def completed(chat_log: ChatLog, traces: Path, zone: ZoneInfo) -> ChatLog:
    """Returns the log with a reply to each message; for a host that holds the home, before its first turn."""
    try:
        for turn in chat_log.unanswered():
            reply, meta = _reply(_rows(turn, traces, zone))
            exchange = (turn.message, reply)
            chat_log.store(turn.session_id, turn.turn_id, turn.source, exchange, at_ms=turn.at_ms, meta=meta)
    except sqlite3.Error as error:
        logger.warning("interrupted turns could not be completed: %s", error)
    return chat_log


def _rows(turn: Unanswered, traces: Path, zone: ZoneInfo) -> list[Row]:
    """Returns a turn's trace lines, as far as they can be read; a turn's lines are in the file of the day it began."""
    day = datetime.fromtimestamp(turn.at_ms / 1000, tz=zone).date()
    try:
        return [row for row in read_file(traces / f"{day}.jsonl").rows if row.turn_id == turn.turn_id]
    except (OSError, TraceError):
        return []


def _reply(rows: Sequence[Row]) -> tuple[str, dict[str, JsonValue]]:
    """Returns what is stored as a turn's reply, and what is kept with it; the reply itself where it had come so far.

    Nobody can tell any more whose words its tools brought, so that they count as somebody else's.
    """
    tools = [row for row in rows if row.kind == "tool"]
    calls = [row for row in tools if not (row.members.get("read_first") or row.members.get("gated"))]
    note = note_of(map(_told, calls))
    ended = next((row.members.get("reply") for row in rows if row.kind == "turn_end"), None)
    outside: dict[str, JsonValue] = {"outside": True} if tools else {}
    if isinstance(ended, str):
        return with_note(ended, note), outside
    ran = f" It had run: {', '.join(_names(calls))}." if calls else ""
    return with_note(INTERRUPTED + ran, note), {**outside, "said": with_note(UNANSWERED, note)}


def _names(calls: Iterable[Row]) -> list[str]:
    return [str(row.members.get("tool")) for row in calls]


def _told(row: Row) -> str:
    call = row.members
    return told(str(call.get("tool")), call.get("args"), str(call.get("output", "")), failed=call.get("ok") is not True)
