"""What every tool does with every argument: none, null, text for a list, what is too long, and anything else."""

import re
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.types import Tool

from tests.tools_mcp.every_tool import (
    EXAMPLES,
    NEEDS_THE_NETWORK,
    PAGED,
    Clients,
    arguments_for,
    every_client,
    server_of,
)
from tests.tools_mcp.running import call, refused, text_of

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

every_tool = pytest.mark.parametrize("tool", EXAMPLES)
INSIDE = re.compile(r"pydantic|Traceback|sqlite|SELECT |errors\.|/tmp|/home/|\.py\b|Errno|<class|0x[0-9a-f]{6}")
LISTS = {"reminders": '["30","PT1H"]'}
"""Lists that take something else than any text."""
TAKES_ONE_TEXT_AS_A_LIST = {("message_draft", "to")}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def clients(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Clients]:
    """One client per server; the tests of this module share their home."""
    async with every_client(tmp_path_factory.mktemp("home")) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def schemas(clients: Clients) -> Mapping[str, dict[str, Any]]:
    """The input schema of each tool."""
    tools: list[Tool] = [tool for client in clients.values() for tool in await client.list_tools()]
    return {tool.name: tool.input_schema for tool in tools}


@pytest.fixture(scope="module", autouse=True)
def no_names() -> Iterator[None]:
    """No name is looked up: whatever a test sends as an address, nothing leaves this machine."""
    with pytest.MonkeyPatch.context() as patched:
        real = socket.getaddrinfo

        def only_here(host: Any, *rest: Any, **more: Any) -> Any:
            if host in {"127.0.0.1", "localhost", b"127.0.0.1", b"localhost"}:
                return real(host, *rest, **more)
            raise socket.gaierror(socket.EAI_NONAME, "no such name")

        patched.setattr(socket, "getaddrinfo", only_here)
        yield


def assert_one_clean_sentence(said: str) -> None:
    """A sentence or two for a person, nothing of the inside."""
    assert said.endswith("."), said
    assert "\n" not in said, said
    assert len(said) < 1_000, said
    assert not INSIDE.search(said), said


@every_tool
async def test_null_is_the_same_as_missing_for_every_optional_argument(
    clients: Clients, schemas: Mapping[str, dict[str, Any]], tool: str
) -> None:
    arguments, schema = await arguments_for(clients, tool), schemas[tool]
    nulls = dict.fromkeys(schema["properties"].keys() - set(schema.get("required", ())) - arguments.keys())
    result = await clients[server_of(tool)].call_tool(tool, nulls | arguments, raise_on_error=False)

    assert result.is_error is (tool in NEEDS_THE_NETWORK), text_of(result)
    assert result.structured_content is not None


@every_tool
async def test_a_required_argument_that_is_missing_or_null_is_named(
    clients: Clients, schemas: Mapping[str, dict[str, Any]], tool: str
) -> None:
    arguments = await arguments_for(clients, tool)
    for name in schemas[tool].get("required", ()):
        rest = {key: value for key, value in arguments.items() if key != name}
        for sent in (rest, rest | {name: None}):
            said = await refused(clients[server_of(tool)], tool, **sent)
            assert re.search(rf"\b{name}\b", said)
            assert_one_clean_sentence(said)


@every_tool
async def test_the_text_null_is_refused_where_no_text_goes(
    clients: Clients, schemas: Mapping[str, dict[str, Any]], tool: str
) -> None:
    arguments = await arguments_for(clients, tool)
    for name, schema in schemas[tool]["properties"].items():
        if schema.get("type") != "string" or "enum" in schema:
            if (tool, name) in TAKES_ONE_TEXT_AS_A_LIST:
                continue
            said = await refused(clients[server_of(tool)], tool, **arguments | {name: "null"})
            assert f"'{name}' of {tool}" in said
            assert_one_clean_sentence(said)


@every_tool
async def test_the_text_null_is_no_key_and_no_cursor(
    clients: Clients, schemas: Mapping[str, dict[str, Any]], tool: str
) -> None:
    arguments = await arguments_for(clients, tool)
    for name in {"idempotency_key", "cursor"} & schemas[tool]["properties"].keys():
        said = await refused(clients[server_of(tool)], tool, **arguments | {name: "null"})
        assert_one_clean_sentence(said)


@every_tool
async def test_a_list_may_be_sent_as_a_json_string(
    clients: Clients, schemas: Mapping[str, dict[str, Any]], tool: str
) -> None:
    arguments = await arguments_for(clients, tool)
    for name, schema in schemas[tool]["properties"].items():
        if schema.get("type") == "array":
            await call(clients[server_of(tool)], tool, **arguments | {name: LISTS.get(name, '["ann","bob"]')})
            most, longest = schema["maxItems"], schema["items"]["maxLength"]
            for value in (["x"] * (most + 1), ["x" * (longest + 1)], [["x"]], [None], '{"a": 1}'):
                if value == '{"a": 1}' and (tool, name) in TAKES_ONE_TEXT_AS_A_LIST:
                    continue
                said = await refused(clients[server_of(tool)], tool, **arguments | {name: value})
                assert f"'{name}' of {tool}" in said
                assert_one_clean_sentence(said)


@every_tool
async def test_an_unknown_argument_is_named_in_one_sentence(clients: Clients, tool: str) -> None:
    said = await refused(clients[server_of(tool)], tool, **await arguments_for(clients, tool), colour="red")

    assert f"{tool} has no argument 'colour'" in said
    assert_one_clean_sentence(said)


@every_tool
async def test_a_value_of_the_wrong_type_is_answered_with_one_sentence(
    clients: Clients, schemas: Mapping[str, dict[str, Any]], tool: str
) -> None:
    arguments = await arguments_for(clients, tool)
    for name, schema in schemas[tool]["properties"].items():
        wrong: list[Any] = [{"not": "this"}, True] if schema.get("type") != "boolean" else [{"not": "this"}, [1]]
        for value in wrong:
            said = await refused(clients[server_of(tool)], tool, **{**arguments, name: value})
            assert f"'{name}' of {tool}" in said
            assert_one_clean_sentence(said)


@every_tool
async def test_a_text_beyond_its_bound_is_answered_with_one_sentence(
    clients: Clients, schemas: Mapping[str, dict[str, Any]], tool: str
) -> None:
    arguments = await arguments_for(clients, tool)
    for name, schema in schemas[tool]["properties"].items():
        if longest := schema.get("maxLength"):
            said = await refused(clients[server_of(tool)], tool, **{**arguments, name: "x" * (longest + 1)})
            assert str(longest) in said
            assert_one_clean_sentence(said)


@every_tool
async def test_half_of_a_surrogate_pair_is_answered_whatever_argument_it_is_in(
    clients: Clients, schemas: Mapping[str, dict[str, Any]], tool: str
) -> None:
    arguments = await arguments_for(clients, tool)
    for name, schema in schemas[tool]["properties"].items():
        if schema.get("type") == "string":
            sent = arguments | {name: "half \ud83d of it"}
            result = await clients[server_of(tool)].call_tool(tool, sent, raise_on_error=False)
            text_of(result).encode()
            if result.is_error and result.structured_content is None:
                assert_one_clean_sentence(text_of(result))


@pytest.mark.parametrize("tool", sorted(PAGED))
async def test_a_limit_out_of_range_is_clamped_and_a_foreign_cursor_refused(clients: Clients, tool: str) -> None:
    arguments, client = await arguments_for(clients, tool), clients[server_of(tool)]
    for limit in (0, -1, 1000, "7", 10**18):
        await call(client, tool, **arguments, limit=limit)
    for cursor in ("nonsense", "WyJvdGhlciIsMV0", "Ww", "[]", "é"):
        assert_one_clean_sentence(await refused(client, tool, **arguments, cursor=cursor))


@pytest.mark.parametrize("tool", [tool for tool in EXAMPLES if EXAMPLES[tool].get("id")])
async def test_an_unknown_id_is_an_error_that_changes_nothing(clients: Clients, tool: str) -> None:
    said = await refused(clients[server_of(tool)], tool, **EXAMPLES[tool] | {"id": "no such thing"})

    assert "'no such thing'" in said
    assert_one_clean_sentence(said)


ODD_TEXTS = (
    *("", " ", "null", "[]", "{}", "..", "/etc/passwd", "a\x00b", "\ud83d", "%2e%2e/x", "'; --", '"', "NaN", "-1"),
    *("2026-02-30", "9999-12-31T23:59:60Z", "P1Y", "PT0S", "24:00", "RRULE:FREQ=DAILY", "http://[::1", "../A"),
    *("A note", "\U0001d4b3" * 40, ".trash/A note"),
)
TEXT = st.text(max_size=30).filter(lambda text: not INSIDE.search(text)) | st.sampled_from(ODD_TEXTS)
"""Without what `INSIDE` looks for: an answer may name what was sent."""
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)


async def never_surprised(
    clients: Clients, schemas: Mapping[str, dict[str, Any]], tool: str, draw: st.DataObject
) -> None:
    """Call a tool with its example, some of its arguments made of anything: an answer or one clean sentence follows."""
    arguments, properties = dict(EXAMPLES[tool]), schemas[tool]["properties"]
    names = draw.draw(st.lists(st.sampled_from(sorted(properties)), max_size=3, unique=True)) if properties else []
    for name in names:
        arguments[name] = draw.draw(fitting(properties[name]) | ANYTHING, label=name)
    result = await clients[server_of(tool)].call_tool(tool, arguments, raise_on_error=False)
    if result.is_error and result.structured_content is None:
        assert_one_clean_sentence(text_of(result))
        assert "Internal error" not in text_of(result), (tool, arguments)


def fitting(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values of the type that an argument has."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kinds: dict[str, st.SearchStrategy[Any]] = {
        "string": TEXT,
        "integer": st.integers(),
        "boolean": st.booleans(),
        "array": st.lists(TEXT, max_size=5),
    }
    return kinds[schema["type"]]


odd = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@every_tool
@settings(odd, max_examples=12)
@given(draw=st.data())
async def test_no_value_of_any_argument_surprises_a_tool(
    clients: Clients, schemas: Mapping[str, dict[str, Any]], tool: str, draw: st.DataObject
) -> None:
    await never_surprised(clients, schemas, tool, draw)


@pytest.mark.fuzz
@pytest.mark.timeout(600)
@every_tool
@settings(odd, max_examples=200)
@given(draw=st.data())
async def test_a_thousand_requests_surprise_no_tool(
    clients: Clients, schemas: Mapping[str, dict[str, Any]], tool: str, draw: st.DataObject
) -> None:
    await never_surprised(clients, schemas, tool, draw)
