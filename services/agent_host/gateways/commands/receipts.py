"""`/receipt`: the receipt of a turn, expanded to its table (agent.md row 84)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agent_host.errors import UsageError
from agent_host.gateways.commands.command import Answer, Choice, Desk
from agent_host.gateways.receipt_rows import decision_line, draft_rows, entry_rows
from agent_host.receipts.line import receipt_line

if TYPE_CHECKING:
    from agent_host.receipts.protocol import StoredEntry


async def shown(desk: Desk, told: str) -> Answer:
    """Shows the last turn's receipt, or the one of a number or turn id, with its model calls.

    Raises:
        UsageError: there is none.
        WriterUnavailableError: another than the last was asked for, and the writer does not answer.
    """
    if told:
        from agent_host.gateways.receipts import find_receipt

        reader = await desk.host.ledger()
        return await _expanded(desk, await find_receipt(reader, told))
    if not desk.turns:
        raise UsageError("There is no receipt yet; say something first.")
    last = desk.turns[-1]
    if last.status.entry is None:
        return Answer(receipt_line(last.receipt, last.status), draft_rows(last.receipt), "It is not signed yet.")
    return await _expanded(desk, last.status.entry)


async def _expanded(desk: Desk, entry: StoredEntry) -> Answer:
    from agent_host.receipts.client import DECISIONS

    turn_id = json.loads(entry.line)["turnId"]
    reader = await desk.host.ledger()
    decisions = [decision_line(one) async for one in reader.entries(DECISIONS, turn_id=turn_id)]
    signed = f"`agent-host receipts show {entry.id} --json` prints the signed line itself."
    return Answer(rows=entry_rows(entry), after="\n".join([*decisions, signed]))


def receipt_choices(desk: Desk, _: str) -> list[Choice]:
    """Offers the receipts of this conversation, newest first."""
    signed = [(one, one.status.entry) for one in reversed(desk.turns)]
    return [Choice(str(entry.id), receipt_line(one.receipt, one.status)) for one, entry in signed if entry is not None]
