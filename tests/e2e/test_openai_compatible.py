"""A turn over chat completions: the real SDK against a local server that speaks them, tools, budget and ledger too."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import BIN, Person
from tests.fakes.openai_server import Answer, OpenAiServer, call, openai_server

pytestmark = pytest.mark.slow  # starts many processes

BROKEN = Answer("", [call("call_1", "memory_remember", '{"body": "Ana')], "tool_calls")
REMEMBER = Answer(
    "Let me keep that.", [call("call_1", "memory_remember", '{"body": "Ana likes green tea."}')], "tool_calls"
)


async def ask(person: Person, server: OpenAiServer, message: str) -> tuple[int, dict[str, Any]]:
    environ = {
        **person.environ,
        "PROMETHEUS_PROVIDER": "openai-compatible",
        "PROMETHEUS_BASE_URL": server.url,
        "PROMETHEUS_MODEL": "qwen3",
        "PROMETHEUS_RETRIEVAL_GATE": "off",
    }
    process = await asyncio.create_subprocess_exec(
        str(BIN / "agent-host"), "ask", message, "--json", stdout=-1, stderr=-1, cwd=person.folder, env=environ
    )
    out, error = await process.communicate()
    assert process.returncode is not None
    assert out, error.decode()
    return process.returncode, json.loads(out)


def stored(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_a_turn_of_a_local_model_mends_a_broken_call_and_leaves_receipt_and_rows(person: Person) -> None:
    async with openai_server(BROKEN, REMEMBER, Answer("Noted: Ana likes green tea.")) as server:
        status, document = await ask(person, server, "Remember that Ana likes green tea.")

    assert status == 0
    assert document["reply"] == "Noted: Ana likes green tea."
    chains = person.home / "receipts" / "chains"
    turn = stored(chains / "turns.jsonl")[0]
    assert turn["memory"]["kept"] == 1
    assert (turn["model"]["id"], turn["model"]["inputTokens"], turn["model"]["outputTokens"]) == ("qwen3", 36, 99)
    assert "no price known" in document["receipt_line"]
    decisions = stored(chains / "decisions.jsonl")
    assert [row["modelIdentity"]["provider"] for row in decisions] == ["openai-compatible"] * 3
    rows = stored(person.home / "host" / "usage.jsonl")
    assert [(row["kind"], row["turn_id"], row["in"], row["out"]) for row in rows] == [
        ("loop", document["turn_id"], 12, 33)
    ] * 3
    assert (await asyncio.to_thread(person.run, "agent-host", "receipts", "verify")).returncode == 0
    told = await asyncio.to_thread(person.run, "agent-host", "cost")
    assert "no price known" in told.stdout.decode()
