"""What a tool may do, as a person meets it: asked at a terminal, refused at once where nobody can be asked."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agent_host.mcp_clients.processes import RawServer
from tests.e2e.conftest import Person
from tests.e2e.test_anthropic import ask, stored
from tests.e2e.test_terminal import PROMPT, leave, terminal
from tests.fakes.anthropic_server import KEY, MODEL, Answer, AnthropicServer, anthropic_server, text, tool_use

pytestmark = pytest.mark.slow  # starts many processes

WRITE = Answer([tool_use("toolu_1", "raw_write", {})], stop_reason="tool_use")
DONE = Answer([text("That is done.")])


def with_raw_server(person: Person, folder: Path, **more: object) -> RawServer:
    """Gives the person one third-party server and no built-in one."""
    person.without_tools()
    server = RawServer(folder, (), "raw")
    path = person.home / "mcp.json"
    document = json.loads(path.read_text())
    document["mcpServers"]["raw"] = {"command": sys.executable, "args": list(server.config.args), **more}
    path.write_text(json.dumps(document))
    return server


def traced(person: Person) -> list[dict[str, Any]]:
    """Returns the decisions about calls that were traced."""
    lines = [
        line for file in (person.home / "host" / "traces").rglob("*.jsonl") for line in file.read_text().splitlines()
    ]
    return [row for row in map(json.loads, lines) if row["type"] == "permission"]


async def test_ask_refuses_at_once_what_needs_a_yes_and_names_it(person: Person, tmp_path: Path) -> None:
    raw = with_raw_server(person, tmp_path)
    async with anthropic_server(WRITE, DONE) as server:
        status, document = await ask(person, server, "Write a line.")

    assert status == 0
    assert raw.lines() == 0
    (notice,) = document["notices"]
    assert notice.startswith("write of raw was not called: it needs a yes, and nobody can be asked here")
    assert [row["status"] for row in stored(person, "turns")[0]["tools"]] != ["ok"]
    (decided,) = traced(person)
    assert (decided["tool"], decided["granted"], decided["answer"]) == ("raw_write", False, "unasked")
    (component,) = stored(person, "components")
    assert (component["name"], component["kind"], component["status"]) == ("raw", "tool-manifest", "accepted")


async def test_what_mcp_json_allows_runs_without_a_question(person: Person, tmp_path: Path) -> None:
    raw = with_raw_server(person, tmp_path, permissions={"write": "allow"})
    async with anthropic_server(WRITE, DONE) as server:
        _, document = await ask(person, server, "Write a line.")

    assert (raw.lines(), document["notices"]) == (1, [])


async def test_a_person_at_a_terminal_is_asked_and_an_always_is_kept(person: Person, tmp_path: Path) -> None:
    raw = with_raw_server(person, tmp_path)
    async with anthropic_server(WRITE, DONE, WRITE, DONE, WRITE, DONE) as server:
        await asyncio.to_thread(_no_then_always, with_model(person, server))
        assert raw.lines() == 1
        await asyncio.to_thread(_no_question, with_model(person, server))
    assert raw.lines() == 2
    assert [(row["granted"], row["answer"], row["reason"]) for row in traced(person)] == [
        (False, "no", "write"),
        (True, "always", "write"),
        (True, None, "always"),
    ]


def with_model(person: Person, server: AnthropicServer) -> Person:
    """Writes the model into the home's `.env`, where a terminal's host finds it."""
    settings = {
        "PROVIDER": "anthropic",
        "API_KEY": KEY,
        "BASE_URL": server.url,
        "MODEL": MODEL,
        "RETRIEVAL_GATE": "off",
    }
    lines = [f"PROMETHEUS_{name}={value}" for name, value in settings.items()]
    (person.home / ".env").write_text("\n".join(lines) + "\n")
    return person


def _no_then_always(person: Person) -> None:
    with terminal(person) as child:
        for answer in ("n", "always"):
            child.expect(PROMPT)
            child.sendline("Write a line.")
            child.expect("raw is to run write: Adds a line.")
            child.expect("always >")
            child.sendline(answer)
            child.expect("signed")
        child.expect(PROMPT)
        assert leave(child) == 0


def _no_question(person: Person) -> None:
    with terminal(person) as child:
        child.expect(PROMPT)
        child.sendline("Write a line.")
        assert child.expect(["raw_write ok", "always >"]) == 0
        child.expect("signed")
        child.expect(PROMPT)
        child.sendline("/mcp")
        child.expect("10 tools")
        child.expect(PROMPT)
        assert leave(child) == 0
