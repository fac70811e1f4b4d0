"""One turn, from a person's message to a reply and its receipt. Read this file first.

    message ─ intent (BeginTurn) ─ prompt ─ loop: model ⇄ tools ─ events ─ receipt (AppendTurn) ─ reply ─ background

Everything that happens is emitted as an event; the trace and the receipt are computed from the events alone. Nothing
after the loop can lose the reply, and nothing at all loses a receipt: it is signed by the writer, or it waits in the
spool and the receipt line says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass

from agent_host.budget import BudgetedModel, BudgetedTools
from agent_host.cancellation import take_back_cancellation, to_the_end
from agent_host.consolidation.reading import turn_meta
from agent_host.constrained.drafter import ReplyDrafter
from agent_host.constrained.specs import FAILURE_MESSAGE
from agent_host.errors import BudgetSpentError, ProviderError
from agent_host.identifiers import new_turn_id
from agent_host.loop import Reply, run_loop
from agent_host.prompting import prepare
from agent_host.providers.protocol import Message, Text
from agent_host.receipts.commitments import SCHEME, commit
from agent_host.receipts.drafts import TurnIntent, TurnReceipt
from agent_host.receipts.protocol import ReceiptStatus
from agent_host.receipts.turn_receipt import turn_receipt
from agent_host.report_saving import OneReport, with_report_saved
from agent_host.session import Session
from agent_host.tool_note import tool_note, with_note
from agent_host.tracing.events import Emit, Outcome, ReceiptMade, TurnEnded, TurnStarted
from agent_host.tracing.jsonl import TraceFile
from agent_host.tracing.turn_events import TurnEvents
from agent_host.turn_parts import TurnParts

CANCELLED_MESSAGE = "Cancelled."

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TurnResult:
    """What a gateway shows: the reply, how the turn ended, its receipt and what became of that."""

    reply: str
    outcome: Outcome
    receipt: TurnReceipt
    status: ReceiptStatus


async def run_turn(text: str, session: Session, gateway: str, parts: TurnParts, watch: Emit) -> TurnResult:
    """Runs one turn. Cancelling the task ends the answer early; its receipt then says `cancelled`."""
    turn_id = new_turn_id()
    trace = TraceFile(parts.traces, parts.now())
    events = TurnEvents(turn_id, trace, parts.now_ms, parts.spans.watch, watch)
    message = commit(turn_id, "inputHash", {"text": text})
    events.emit(TurnStarted(turn_id, session.session_id, gateway, text))
    intent = TurnIntent(turn_id, session.session_id, gateway, message.digest, SCHEME, parts.provider.identity.model)

    outcome, reply = await _answer(text, session, parts, events, parts.receipts.begin_turn(intent, message.opening))

    events.emit(TurnEnded(outcome, reply.text, events.iterations))
    said = commit(turn_id, "replyHash", {"text": reply.text})
    receipt = turn_receipt(
        events.kept,
        parts.provider.identity,
        input_hash=message.digest,
        reply_hash=said.digest,
        commitment=SCHEME,
        trace_hash=trace.sha256,
    )
    status, _ = await to_the_end(parts.receipts.append_turn(receipt, said.opening))
    events.emit(ReceiptMade(receipt, status))
    session.add_turn(text, reply.messages)
    stored = with_note(reply.text, tool_note(events.kept))
    meta = turn_meta(events.kept, reply.text)
    parts.chat_log.store(session.session_id, turn_id, gateway, (text, stored), at_ms=parts.now_ms(), meta=meta)
    if not parts.budget.day_is_spent():
        parts.after_turn(turn_id)
    return TurnResult(reply.text, outcome, receipt, status)


async def _answer(
    text: str, session: Session, parts: TurnParts, events: TurnEvents, begin: Awaitable[None]
) -> tuple[Outcome, Reply]:
    """Records the start, runs the loop, and turns whatever ends it into an outcome and a reply."""
    try:
        _, cancelled = await to_the_end(begin)
        if cancelled:
            return "cancelled", _cut_short(CANCELLED_MESSAGE)
        reply = await _draft(text, session, parts, events)
    except asyncio.CancelledError:
        take_back_cancellation()
        return "cancelled", _cut_short(events.streamed_text or CANCELLED_MESSAGE)
    except BudgetSpentError as error:
        return "limit_reached", _cut_short(str(error))
    except ProviderError as error:
        return "failed", _cut_short(f"{FAILURE_MESSAGE} {error}")
    except Exception as error:  # a fault of ours must not cost the receipt; the log has where it was
        logger.exception("the turn %s failed", events.turn_id)
        return "failed", _cut_short(
            f"The turn failed on an error of this program ({type(error).__name__}); see its log."
        )
    return ("limit_reached" if reply.limit_reached else "replied"), reply


async def _draft(text: str, session: Session, parts: TurnParts, events: TurnEvents) -> Reply:
    def check_budget() -> None:
        parts.budget.check(events.kept, events.emit)

    check_budget()
    request = await prepare(text, session, parts, events)
    drafter = ReplyDrafter(
        parts.provider,
        parts.spec,
        parts.receipts,
        events.emit,
        turn_id=events.turn_id,
        now_ms=parts.now_ms,
        cost=parts.cost,
        meter=parts.meter,
        registry=parts.registry,
    )
    tools = OneReport(BudgetedTools(parts.tools, check_budget))
    reply = await run_loop(
        BudgetedModel(drafter, check_budget),
        tools,
        request,
        events.emit,
        turn_id=events.turn_id,
        max_iterations=parts.max_iterations,
    )
    return await with_report_saved(reply, parts.tools, parts.retrieval.calls, events)


def _cut_short(text: str) -> Reply:
    """Returns the reply of a turn that did not finish; the history keeps its words and no half-done tool calls."""
    return Reply(text, (Message("assistant", (Text(text),)),), limit_reached=False)
