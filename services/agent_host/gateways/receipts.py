"""`agent-host receipts list|show`: the ledger of this home, read through its writer."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from agent_host.app import open_writer
from agent_host.errors import UsageError
from agent_host.gateways.receipt_rows import decision_line, entry_rows
from agent_host.gateways.screen import printable, table
from agent_host.receipts.client import DECISIONS, TURNS, ReceiptClient
from agent_host.receipts.protocol import LedgerReader, StoredEntry
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
        entry = await find_receipt(client, wanted)
        turn_id = json.loads(entry.line)["turnId"]
        decisions = [decision async for decision in client.entries(DECISIONS, turn_id=turn_id)]
    if as_json:
        document = {"turn": json.loads(entry.line), "decisions": [json.loads(row.line) for row in decisions]}
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
        return 0
    sys.stdout.write(printable(table(entry_rows(entry))) + "\n")
    for decision in decisions:
        sys.stdout.write(decision_line(decision) + "\n")
    return 0


@asynccontextmanager
async def _client(settings: Settings, environ: Mapping[str, str]) -> AsyncIterator[ReceiptClient]:
    async with AsyncExitStack() as resources:
        link = open_writer(settings, environ, resources)
        await link.connect()
        yield link.client


async def find_receipt(client: LedgerReader, wanted: str) -> StoredEntry:
    """Returns a receipt by its number or its turn id.

    Raises:
        UsageError: there is no such receipt.
        WriterUnavailableError: the writer does not answer.
    """
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
