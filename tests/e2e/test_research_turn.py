"""The whole scripted turn of agent.md section 7, twice over: gate, read-first, search, report, consolidation.

Every process is the real one; the model and the search engine are local servers. What the turns left is read back from
the trace, the usage ledger, the receipts, and the memory's own answers.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from tests.e2e.conftest import Person
from tests.fakes.anthropic_server import KEY, MODEL, Answer, anthropic_server, text, tool_use
from tests.fakes.search_server import SearchServer, search_server

pytestmark = pytest.mark.slow  # starts many processes

MARKER = "<!-- prometheus-report v1 -->"
PAGE = "https://example.org/zep"
LOOK = Answer([tool_use("toolu_1", "search_web", {"query": "zep"})], stop_reason="tool_use")
HITS = {
    "query": "zep",
    "results": [{"title": "Zep", "url": PAGE, "content": f"{MARKER} Zep raised $2.3M", "engine": "x"}],
}
FACTS = {
    "facts": [{"subject": "Ana", "content": "Ana asks about memory layers."}],
    "episode": "",
    "company_research": False,
}
SMALL = {
    "You decide whether a personal assistant": {"decision": "retrieve", "query": "Zep", "reason": "names a company"},
    "title and summary of a research report": {"company_research": True},
    "numbered facts that a personal assistant": {"dropped": []},
}


def report(number: int) -> str:
    source = json.dumps([{"title": "Zep", "url": PAGE, "via": "search:search_web"}])
    return (
        f"Zep raised money.\n\n{MARKER}\n# Zep, look {number}\n## Summary\n- Zep raised $2.3M in 2023.\n"
        f"## Sources\n```prometheus-sources\n{source}\n```"
    )


class Model:
    """Answers each kind of call; a research turn is one search and one report, each with another title."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def __call__(self, body: Mapping[str, Any]) -> Answer:
        system = json.dumps(body["system"])
        small = next((value for words, value in SMALL.items() if words in system), None)
        if small is None and not body.get("tools"):
            small = FACTS
        if small is not None:
            return Answer([text(json.dumps(small))])
        if isinstance(body["messages"][-1]["content"], list) and "tool_result" in json.dumps(body["messages"][-1]):
            return Answer([text(report(len(self.prompts)))])
        self.prompts.append("\n".join(block["text"] for block in body["system"]))
        return LOOK


async def talk(person: Person, *messages: str) -> tuple[str, Model]:
    model = Model()
    with search_server() as web:
        answer(web)
        async with anthropic_server(model) as server:
            shown = await asyncio.to_thread(
                person.chat,
                *messages,
                PROMETHEUS_PROVIDER="anthropic",
                PROMETHEUS_API_KEY=KEY,
                PROMETHEUS_BASE_URL=server.url,
                PROMETHEUS_MODEL=MODEL,
                PROMETHEUS_SEARXNG_URL=web.url,
                PROMETHEUS_CONSOLIDATE_EVERY="1",
            )
    return shown, model


def answer(web: SearchServer) -> None:
    web.body = json.dumps(HITS).encode()
    web.headers = {"Content-Type": "application/json"}


def rows(person: Person, pattern: str) -> list[dict[str, Any]]:
    (path,) = (person.home / "host").glob(pattern)
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_a_research_turn_is_gated_read_first_searched_saved_and_consolidated(person: Person) -> None:
    shown, model = await talk(person, "Research Zep", "Research Zep")

    assert shown.count("Report saved: Zep, look 1.") == shown.count("Report saved: Zep, look 2.") == 1
    assert MARKER not in shown
    assert "nobody can be asked" not in shown

    trace = rows(person, "traces/*.jsonl")
    first, second = [row["turn_id"] for row in trace if row["type"] == "turn_start"]
    told = [row for row in trace if row["turn_id"] == first]
    ended = [row["type"] for row in told].index("turn_end")
    tools = [(row["tool"], row["ok"], bool(row.get("read_first"))) for row in told[:ended] if row["type"] == "tool"]
    assert tools == [
        ("memory_search", True, False),
        ("memory_search", True, True),
        ("memory_search", True, True),
        ("search_web", True, False),
        ("memory_remember", True, False),
        ("report_save", True, False),
    ]
    granted = {row["tool"]: row["reason"] for row in told if row["type"] == "permission"}
    assert (granted["memory_remember"], granted["report_save"]) == ("by_host", "by_host")
    assert [row["scope"] for row in told if row["type"] == "report"] == ["project:Company brain"]
    assert [row["exchanges"] for row in told if row["type"] == "consolidation"] == [1]

    usage = [row for row in rows(person, "usage.jsonl") if row["turn_id"] == first]
    assert Counter(row["kind"] for row in usage) == {"gate": 2, "loop": 2, "report": 1, "consolidation": 1}
    assert all(row["turn_id"] in {first, second} for row in rows(person, "usage.jsonl"))

    assert "already knows" not in model.prompts[0]
    assert "report, from prometheus, untrusted" in model.prompts[1]
    assert model.prompts[1].count("Zep, look 1") == 1
    verified = await asyncio.to_thread(person.run, "agent-host", "receipts", "verify")
    assert verified.returncode == 0, verified.stdout


async def test_ask_saves_the_report_it_searched_for_and_tells_what_it_used(person: Person) -> None:
    await talk(person, "Research Zep")
    model = Model()
    with search_server() as web:
        answer(web)
        async with anthropic_server(model) as server:
            done = await asyncio.to_thread(
                person.run,
                *("agent-host", "ask", "--json", "Research Zep"),
                PROMETHEUS_PROVIDER="anthropic",
                PROMETHEUS_API_KEY=KEY,
                PROMETHEUS_BASE_URL=server.url,
                PROMETHEUS_MODEL=MODEL,
                PROMETHEUS_SEARXNG_URL=web.url,
            )
    document = json.loads(done.stdout)

    assert document["reply"].endswith("Report saved: Zep, look 1.")
    assert [entry["title"] for entry in document["used"] if entry["report"]] == ["Zep, look 1"]
    assert [row["tool"] for row in document["tools"]][-2:] == ["memory_remember", "report_save"]
