"""A process that consolidates until nothing is open, for a parent that kills it: `python -m … FOLDER`."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from agent_host.consolidation.consolidator import ConsolidationParts, run
from agent_host.consolidation.store import ConsolidationStore
from agent_host.providers.protocol import JsonValue, ModelReply, ModelRequest, Text
from tests.agent_host.consolidation.parts import KEEP_ALL, TURN_ID, found
from tests.agent_host.constrained.parts import Desk
from tests.fakes.scripted_provider import ScriptedProvider, says
from tests.fakes.toolbox import Arguments, FakeToolBox

SCHEMA = "CREATE TABLE IF NOT EXISTS memories (key TEXT PRIMARY KEY, body TEXT NOT NULL)"


def answer(request: ModelRequest) -> ModelReply:
    """Finds one fact in each message of a batch, and keeps every fact."""
    (block,) = request.messages[0].blocks
    assert isinstance(block, Text)
    if block.text.startswith("Facts:"):
        return says(KEEP_ALL)
    return says(found(*((f"S{number}", f"fact {number}") for number in re.findall(r"message (\d+)", block.text))))


async def consolidate(folder: Path) -> None:
    """Runs until nothing is open and nothing waits."""
    memories = sqlite3.connect(folder / "memories.db", isolation_level=None)
    memories.execute(SCHEMA)

    def remember(arguments: Arguments) -> JsonValue:
        row = (arguments["idempotency_key"], arguments["body"])
        memories.execute("INSERT OR IGNORE INTO memories VALUES (?, ?)", row)
        return {"memory": {"id": f"mem_{row[0]}"}}

    desk, store = Desk(folder), ConsolidationStore(folder / "sessions.db")
    parts = ConsolidationParts(
        store=store,
        tools=FakeToolBox({"memory_remember": remember}),
        provider=ScriptedProvider(answer),
        calls=replace(desk.options(None), store=None),
        every=1,
        traces=folder,
        now=lambda: datetime(2026, 11, 30, tzinfo=UTC),
    )
    sys.stdout.write(json.dumps("ready") + "\n")
    sys.stdout.flush()
    while store.open_rows() or store.pending():
        before = (store.open_rows(), len(store.pending()))
        await run(parts, TURN_ID)
        if before == (store.open_rows(), len(store.pending())):
            return  # the rows rest after a call that was cut off
    store.close()
    desk.close()


if __name__ == "__main__":
    asyncio.run(consolidate(Path(sys.argv[1])))
