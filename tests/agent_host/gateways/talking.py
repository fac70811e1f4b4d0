"""A conversation for tests: prepared messages, a host that answers with what it hears, and what was shown."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

from agent_host.chat_log import Found, SessionSummary
from agent_host.gates.hits import Hit
from agent_host.gateways.commands.command import Desk
from agent_host.gateways.conversation import converse
from agent_host.gateways.plain_screen import PlainScreen
from agent_host.gateways.readers import PromptInterruptedError
from agent_host.memory_overview import MemoryOverview
from agent_host.providers.protocol import Identity
from agent_host.receipts.protocol import LedgerReader, ReceiptStatus, StoredEntry
from agent_host.tracing.events import Emit
from agent_host.turn import TurnResult
from service_runtime.settings import load_settings
from tests.agent_host.receipts.test_spool import RECEIPT

LINE = {
    "turnId": "t_4",
    "sessionId": "s_now",
    "recordedAtIso": "2026-12-01T09:00:00.000Z",
    "gateway": "cli",
    "outcome": "replied",
    "iterations": 1,
    "model": {"id": "offline-rules", "costMicroUsd": 0, "estimated": False, "inputTokens": 12, "outputTokens": 3},
    "tools": [{"tool": "notes_write", "provider": "notes", "n": 1, "status": "ok"}],
    "memory": {"searches": 0, "used": 0, "kept": 0},
    "totalMicroUsd": 0,
    "inputHash": "b" * 64,
    "commitment": "hmac-sha256",
    "replyHash": "c" * 64,
    "traceHash": "d" * 64,
    "prevHash": "e" * 64,
    "attestation": {"publicKey": "f" * 64},
}
ENTRY = StoredEntry(4, "a" * 64, 0, json.dumps(LINE))


class Entries:
    """A ledger of one receipt, number 4."""

    def __init__(self, entry: StoredEntry) -> None:
        self._entry = entry

    async def entry(self, chain: str, entry_id: int) -> StoredEntry | None:
        return self._entry if (chain, entry_id) == ("turns", self._entry.id) else None

    async def entries(
        self, chain: str, *, turn_id: str = "", newest_first: bool = False, limit: int = 0
    ) -> AsyncIterator[StoredEntry]:
        del newest_first, limit
        if chain == "turns" and turn_id == LINE["turnId"]:
            yield self._entry


class Typed:
    """A reader of prepared messages; `None` is the end of input, "^C" is Ctrl-C at the prompt."""

    def __init__(self, *messages: str | bytes | None) -> None:
        self._messages = list(messages)

    async def read(self) -> str | bytes | None:
        message = self._messages.pop(0)
        if message == "^C":
            raise PromptInterruptedError
        return message


class EchoHost:
    """Answers with the message; "wait" waits until it is cancelled, "disk" finds the disk full."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.resumed: list[str] = []
        self.waiting = asyncio.Event()
        self.rows: list[tuple[str, str]] = []
        self.who = Identity("anthropic", "claude-opus-5-5", "claude-opus-5-5")
        self.entries = Entries(ENTRY)

    async def turn(self, text: str, watch: Emit) -> TurnResult:
        del watch
        self.heard.append(text)
        if text == "disk":
            raise OSError(28, "No space left on device")
        if text != "wait":
            return TurnResult(text, "replied", RECEIPT, ReceiptStatus(ENTRY, 0))
        self.waiting.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return TurnResult("Cancelled.", "cancelled", replace(RECEIPT, outcome="cancelled"), ReceiptStatus(ENTRY, 0))
        raise AssertionError

    async def tools(self) -> tuple[tuple[str, str], ...]:
        return (("memory_search", "Finds memories."), ("notes_write", "Writes a note."))

    @property
    def session_id(self) -> str:
        return "s_now"

    def search(self, words: str, limit: int) -> list[Found]:
        del limit
        return [Found("s_2", "user", f"we spoke of {words}", 0)] if "tea" in words else []

    def said(self, session_id: str) -> list[tuple[str, str]]:
        del session_id
        return self.rows

    async def model(self) -> Identity:
        return self.who

    async def use_model(self, name: str) -> Identity:
        self.who = Identity("anthropic", name, name)
        return self.who

    async def ledger(self) -> LedgerReader:
        return self.entries

    def sessions(self, limit: int) -> list[SessionSummary]:
        known = [SessionSummary(f"s_{number}", f"About {number}", "cli", number, 0) for number in (3, 2, 1)]
        return known[:limit] if limit >= 0 else known

    def resume(self, session_id: str) -> None:
        self.resumed.append(session_id)

    async def memory(self) -> MemoryOverview:
        fact = Hit("mem_1", "fact", "Ana likes tea.", "2026-11-03", "x", untrusted=True, score=None)
        return MemoryOverview((fact,), (), 4)


def desk_of(host: EchoHost, home: Path) -> Desk:
    return Desk(host, load_settings({"PROMETHEUS_HOME": str(home), "PROMETHEUS_TIMEZONE": "Asia/Kolkata"}, home), {})


async def talk(
    *messages: str | bytes | None, host: EchoHost | None = None, home: Path | None = None
) -> tuple[EchoHost, str]:
    """Talks to the end and returns the host and what was shown; without a home there is none to be read."""
    out = io.StringIO()
    host = host or EchoHost()
    async with asyncio.timeout(5):
        await converse(desk_of(host, home or Path("/nowhere")), Typed(*messages), PlainScreen(out, live=False))
    return host, out.getvalue()
