"""The trace line of a tool call, version 2."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_host.mcp_clients.protocol import ToolOutcome
from agent_host.providers.protocol import JsonValue
from agent_host.tracing.events import ToolCalled
from agent_host.tracing.tool_lines import ERROR_LIMIT, IDS_LIMIT, OUTPUT_LIMIT, tool_members

SECRET = "sk-abcdefghijklmnop1234"


def members(  # a call to a server of somebody else, unless told otherwise
    structured: JsonValue = None,
    content: str = "text",
    *,
    tool: str = "find",
    server: str = "market",
    failed: bool = False,
    read_first: bool = False,
) -> dict[str, Any]:
    text = content if structured is None else json.dumps(structured)
    outcome = ToolOutcome(server, tool, text, structured, is_error=failed, duration_ms=3)
    return tool_members(ToolCalled("use-1", f"{server}_{tool}", {"query": "x"}, outcome, read_first=read_first))


def test_a_priced_call_says_what_it_cost_and_where_it_went() -> None:
    told = members({"cost_usd": 0.0101, "endpoint_id": "quotes:v2", "provider": "Acme Data", "status": 200})

    assert (told["cost_micro_usd"], told["endpoint_id"], told["provider"]) == (10_100, "quotes:v2", "Acme Data")
    assert told["ok"] is True


@pytest.mark.parametrize("name", ["endpoint_id", "endpoint"])
def test_an_endpoint_goes_by_either_name(name: str) -> None:
    assert members({name: "a.b:c"})["endpoint_id"] == "a.b:c"


@pytest.mark.parametrize("cost", [-1, "0.01", True, None, float("nan"), float("inf"), 10**9])
def test_what_is_no_price_is_none(cost: JsonValue) -> None:
    assert "cost_micro_usd" not in members({"cost_usd": cost})


@pytest.mark.parametrize("provider", ["has\nbreak", "-dash", "x" * 25, 7, "<b>"])
def test_a_provider_that_is_no_name_is_left_out(provider: JsonValue) -> None:
    assert "provider" not in members({"provider": provider, "endpoint_id": "a b"})


def test_a_secret_in_the_place_of_a_name_is_hidden() -> None:
    told = json.dumps(members({"provider": SECRET, "endpoint_id": SECRET}))

    assert SECRET not in told


@pytest.mark.parametrize("text", ['{"cost_usd": 0.5}', '  {"cost_usd": 0.5, "rows": []}'])
def test_a_price_counts_in_json_that_came_as_text_too(text: str) -> None:
    assert members(content=text)["cost_micro_usd"] == 500_000
    assert members({"result": text})["cost_micro_usd"] == 500_000


def test_a_status_of_400_or_more_is_a_failure_and_the_word_failed_is_none() -> None:
    refused = members({"status": 402, "message": "No credit left."})

    assert (refused["ok"], refused["error"]) == (False, "No credit left.")
    assert members({"note": "He failed the exam; error, error."})["ok"] is True
    assert members({"status": True})["ok"] is True


def test_a_failed_call_says_why_in_few_characters_and_without_secrets() -> None:
    told = members(content=f"{SECRET} is wrong " * 50, failed=True)

    assert told["ok"] is False
    assert len(told["error"]) == ERROR_LIMIT
    assert SECRET not in json.dumps(told)
    assert "error" not in members()


def test_a_cut_output_says_how_long_it_was() -> None:
    told = members(content="z" * (OUTPUT_LIMIT + 5))

    assert (len(told["output"]), told["output_chars"]) == (OUTPUT_LIMIT, OUTPUT_LIMIT + 5)
    assert "output_chars" not in members(content="z" * OUTPUT_LIMIT)


@pytest.mark.parametrize(
    ("server", "source", "kind"),
    [
        ("memory", "memory", "datastore"),
        ("market", "mcp:market", "extension"),
        ("", "local", "function"),
        ("local", "local", "function"),
    ],
)
def test_a_line_says_who_answered_and_what_kind_of_tool_that_is(server: str, source: str, kind: str) -> None:
    told = members(server=server)

    assert (told["source"], told["gen_ai.tool.type"], told["gen_ai.tool.call.id"]) == (source, kind, "use-1")


@pytest.mark.parametrize(
    ("tool", "operation"),
    [("memory_search", "search_memory"), ("memory_remember", "create_memory"), ("find", "execute_tool")],
)
def test_a_line_names_its_operation_as_opentelemetry_does(tool: str, operation: str) -> None:
    assert members(tool=tool)["gen_ai.operation.name"] == operation


def test_a_search_names_at_most_twenty_memories_and_counts_them_all() -> None:
    told = members({"entries": [{"id": f"mem_{n}"} for n in range(30)]}, tool="memory_search", server="memory")

    assert (told["results"], len(told["memory_ids"]), told["memory_ids"][0]) == (30, IDS_LIMIT, "mem_0")


def test_a_write_names_the_memory_it_left() -> None:
    told = members({"memory": {"id": "mem_9"}, "deduped": False}, tool="memory_remember", server="memory")

    assert told["memory_ids"] == ["mem_9"]
    assert members({"memory": "odd"}, tool="memory_remember")["memory_ids"] == []


def test_a_search_made_before_the_first_model_call_says_so() -> None:
    assert members(read_first=True)["read_first"] is True
    assert "read_first" not in members()


@pytest.mark.parametrize(
    "content",
    ['{"password": "hunter22"}', '[{"headers": {"X-Api-Key": "hunter22"}}]', "GET /v1?api_key=hunter22&q=a"],
)
def test_secrets_in_text_that_has_structure_are_hidden(content: str) -> None:
    assert "hunter22" not in members(content=content)["output"]
    assert "hunter22" not in members({"result": content})["output"]


def test_a_result_that_is_absurdly_deep_is_traced_all_the_same() -> None:
    deep = "[" * 900 + "]" * 900

    assert members(content=deep)["ok"] is True
    assert members({"result": deep})["ok"] is True
