"""One turn, from a person's message to a reply and its receipt. Read this file first.

    message ─ intent (BeginTurn) ─ prompt ─ loop: model ⇄ tools ─ report ─ receipt (AppendTurn) ─ reply ─ background

The budget is asked before the prompt, each model call and each tool call.

Everything that happens is emitted as an event; the trace and the receipt are computed from the events alone. The
message is on disk before anything is done about it. Whatever ends the loop becomes a reply, nothing after the loop can
lose that, and nothing at all loses a receipt: it is signed by the writer, or it waits in the spool and the receipt line
says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from agent_host.budget import BudgetedModel, BudgetedTools
from agent_host.cancellation import take_back_cancellation, to_the_end
from agent_host.consolidation.reading import heard_outside
from agent_host.cut_short import cut_short, fault, is_of_the_disk, no_answer
from agent_host.errors import BudgetSpentError, ProviderError
from agent_host.identifiers import new_turn_id
from agent_host.loop import Reply, run_loop
from agent_host.prompting import prepare
from agent_host.providers.protocol import JsonValue
from agent_host.receipts.commitments import SCHEME, Opening, commit
from agent_host.receipts.drafts import TurnIntent, TurnReceipt
from agent_host.receipts.protocol import ReceiptStatus
from agent_host.receipts.turn_receipt import turn_receipt
from agent_host.report_saving import OneReport, with_report_saved
from agent_host.session import Session
from agent_host.tool_note import tool_note, with_note
from agent_host.tracing.events import Emit, Outcome, ReceiptMade, TurnEnded, TurnStarted
from agent_host.tracing.jsonl import TraceFile
from agent_host.tracing.turn_events import TurnEvents
from agent_host.turn_meta import knowledge_used, turn_meta
from agent_host.turn_parts import TurnParts

CANCELLED_MESSAGE = "Cancelled."

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TurnResult:
    """What a gateway shows: the reply, how the turn ended, its receipt and what became of that.

    `used` is what memory held about the subject of a research turn (agent.md row 55).
    """

    reply: str
    outcome: Outcome
    receipt: TurnReceipt
    status: ReceiptStatus
    used: tuple[Mapping[str, JsonValue], ...] = ()


async def run_turn(text: str, session: Session, gateway: str, parts: TurnParts, watch: Emit) -> TurnResult:
    """Runs one turn. Cancelling the task ends the answer early; its receipt then says `cancelled`."""
    turn_id, started_ms = new_turn_id(), parts.now_ms()
    trace = TraceFile(parts.traces, parts.now())
    events = TurnEvents(turn_id, trace, parts.now_ms, parts.spans.watch, watch)
    message = commit(turn_id, "inputHash", {"text": text})
    events.emit(TurnStarted(turn_id, session.session_id, gateway, text))
    parts.chat_log.begin(session.session_id, turn_id, gateway, text, at_ms=started_ms)
    intent = TurnIntent(turn_id, session.session_id, gateway, message.digest, SCHEME, parts.provider.identity.model)

    outcome, reply = await _Turn(text, session, parts, events).answer(intent, message.opening)

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
    session.add_turn(text, reply.messages, outside=heard_outside(events.kept))
    stored = with_note(reply.text, tool_note(events.kept))
    ended_ms = parts.now_ms()
    meta = turn_meta(events.kept, reply, receipt, parts.provider.identity, ended_ms - started_ms)
    parts.chat_log.store(session.session_id, turn_id, gateway, (text, stored), at_ms=ended_ms, meta=meta)
    if not parts.budget.day_is_spent():
        parts.after_turn(turn_id)
    return TurnResult(reply.text, outcome, receipt, status, knowledge_used(events.kept))


@dataclass(frozen=True)
class _Turn:
    """One message on its way to an answer."""

    text: str
    session: Session
    parts: TurnParts
    events: TurnEvents

    async def answer(self, intent: TurnIntent, opening: Opening) -> tuple[Outcome, Reply]:
        """Records that the turn starts, drafts the reply, and turns whatever ends that into an outcome and a reply."""
        events = self.events
        try:
            _, cancelled = await to_the_end(self.parts.receipts.begin_turn(intent, opening))
            if cancelled:
                return "cancelled", cut_short(CANCELLED_MESSAGE, events)
            reply = await self._draft()
        except asyncio.CancelledError:
            take_back_cancellation()
            return "cancelled", cut_short("" if events.streamed_text.strip() else CANCELLED_MESSAGE, events)
        except BudgetSpentError as error:
            return "limit_reached", cut_short(str(error), events)
        except ProviderError as error:
            return "failed", cut_short(no_answer(error), events)
        except Exception as error:  # a fault of ours must not cost the receipt; the log has where it was
            logger.exception("the turn %s failed", events.turn_id, exc_info=not is_of_the_disk(error))
            return "failed", cut_short(fault(error), events)
        return ("limit_reached" if reply.limit_reached else "replied"), reply

    async def _draft(self) -> Reply:
        """Asks the budget, makes the prompt, runs the loop, and saves a report that the reply has in it."""
        parts, events = self.parts, self.events

        def check_budget() -> None:
            parts.budget.check(events.kept, events.emit)

        check_budget()
        shown_outside = self.session.shows_outside
        if shown_outside:
            parts.shows_outside(events.turn_id)
        request = await prepare(self.text, self.session, parts, events)
        reply = await run_loop(
            BudgetedModel(parts.drafter(events.emit, events.turn_id), check_budget),
            OneReport(BudgetedTools(parts.tools, check_budget)),
            request,
            events.emit,
            turn_id=events.turn_id,
            max_iterations=parts.max_iterations,
        )
        return await with_report_saved(reply, parts.tools, parts.retrieval.calls, events, shown_outside=shown_outside)
