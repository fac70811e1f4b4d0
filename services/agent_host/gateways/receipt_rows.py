"""A receipt as a table for people. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agent_host.gateways.screen import Rows, printable
from agent_host.receipts.line import dollars, price, tokens

if TYPE_CHECKING:
    from agent_host.receipts.drafts import TurnReceipt
    from agent_host.receipts.protocol import StoredEntry


def entry_rows(entry: StoredEntry) -> Rows:
    """Returns a signed receipt as a table."""
    body: dict[str, Any] = json.loads(entry.line)
    model = body["model"]
    cost = dollars(model["costMicroUsd"]) + (" est" if model["estimated"] else "")
    memory = body["memory"]
    return [
        ("receipt", f"{entry.id}"),
        ("recorded", body["recordedAtIso"]),
        ("turn", body["turnId"]),
        ("session", body["sessionId"]),
        ("gateway", body["gateway"]),
        ("outcome", f"{body['outcome']}, model calls: {body['iterations']}"),
        ("model", f"{model['id']}: {tokens(model['inputTokens'])} in, {tokens(model['outputTokens'])} out, {cost}"),
        *(
            ("tool", _tool(row["tool"], row["provider"], row["n"], row["status"], row.get("costMicroUsd")))
            for row in body["tools"]
        ),
        ("memory", f"{memory['searches']} searches, {memory['used']} used, {memory['kept']} kept"),
        ("total", dollars(body["totalMicroUsd"])),
        ("input hash", f"{body['inputHash']} ({body['commitment']})"),
        ("reply hash", body["replyHash"]),
        ("trace hash", body["traceHash"]),
        ("previous", body["prevHash"]),
        ("hash", entry.hash),
        ("signed by", body["attestation"]["publicKey"]),
    ]


def draft_rows(receipt: TurnReceipt) -> Rows:
    """Returns a receipt that is not signed as a table, in the words of a signed one."""
    model, memory = receipt.model, receipt.memory
    return [
        ("turn", receipt.turn_id),
        ("session", receipt.session_id),
        ("gateway", receipt.gateway),
        ("outcome", f"{receipt.outcome}, model calls: {receipt.iterations}"),
        ("model", f"{model.id}: {tokens(model.input_tokens)} in, {tokens(model.output_tokens)} out, {price(model)}"),
        *(("tool", _tool(row.tool, row.provider, row.n, row.status, row.cost_micro_usd)) for row in receipt.tools),
        ("memory", f"{memory.searches} searches, {memory.used} used, {memory.kept} kept"),
        ("total", dollars(receipt.total_micro_usd)),
        ("input hash", f"{receipt.input_hash} ({receipt.commitment})"),
        ("reply hash", receipt.reply_hash),
        ("trace hash", receipt.trace_hash),
    ]


def _tool(tool: str, server: str, n: int, status: str, micro_usd: int | None) -> str:
    """Returns the calls of one tool; what they said they charged, if they did."""
    charged = "" if micro_usd is None else f", {dollars(micro_usd)}"
    return f"{tool} ({server}): {n} {status}{charged}"


def decision_line(entry: StoredEntry) -> str:
    """Returns one model call of a turn as a line that is safe to show."""
    body = json.loads(entry.line)
    identity = body["modelIdentity"]
    parts = (
        f"decision {entry.id}",
        body["specId"],
        f"{identity['provider']}/{identity['model']}",
        body["exitState"],
        f"{body['latencyMs']} ms",
        body["callId"],
    )
    return printable("  ".join(parts))
