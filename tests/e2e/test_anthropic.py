"""A turn with a real model's wire format: the real SDK against a local server that speaks it, tools and all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import BIN, Person
from tests.fakes.anthropic_server import (
    KEY,
    MODEL,
    Answer,
    AnthropicServer,
    Failure,
    Step,
    anthropic_server,
    text,
    tool_use,
)

pytestmark = pytest.mark.slow  # starts many processes

REMEMBER = Answer(
    [text("Let me keep that."), tool_use("toolu_1", "memory_remember", {"body": "Ana likes green tea."})],
    stop_reason="tool_use",
    usage={
        "input_tokens": 12,
        "output_tokens": 33,
        "cache_read_input_tokens": 2000,
        "cache_creation_input_tokens": 100,
    },
)


async def ask(person: Person, server: AnthropicServer, message: str, **settings: str) -> tuple[int, dict[str, Any]]:
    environ = {
        **person.environ,
        "PROMETHEUS_PROVIDER": "anthropic",
        "PROMETHEUS_API_KEY": KEY,
        "PROMETHEUS_BASE_URL": server.url,
        "PROMETHEUS_MODEL": MODEL,
        "PROMETHEUS_RETRIEVAL_GATE": "off",
        **settings,
    }
    process = await asyncio.create_subprocess_exec(
        str(BIN / "agent-host"), "ask", message, "--json", stdout=-1, stderr=-1, cwd=person.folder, env=environ
    )
    out, error = await process.communicate()
    assert process.returncode is not None
    assert out, error.decode()
    return process.returncode, json.loads(out)


def stored(person: Person, chain: str) -> list[dict[str, Any]]:
    path: Path = person.home / "receipts" / "chains" / f"{chain}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_a_model_turn_calls_real_tools_and_its_receipt_states_tokens_and_money(person: Person) -> None:
    async with anthropic_server(REMEMBER, Answer([text("Noted: Ana likes green tea.")])) as server:
        status, document = await ask(person, server, "Remember that Ana likes green tea.")

    assert status == 0
    assert document["reply"] == "Noted: Ana likes green tea."
    turn = stored(person, "turns")[0]
    assert [(row["tool"], row["status"]) for row in turn["tools"]] == [("memory_remember", "ok")]
    assert turn["memory"]["kept"] == 1
    model = turn["model"]
    assert (model["id"], model["inputTokens"], model["outputTokens"]) == (MODEL, 24, 66)
    assert (model["cacheReadTokens"], model["cacheWriteTokens"], model["estimated"]) == (2000, 100, True)
    assert [row["modelIdentity"]["provider"] for row in stored(person, "decisions")] == ["anthropic", "anthropic"]
    assert (await asyncio.to_thread(person.run, "agent-host", "receipts", "verify")).returncode == 0


async def test_a_refused_key_is_a_failed_turn_with_a_receipt_and_never_shows_the_key(person: Person) -> None:
    async with anthropic_server(Failure(401, "authentication_error", "invalid x-api-key")) as server:
        status, document = await ask(person, server, "hello")

    assert status == 1
    assert document["outcome"] == "failed"
    assert "PROMETHEUS_API_KEY" in document["reply"]
    assert KEY not in json.dumps(document)
    assert [turn["outcome"] for turn in stored(person, "turns")] == ["failed"]
    assert [row["exitState"] for row in stored(person, "decisions")] == ["fallback_provider"]


async def test_what_the_model_is_sent_holds_tools_time_and_message(person: Person) -> None:
    async with anthropic_server(Answer([text("hi")])) as server:
        await ask(person, server, "hello there")
        body = server.requests[0].body

    assert {"memory_remember", "calendar_create_event", "notes_write", "search_web"} <= {
        tool["name"] for tool in body["tools"]
    }
    assert "Europe/Berlin" in json.dumps(body["system"])
    assert "hello there" in json.dumps(body["messages"])


def remembering_model(body: Mapping[str, Any]) -> Step:
    """A model that knows what it is asked: the gate, the reply, the summariser or the keep gate."""
    system = json.dumps(body["system"])
    if "note what will still matter" in system:
        fact = {"subject": "Ana", "content": "Ana plays the cello."}
        return Answer([text(json.dumps({"facts": [fact], "episode": "", "company_research": False}))])
    if "numbered facts" in system:
        return Answer([text('{"dropped": []}')])
    if "decide whether a personal assistant should search" in system:
        return Answer([text('{"decision": "retrieve", "query": "Ana", "reason": "a person"}')])
    return Answer([text("I see.")])


async def test_what_was_said_is_consolidated_after_the_reply_and_stands_in_a_later_prompt(person: Person) -> None:
    gated = {"PROMETHEUS_RETRIEVAL_GATE": "model", "PROMETHEUS_CONSOLIDATE_EVERY": "1"}
    async with anthropic_server(remembering_model) as server:
        await ask(person, server, "My sister Ana plays the cello.", **gated)
        await ask(person, server, "What does Ana play?", **gated)
        systems = [json.dumps(seen.body["system"]) for seen in server.requests]

    (later,) = (system for system in systems if "What is remembered" in system)
    assert "from prometheus] Ana plays the cello." in later
    first, second = stored(person, "turns")
    assert [row["kind"] for row in first["model"]["calls"]] == ["gate", "loop"]
    assert (second["memory"]["searches"], second["memory"]["used"]) == (1, 1)
    assert {row["specId"] for row in stored(person, "decisions")} >= {"retrieval-gate", "consolidation", "keep-gate"}
    assert (await asyncio.to_thread(person.run, "agent-host", "receipts", "verify")).returncode == 0
    listed = await asyncio.to_thread(person.run, "agent-host", "sessions", "list")
    assert listed.stdout.count(b"1 turn") == 2
