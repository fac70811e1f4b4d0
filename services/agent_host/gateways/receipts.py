"""`agent-host receipts list|show`: the ledger of this home, read through its writer."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from agent_host.app import open_writer
from agent_host.errors import UsageError
from agent_host.gateways.screen import printable, table
from agent_host.receipts.client import DECISIONS, TURNS, ReceiptClient
from agent_host.receipts.line import dollars, tokens
from agent_host.receipts.protocol import StoredEntry
from service_runtime.settings import Settings


async def list_receipts(settings: Settings, environ: Mapping[str, str], *, limit: int, as_json: bool) -> int:
    """Prints the newest receipts, one a line.

    Raises:
        WriterUnavailableError: no writer runs and none can be started.
    """
    async with _client(settings, environ) as client:
        entries = [entry async for entry in client.entries(TURNS, newest_first=True, limit=limit)]
    if as_json:
        sys.stdout.write(json.dumps([json.loads(entry.line) for entry in entries], ensure_ascii=False) + "\n")
    elif not entries:
        sys.stdout.write("There are no receipts yet.\n")
    for entry in entries if not as_json else ():
        sys.stdout.write(_summary(entry) + "\n")
    return 0


async def show_receipt(settings: Settings, environ: Mapping[str, str], wanted: str, *, as_json: bool) -> int:
    """Prints one receipt and the model calls under it; `wanted` is its number or its turn id.

    Raises:
        UsageError: there is no such receipt.
        WriterUnavailableError: no writer runs and none can be started.
    """
    async with _client(settings, environ) as client:
        entry = await _find(client, wanted)
        turn_id = json.loads(entry.line)["turnId"]
        decisions = [decision async for decision in client.entries(DECISIONS, turn_id=turn_id)]
    if as_json:
        document = {"turn": json.loads(entry.line), "decisions": [json.loads(row.line) for row in decisions]}
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
        return 0
    sys.stdout.write(_details(entry) + "\n")
    for decision in decisions:
        sys.stdout.write(_decision(decision) + "\n")
    return 0


@asynccontextmanager
async def _client(settings: Settings, environ: Mapping[str, str]) -> AsyncIterator[ReceiptClient]:
    async with AsyncExitStack() as resources:
        link = open_writer(settings, environ, resources)
        await link.connect()
        yield link.client


async def _find(client: ReceiptClient, wanted: str) -> StoredEntry:
    if wanted.isascii() and wanted.isdigit() and 0 < int(wanted) < 2**53:
        entry = await client.entry(TURNS, int(wanted))
    else:
        found = [entry async for entry in client.entries(TURNS, turn_id=wanted, limit=1)]
        entry = found[0] if found else None
    if entry is None:
        raise UsageError(f"There is no receipt {wanted[:40]!r}; `agent-host receipts list` shows those there are.")
    return entry


def _summary(entry: StoredEntry) -> str:
    body = json.loads(entry.line)
    tools = ", ".join(f"{row['tool']}*{row['n']}" for row in body["tools"]) or "no tools"
    parts = (f"#{entry.id}", body["recordedAtIso"], body["outcome"], tools, body["turnId"])
    return printable("  ".join(parts))


def _details(entry: StoredEntry) -> str:
    body: dict[str, Any] = json.loads(entry.line)
    model = body["model"]
    price = dollars(model["costMicroUsd"]) + (" est" if model["estimated"] else "")
    memory = body["memory"]
    rows = [
        ("receipt", f"{entry.id}"),
        ("recorded", body["recordedAtIso"]),
        ("turn", body["turnId"]),
        ("session", body["sessionId"]),
        ("gateway", body["gateway"]),
        ("outcome", f"{body['outcome']}, model calls: {body['iterations']}"),
        ("model", f"{model['id']}: {tokens(model['inputTokens'])} in, {tokens(model['outputTokens'])} out, {price}"),
        *(("tool", f"{row['tool']} ({row['provider']}): {row['n']} {row['status']}") for row in body["tools"]),
        ("memory", f"{memory['searches']} searches, {memory['used']} used, {memory['kept']} kept"),
        ("total", dollars(body["totalMicroUsd"])),
        ("input hash", f"{body['inputHash']} ({body['commitment']})"),
        ("reply hash", body["replyHash"]),
        ("trace hash", body["traceHash"]),
        ("previous", body["prevHash"]),
        ("hash", entry.hash),
        ("signed by", body["attestation"]["publicKey"]),
    ]
    return printable(table(rows))


def _decision(entry: StoredEntry) -> str:
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
