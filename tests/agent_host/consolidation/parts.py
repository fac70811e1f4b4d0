"""A home that consolidates: a real chat log and store, a scripted model, an in-memory memory server."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from agent_host.chat_log import ChatLog
from agent_host.consolidation.consolidator import ConsolidationParts, run
from agent_host.consolidation.store import ConsolidationStore
from agent_host.providers.protocol import JsonValue, ModelRequest
from tests.agent_host.constrained.parts import Desk
from tests.fakes.scripted_provider import Line, ScriptedProvider, says
from tests.fakes.toolbox import Arguments, FakeToolBox, ToolFailedError

TURN_ID = "t_01JZ0000000000000000000000"
KEEP_ALL = '{"dropped": []}'


def found(*facts: tuple[str, str], episode: str = "") -> str:
    """Returns what a summariser says."""
    rows = [{"subject": subject, "content": content} for subject, content in facts]
    return json.dumps({"facts": rows, "episode": episode, "company_research": False})


class Memory:
    """A memory server: one row an idempotency key. `away` makes it fail, `left` is how many calls it still takes."""

    def __init__(self) -> None:
        self.rows: dict[str, Arguments] = {}
        self.away = False
        self.left: int | None = None
        self.tools = FakeToolBox({"memory_remember": self.remember})

    def remember(self, arguments: Arguments) -> JsonValue:
        """Stores a memory once."""
        if self.away or self.left == 0:
            raise ToolFailedError("not reachable")
        if self.left is not None:
            self.left -= 1
        key = str(arguments["idempotency_key"])
        deduped = key in self.rows
        self.rows.setdefault(key, arguments)
        return {"memory": {"id": f"mem_{list(self.rows).index(key)}"}, "deduped": deduped}

    @property
    def bodies(self) -> list[str]:
        """What is stored, in order."""
        return [str(row["body"]) for row in self.rows.values()]


class ConsolidatingHome:
    """Everything a consolidation touches, on a real disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.desk = Desk(folder)
        self.chat_log = ChatLog(folder / "sessions.db")
        self.store = ConsolidationStore(folder / "sessions.db")
        self.memory = Memory()
        self.provider = ScriptedProvider()
        self._turns = 0

    def talk(self, exchanges: int, **meta: JsonValue) -> None:
        """Adds exchanges to the log."""
        for _ in range(exchanges):
            self._turns += 1
            pair = (f"message {self._turns}", f"reply {self._turns}")
            self.chat_log.store("s_1", f"t_{self._turns}", "cli", pair, at_ms=1_764_500_000_000, meta=meta)

    def parts(self, *lines: str | Line | Callable[[ModelRequest], Line], every: int = 3) -> ConsolidationParts:
        """Returns what a run works with, for a model that says these lines."""
        self.provider = ScriptedProvider(*(says(line) if isinstance(line, str) else line for line in lines))
        return ConsolidationParts(
            store=self.store,
            tools=self.memory.tools,
            provider=self.provider,
            calls=self.desk.options(None),
            every=every,
            traces=self.folder,
            now=lambda: datetime(2026, 11, 30, 12, tzinfo=UTC),
        )

    async def run(self, *lines: str | Line | Callable[[ModelRequest], Line]) -> list[dict[str, JsonValue]]:
        """Runs once and returns the `consolidation` lines of the trace so far."""
        await run(self.parts(*lines), TURN_ID)
        return [row for row in self.trace() if row["type"] == "consolidation"]

    def trace(self) -> list[dict[str, JsonValue]]:
        """Returns the trace's lines."""
        path = self.folder / "2026-11-30.jsonl"
        return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []

    def close(self) -> None:
        """Closes the files."""
        self.chat_log.close()
        self.store.close()
        self.desk.close()
