"""What every tool is ("Rules for all tools" in spec/servers.md): names, schemas, annotations, lists and answers.

The tables are in `every_tool`; what tools do with odd arguments is in `test_arguments`.
"""

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import pytest
import pytest_asyncio
from jsonschema import Draft202012Validator
from mcp.types import Tool

from tests.tools_mcp.every_tool import (
    DELETES,
    EXAMPLES,
    NEEDS_THE_NETWORK,
    OVERWRITES,
    READ_ONLY,
    SERVERS,
    Clients,
    arguments_for,
    every_client,
    server_of,
)
from tests.tools_mcp.running import call, text_of
from tools_mcp.registry import SERVERS as TOOL_SERVERS

MOST_CHARACTERS = 4 * 4000
"""Of the tool lists of all servers together: 4,000 tokens at four characters a token."""
MOST_BYTES = 40_000
KEYWORDS = {
    *("$defs", "$ref", "additionalProperties", "anyOf", "const", "default", "description", "enum", "items"),
    *("maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum", "properties", "required", "type"),
}
DOMAINS = {
    **{name: name for name in ("memory", "calendar", "notes", "search")},
    "reports": "report",
    "messages": "message",
}
"""What the names of a server's tools begin with."""
LISTS = {
    "memory": "memory_list",
    "calendar": "calendar_list_events",
    "notes": "notes_list",
    "messages": "message_list",
    "reports": "report_list",
}
IDEMPOTENT = {
    *(READ_ONLY - NEEDS_THE_NETWORK),
    *("memory_remember", "memory_update", "memory_forget", "memory_import"),  # equal memories are one
    *("calendar_delete_event", "notes_delete", "message_discard"),  # what is gone stays so
    *("report_save", "report_render"),  # an id is the hash of scope and text, and a report's page always the same
}
GONE_THE_SECOND_TIME = {"notes_delete"}
"""What says the second time that there is no such thing: nothing more happens."""
every_tool = pytest.mark.parametrize("tool", EXAMPLES)
every_server = pytest.mark.parametrize("server", SERVERS)

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def clients(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Clients]:
    """One client per server; the tests of this module share their home."""
    async with every_client(tmp_path_factory.mktemp("home")) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lists(clients: Clients) -> Mapping[str, list[Tool]]:
    """The tools of each server as they are listed."""
    return {name: await client.list_tools() for name, client in clients.items()}


@pytest_asyncio.fixture(loop_scope="module")
async def published(lists: Mapping[str, list[Tool]], tool: str) -> Tool:
    """The tool as it is listed."""
    return next(found for found in lists[server_of(tool)] if found.name == tool)


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """A schema and every schema inside it."""
    if isinstance(schema, dict):
        yield schema
        for key in ("properties", "$defs"):
            for inside in schema.get(key, {}).values():
                yield from parts(inside)
        for inside in [schema.get("items"), *schema.get("anyOf", ())]:
            yield from parts(inside)


async def test_every_server_is_in_the_table() -> None:
    assert [*SERVERS] == ["memory", *(server.name for server in TOOL_SERVERS)]
    assert {server_of(tool) for tool in EXAMPLES} == {*SERVERS}
    assert EXAMPLES.keys() >= READ_ONLY | DELETES | OVERWRITES | NEEDS_THE_NETWORK


@every_server
async def test_every_tool_of_the_server_is_in_the_table_and_listed_in_the_same_order(
    clients: Clients, lists: Mapping[str, list[Tool]], server: str
) -> None:
    names = [tool.name for tool in lists[server]]

    assert names == [tool.name for tool in await clients[server].list_tools()]
    assert set(names) == {tool for tool in EXAMPLES if server_of(tool) == server}
    assert len(names) == len(set(names))


@every_server
async def test_the_names_are_short_and_start_with_the_servers_domain(
    lists: Mapping[str, list[Tool]], server: str
) -> None:
    for tool in lists[server]:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", tool.name)
        assert tool.name.startswith(f"{DOMAINS[server]}_")
        assert len(server) + len(tool.name) <= 40


@every_tool
async def test_the_annotations_are_true_to_what_it_does(published: Tool, tool: str) -> None:
    annotations = published.annotations

    assert annotations
    assert annotations.read_only_hint is (tool in READ_ONLY)
    assert annotations.open_world_hint is (tool in NEEDS_THE_NETWORK)
    assert annotations.destructive_hint is (tool in DELETES | OVERWRITES)
    assert annotations.idempotent_hint is (tool in IDEMPOTENT)


@pytest.mark.parametrize("tool", sorted(IDEMPOTENT - READ_ONLY))
async def test_what_is_said_to_be_idempotent_does_nothing_more_the_second_time(clients: Clients, tool: str) -> None:
    client, arguments = clients[server_of(tool)], await arguments_for(clients, tool)
    await call(client, tool, **arguments)
    once = await call(client, LISTS[server_of(tool)])
    second = await client.call_tool(tool, arguments, raise_on_error=False)

    assert await call(client, LISTS[server_of(tool)]) == once
    assert second.is_error is (tool in GONE_THE_SECOND_TIME), text_of(second)


@every_tool
async def test_the_schema_is_portable_and_bounded(published: Tool) -> None:
    schema = published.input_schema
    Draft202012Validator.check_schema(schema)

    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert {key for part in parts(schema) for key in part} <= KEYWORDS
    assert not any("anyOf" in part or part.get("type") == "null" for part in parts(schema))
    for name, property_ in schema["properties"].items():
        assert property_.get("enum") or property_["type"] in {"string", "integer", "boolean", "array"}, name
        assert property_.get("enum") or "maxLength" in property_ or property_["type"] != "string", name
        if property_["type"] == "array":
            assert property_["maxItems"] <= 50, name
            assert property_["items"]["type"] == "string", name
            assert property_["items"]["maxLength"], name


@every_tool
async def test_the_answers_schema_is_portable_and_never_wraps_a_bare_value(published: Tool) -> None:
    schema = published.output_schema or {}
    Draft202012Validator.check_schema(schema)

    assert schema["type"] == "object"
    assert "result" not in schema["properties"]
    assert not any("$schema" in part or "nullable" in part or "example" in part for part in parts(schema))


@every_tool
async def test_the_description_is_short_and_gives_no_orders(published: Tool) -> None:
    told = published.description or ""

    assert 10 < len(told) <= 150
    assert told.endswith(".")
    assert "\n" not in told
    assert not re.search(r"\b(must|always|never|you should|important)\b", told.lower())


async def test_all_tool_lists_together_are_cheap_to_read(lists: Mapping[str, list[Tool]]) -> None:
    sizes = {name: sum(map(characters, tools)) for name, tools in lists.items()}

    assert sum(sizes.values()) <= MOST_CHARACTERS, sizes


def characters(tool: Tool) -> int:
    """What a model reads of a tool."""
    shown = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
    return len(json.dumps(shown, separators=(",", ":")))


@every_tool
async def test_an_answer_is_structured_fits_its_schema_and_has_a_short_text(
    clients: Clients, published: Tool, tool: str
) -> None:
    arguments = await arguments_for(clients, tool)
    result = await clients[server_of(tool)].call_tool(tool, arguments, raise_on_error=False)
    answer = result.structured_content

    assert result.is_error is (tool in NEEDS_THE_NETWORK), text_of(result)
    assert isinstance(answer, dict)
    assert None not in answer.values()
    assert text_of(result)
    assert len(json.dumps([answer, text_of(result)], ensure_ascii=False).encode()) < MOST_BYTES
    Draft202012Validator(published.output_schema or {}).validate(answer)
