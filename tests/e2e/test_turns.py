"""Turns of a real host, real servers and a local model, looked back at and judged from the command line."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.e2e.conftest import BIN, Person
from tests.fakes.openai_server import Answer, OpenAiServer, call, openai_server

pytestmark = pytest.mark.slow  # starts many processes

BOOK = call("c1", "calendar_create_event", '{"title": "Tea", "start": "2026-12-02T15:00:00"}')
WRONG = call("c1", "calendar_update_event", '{"id": "no-such-event", "title": "Tea"}')
MARKS = '{"verdict": "judged", "addresses_question": 9, "grounded": 8, "note": "It says what was done."}'


async def host(person: Person, server: OpenAiServer, *words: str) -> tuple[int, str, str]:
    environ = {
        **person.environ,
        "PROMETHEUS_PROVIDER": "openai-compatible",
        "PROMETHEUS_BASE_URL": server.url,
        "PROMETHEUS_MODEL": "qwen3",
        "PROMETHEUS_RETRIEVAL_GATE": "off",
    }
    process = await asyncio.create_subprocess_exec(
        str(BIN / "agent-host"), *words, stdout=-1, stderr=-1, cwd=person.folder, env=environ
    )
    out, error = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), error.decode()


async def checked(person: Person, server: OpenAiServer) -> list[dict[str, Any]]:
    _, out, _ = await host(person, server, "turns", "--window", "all", "--json")
    turns: list[dict[str, Any]] = json.loads(out)["turns"]
    return turns


async def test_real_turns_are_checked_against_what_their_tools_did(person: Person) -> None:
    script = (
        Answer("", [BOOK], "tool_calls"),
        Answer("Booked Tea. This turn was free."),
        Answer("", [WRONG], "tool_calls"),
        Answer("All done: 11, 22 and 33. This turn cost $3."),
    )
    async with openai_server(*script) as server:
        _, answer, _ = await host(person, server, "ask", "Book tea tomorrow at 3pm", "--json")
        await host(person, server, "ask", "Rename it")
        good, bad = await checked(person, server)
        assert await checked(person, server) == [good, bad]

    values = [{name: one["value"] for name, one in turn["checks"].items()} for turn in (good, bad)]
    assert values[0]["spend_claim"] == 1
    assert (values[1]["spend_claim"], values[1]["errors_handled"]) == (0, 0)
    assert [turn["as_receipted"] for turn in (good, bad)] == [True, True]
    signed = (person.home / "receipts" / "chains" / "turns.jsonl").read_text().splitlines()
    assert [turn["trace_sha256"] for turn in (good, bad)] == [json.loads(line)["traceHash"] for line in signed]
    lines = (person.home / "host" / "traces").glob("*.jsonl")
    rows = [json.loads(line) for path in lines for line in path.read_text().splitlines()]
    receipt = next(row for row in rows if row["type"] == "receipt")
    assert receipt["turn_receipt"] == json.loads(answer)["turn_receipt"]
    assert receipt["entry"]["id"] == json.loads(answer)["receipt"]["id"] == good["entry_id"]


async def test_a_turn_is_judged_once_a_minute_at_a_price_that_is_told_first(person: Person) -> None:
    person.without_tools()
    async with openai_server(Answer("Paris."), Answer(MARKS)) as server:
        _, answer, _ = await host(person, server, "ask", "What is the capital of France?", "--json")
        turn_id = json.loads(answer)["turn_id"]
        unasked = await host(person, server, "judge", turn_id)
        status, out, told = await host(person, server, "judge", turn_id, "--yes", "--json")
        again = await host(person, server, "judge", turn_id, "--yes")
        _, shown, _ = await host(person, server, "turns", turn_id)

    assert (unasked[0], "give --yes" in unasked[2]) == (2, True)
    assert (status, json.loads(out)["score"], json.loads(out)["judge_is_the_agents_model"]) == (0, 0.8, True)
    assert "qwen3 by openai-compatible would judge this turn: about" in told
    assert (again[0], "was judged a moment ago" in again[2]) == (2, True)
    assert "score by judge: turn-judge 0.8" in shown
    rows = [json.loads(line) for line in (person.home / "host" / "usage.jsonl").read_text().splitlines()]
    assert [(row["kind"], row["turn_id"][:2]) for row in rows] == [("loop", "t_"), ("judge", "j_")]
    assert (await asyncio.to_thread(person.run, "agent-host", "receipts", "verify")).returncode == 0


async def test_the_offline_rules_are_no_judge(person: Person) -> None:
    person.without_tools()
    answer = await asyncio.to_thread(person.run, "agent-host", "ask", "Hello", "--json")
    turn_id = json.loads(answer.stdout)["turn_id"]

    refused = await asyncio.to_thread(person.run, "agent-host", "judge", turn_id, "--yes")

    assert (refused.returncode, b"The offline rules are no judge" in refused.stderr) == (2, True)
