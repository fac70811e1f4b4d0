"""The rules every tool keeps ("Rules for all tools" in spec/servers.md), checked on every tool of every server."""

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest
import pytest_asyncio
from fastmcp import Client
from mcp.types import Tool

from tests.tools_mcp.reports.samples import report
from tests.tools_mcp.running import call, here, refused, text_of

SERVERS = ("calendar", "notes", "search", "messages", "reports")
EXAMPLES: dict[str, dict[str, Any]] = {
    "calendar_create_event": {"title": "Lunch", "start": "2026-12-01T12:00"},
    "calendar_list_events": {},
    "calendar_get_event": {"id": "EVENT"},
    "calendar_update_event": {"id": "EVENT", "title": "Long lunch"},
    "calendar_delete_event": {"id": "EVENT"},
    "calendar_find_free": {"start": "2026-12-01", "end": "2026-12-01", "duration": "30"},
    "calendar_now": {},
    "notes_write": {"title": "Another note", "body": "words"},
    "notes_read": {"id": "A note"},
    "notes_search": {"query": "words"},
    "notes_list": {},
    "notes_edit": {"id": "A note", "find": "words", "replace": "letters"},
    "notes_delete": {"id": "A note"},
    "search_web": {"query": "words"},
    "search_status": {},
    "message_draft": {"to": ["Ana"], "body": "words"},
    "message_list": {},
    "message_discard": {"id": "MESSAGE"},
    "report_validate": {"markdown": "words"},
    "report_save": {"markdown": report()},
    "report_get": {"id": "REPORT"},
    "report_list": {},
    "report_render": {"id": "REPORT"},
    "report_diff": {"old": "REPORT", "new": "REPORT"},
}
NEEDS_THE_NETWORK = {"search_web"}
READ_ONLY = {
    *("calendar_list_events", "calendar_get_event", "calendar_find_free", "calendar_now"),
    *("notes_read", "notes_search", "notes_list", "search_web", "search_status", "message_list"),
    *("report_validate", "report_get", "report_list", "report_diff"),
}
DELETES = {"calendar_delete_event", "notes_delete", "message_discard"}
PAGED = {"calendar_list_events", "calendar_find_free", "notes_search", "notes_list", "message_list", "report_list"}
MOST_CHARACTERS = 4 * 2600  # of the 4,000 tokens of all servers, at four characters a token
every_tool = pytest.mark.parametrize("tool", EXAMPLES)
SAMPLES = {"string": "a text", "integer": 1, "boolean": False}


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def clients(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Mapping[str, Client[Any]]]:
    """One client per server; the tests of this module share their home."""
    home = tmp_path_factory.mktemp("home")
    async with AsyncExitStack() as opened:
        yield {name: await opened.enter_async_context(here(name, home)) for name in SERVERS}


@pytest_asyncio.fixture(loop_scope="module")
async def client(clients: Mapping[str, Client[Any]], tool: str) -> Client[Any]:
    """The client of the server that has the tool."""
    return clients[server_of(tool)]


@pytest_asyncio.fixture(loop_scope="module")
async def published(client: Client[Any], tool: str) -> Tool:
    """The tool as it is listed."""
    return next(found for found in await client.list_tools() if found.name == tool)


@pytest_asyncio.fixture(loop_scope="module")
async def arguments(client: Client[Any], tool: str) -> dict[str, Any]:
    """Arguments that work, with an event and a note to work on."""
    if server_of(tool) == "calendar":
        made = await call(client, "calendar_create_event", title="Standup", start="2026-12-01T09:00")
        return {name: made["event"]["id"] if value == "EVENT" else value for name, value in EXAMPLES[tool].items()}
    if server_of(tool) == "notes":
        await call(client, "notes_write", title="A note", body="words", mode="replace")
    if tool == "message_discard":
        return {"id": (await call(client, "message_draft", to="Bo", body="words"))["message"]["id"]}
    if "REPORT" in EXAMPLES[tool].values():
        saved = await call(client, "report_save", markdown=report())
        return {name: saved["report"]["id"] if value == "REPORT" else value for name, value in EXAMPLES[tool].items()}
    return dict(EXAMPLES[tool])


def server_of(tool: str) -> str:
    """The server that has a tool: its name begins with the server's, in the singular for what is drafted."""
    domain = tool.partition("_")[0]
    return f"{domain}s" if domain in {"message", "report"} else domain


@pytest.mark.parametrize("server", SERVERS)
async def test_every_tool_of_the_server_is_in_this_table(clients: Mapping[str, Client[Any]], server: str) -> None:
    names = [tool.name for tool in await clients[server].list_tools()]

    assert names == [tool.name for tool in await clients[server].list_tools()]
    assert set(names) == {tool for tool in EXAMPLES if server_of(tool) == server}


@every_tool
async def test_the_name_is_short_and_starts_with_its_domain(tool: str) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]*", tool)
    assert tool.startswith(f"{server_of(tool).removesuffix('s')}")
    assert len(server_of(tool)) + len(tool) <= 40


@every_tool
async def test_the_annotations_are_true_to_what_it_does(published: Tool, tool: str) -> None:
    annotations = published.annotations

    assert annotations
    assert annotations.read_only_hint is (tool in READ_ONLY)
    assert annotations.open_world_hint is (tool in NEEDS_THE_NETWORK)
    assert annotations.destructive_hint is (tool in DELETES | {"calendar_update_event", "notes_edit", "notes_write"})


@every_tool
async def test_the_schema_is_portable_and_bounded(published: Tool) -> None:
    schema = published.input_schema
    text = json.dumps(schema)

    assert "$schema" not in text
    assert "anyOf" not in text
    assert schema["additionalProperties"] is False
    assert (published.output_schema or {})["type"] == "object"
    assert not re.search(r"\b(must|always|never|you should)\b", (published.description or "").lower())
    for name, property_ in schema["properties"].items():
        assert "maxLength" in property_ or property_.get("enum") or property_["type"] != "string", name
        assert property_.get("type") != "array" or (property_["maxItems"] <= 50 and property_["items"]["maxLength"])


async def test_all_tool_lists_together_are_cheap_to_read(clients: Mapping[str, Client[Any]]) -> None:
    characters = 0
    for client in clients.values():
        for tool in await client.list_tools():
            shown = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
            characters += len(json.dumps(shown, separators=(",", ":")))

    assert characters <= MOST_CHARACTERS


@every_tool
async def test_null_is_the_same_as_missing_for_every_optional_argument(
    client: Client[Any], published: Tool, arguments: dict[str, Any], tool: str
) -> None:
    schema = published.input_schema
    nulls = dict.fromkeys(schema["properties"].keys() - set(schema.get("required", ())) - arguments.keys())
    result = await client.call_tool(tool, nulls | arguments, raise_on_error=False)

    assert result.is_error is (tool in NEEDS_THE_NETWORK)
    assert result.structured_content is not None


@every_tool
async def test_a_list_may_be_sent_as_a_json_string(
    client: Client[Any], published: Tool, arguments: dict[str, Any], tool: str
) -> None:
    for name, property_ in published.input_schema["properties"].items():
        if property_.get("type") == "array":
            await call(client, tool, **arguments | {name: '["ann","bob"]'})


@every_tool
async def test_an_unknown_argument_is_named_in_one_sentence(
    client: Client[Any], arguments: dict[str, Any], tool: str
) -> None:
    said = await refused(client, tool, **arguments, colour="red")

    assert f"{tool} has no argument 'colour'" in said
    assert_one_clean_sentence(said)


@every_tool
async def test_a_value_of_the_wrong_type_is_answered_with_one_sentence(
    client: Client[Any], published: Tool, arguments: dict[str, Any], tool: str
) -> None:
    for name in published.input_schema["properties"]:
        said = await refused(client, tool, **{**arguments, name: {"not": "this"}})
        assert f"'{name}' of {tool}" in said
        assert_one_clean_sentence(said)


@every_tool
async def test_a_text_beyond_its_bound_is_answered_with_one_sentence(
    client: Client[Any], published: Tool, arguments: dict[str, Any], tool: str
) -> None:
    for name, property_ in published.input_schema["properties"].items():
        if longest := property_.get("maxLength"):
            said = await refused(client, tool, **{**arguments, name: "x" * (longest + 1)})
            assert str(longest) in said
            assert_one_clean_sentence(said)


@pytest.mark.parametrize("tool", sorted(EXAMPLES.keys() - NEEDS_THE_NETWORK))
async def test_an_answer_is_structured_and_has_a_short_text(
    client: Client[Any], arguments: dict[str, Any], tool: str
) -> None:
    result = await client.call_tool(tool, arguments)

    assert isinstance(result.structured_content, dict)
    assert "result" not in result.structured_content
    assert None not in result.structured_content.values()
    assert text_of(result)


@pytest.mark.parametrize("tool", sorted(PAGED))
async def test_a_limit_out_of_range_is_clamped_and_a_foreign_cursor_refused(
    client: Client[Any], arguments: dict[str, Any], tool: str
) -> None:
    for limit in (0, -1, 1000, "7"):
        await call(client, tool, **arguments, limit=limit)
    for cursor in ("nonsense", "WyJvdGhlciIsMV0", "Ww", "[]", "é"):
        said = await refused(client, tool, **arguments, cursor=cursor)
        assert_one_clean_sentence(said)


@pytest.mark.parametrize("tool", [tool for tool in EXAMPLES if "id" in EXAMPLES[tool]])
async def test_an_unknown_id_is_an_error_that_changes_nothing(client: Client[Any], tool: str) -> None:
    said = await refused(client, tool, **EXAMPLES[tool] | {"id": "no such thing"})

    assert "'no such thing'" in said
    assert_one_clean_sentence(said)


def assert_one_clean_sentence(said: str) -> None:
    assert said.endswith(".")
    assert "\n" not in said
    assert not re.search(r"pydantic|Traceback|sqlite|SELECT|errors\.|/tmp|/home|\.py\b", said)
