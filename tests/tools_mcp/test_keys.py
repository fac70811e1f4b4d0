"""Every write takes an idempotency key, and the same key gives the same result and stores one thing.

Where a write has none, doing it twice ends as doing it once.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.tools_mcp.every_tool import (
    EXAMPLES,
    NEEDS_THE_NETWORK,
    READ_ONLY,
    Clients,
    arguments_for,
    every_client,
    server_of,
)
from tests.tools_mcp.running import call, refused

WRITES = sorted(EXAMPLES.keys() - READ_ONLY - NEEDS_THE_NETWORK)
KEYLESS = {
    "memory_forget",  # what is forgotten stays so
    "memory_import",  # equal memories are one
    "message_discard",  # what is discarded stays so
    "report_save",  # the id is the hash of the text
    "report_render",  # the page of a report is always the same
}
SAYS_AGAIN = {("message_draft", "status")}
LISTS = {
    "memory": "memory_list",
    "calendar": "calendar_list_events",
    "notes": "notes_list",
    "messages": "message_list",
    "reports": "report_list",
}
OTHER: dict[str, dict[str, Any]] = {
    "calendar_create_event": {"title": "Dinner"},
    "calendar_update_event": {"title": "Dinner"},
    "calendar_delete_event": {"scope": "all"},
    "calendar_import": {"dry_run": True},
}
every_write = pytest.mark.parametrize("tool", WRITES)

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def clients(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Clients]:
    """One client per server; the tests of this module share their home."""
    async with every_client(tmp_path_factory.mktemp("home")) as opened:
        yield opened


async def listed(clients: Clients, tool: str) -> dict[str, Any]:
    """Everything a tool's server has, as its list shows it."""
    server = server_of(tool)
    return await call(clients[server], LISTS[server])


@every_write
async def test_a_write_takes_a_key_or_is_known_to_need_none(clients: Clients, tool: str) -> None:
    tools = {one.name: one for one in await clients[server_of(tool)].list_tools()}

    assert ("idempotency_key" in tools[tool].input_schema["properties"]) is (tool not in KEYLESS)


@every_write
async def test_the_same_call_twice_gives_the_same_answer_and_stores_one_thing(clients: Clients, tool: str) -> None:
    client, arguments = clients[server_of(tool)], await arguments_for(clients, tool)
    if tool not in KEYLESS:
        arguments["idempotency_key"] = f"key of {tool}"
    first = await call(client, tool, **arguments)
    once = await listed(clients, tool)
    second = await client.call_tool(tool, arguments, raise_on_error=False)

    assert await listed(clients, tool) == once
    if tool not in KEYLESS:
        assert told(tool, second.structured_content) == told(tool, first)


def told(tool: str, answer: dict[str, Any] | None) -> dict[str, Any]:
    """An answer without what says that this is not the first time."""
    return {name: value for name, value in (answer or {}).items() if (tool, name) not in SAYS_AGAIN}


@pytest.mark.parametrize("tool", OTHER)
async def test_a_key_of_one_call_is_refused_for_another(clients: Clients, tool: str) -> None:
    client, arguments = clients[server_of(tool)], await arguments_for(clients, tool)
    arguments["idempotency_key"] = f"one key of {tool}"
    await call(client, tool, **arguments)

    said = await refused(client, tool, **{**arguments, **OTHER[tool]})
    assert "idempotency_key" in said
    assert "send a new key" in said
