"""`agent-host ask`: one turn, for people and scripts."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict

from agent_host.app import Host
from agent_host.gateways.approving import AskApprover
from agent_host.gateways.message import accept_message
from agent_host.gateways.overview import chosen
from agent_host.gateways.plain_screen import PlainScreen
from agent_host.receipts.line import receipt_line
from agent_host.receipts.members import receipt_members
from agent_host.tracing.events import Notice, TurnEvent
from agent_host.turn import TurnResult
from service_runtime.settings import Settings

_STATUS = {"replied": 0, "limit_reached": 0, "failed": 1, "cancelled": 130}


async def ask(
    settings: Settings, environ: Mapping[str, str], raw: str | bytes, *, as_json: bool, resume: str | None = None
) -> int:
    """Runs one turn, in the session that `resume` names if it does; returns 0, 1 when it failed, 130 when cancelled.

    Raises:
        UsageError: the message cannot be taken, or there is no such session.
        HostError, SetupError: the host cannot run on this home.
    """
    text = accept_message(raw)
    host = Host(settings, "cli", environ, AskApprover())
    screen = PlainScreen(sys.stdout, live=False)
    noticed: list[TurnEvent] = []
    try:
        if resume is not None:
            host.resume(chosen(host.sessions(-1), resume).session_id)
        turn = asyncio.ensure_future(host.turn(text, noticed.append if as_json else screen.show))
        loop = asyncio.get_running_loop()
        for told in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(told, turn.cancel)
        result = await turn
    except asyncio.CancelledError:
        return _STATUS["cancelled"]
    finally:
        await host.close()
    if as_json:
        notices = [event.text for event in noticed if isinstance(event, Notice)]
        sys.stdout.write(json.dumps({**_document(result), "notices": notices}, ensure_ascii=False) + "\n")
    else:
        screen.finish(result)
    return _STATUS[result.outcome]


def _document(result: TurnResult) -> dict[str, object]:
    entry = result.status.entry
    return {
        "reply": result.reply,
        "outcome": result.outcome,
        "turn_id": result.receipt.turn_id,
        "session_id": result.receipt.session_id,
        "tools": [asdict(row) for row in result.receipt.tools],
        "used": list(result.used),
        "turn_receipt": receipt_members(result.receipt),
        "receipt": {"id": entry.id, "hash": entry.hash, "line": entry.line} if entry else None,
        "queued": result.status.queued,
        "receipt_line": receipt_line(result.receipt, result.status),
    }
