import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import Implementation, TextContent

from service_runtime.mcp_server import Option, run_service
from tests.service_runtime.demo_mcp.service import SERVICE
from tests.service_runtime.processes import TOKEN, Demo, environment, run_demo

ERAS: dict[str, Literal["legacy", "2026-07-28"]] = {"2025-11-25": "legacy", "2026-07-28": "2026-07-28"}
Run = Callable[..., tuple[int, str, str]]
TESTER = Implementation(name="tester\u200b" + "x" * 100, version="1")


@pytest.fixture(scope="module")
def base(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with demo.http(tmp_path_factory.mktemp("home")) as (_, url):
        yield url


@asynccontextmanager
async def over_http(base: str, era: str = "2026-07-28") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(headers=headers) as http:
        transport = streamable_http_client(f"{base}/mcp", http_client=http)
        async with Client(transport, mode=ERAS[era], client_info=TESTER) as client:
            yield client


@asynccontextmanager
async def over_stdio(demo: Demo, home: Path, era: str) -> AsyncIterator[Client]:
    command, *arguments = demo.command()
    start = StdioServerParameters(command=command, args=arguments, env=environment(home), cwd=home)
    async with Client(start, mode=ERAS[era], client_info=TESTER) as client:
        yield client


async def said(client: Client, tool: str, arguments: dict[str, Any]) -> str:
    """The text of a failed call."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return cast("TextContent", result.content[0]).text


async def assert_serves(client: Client, era: str) -> None:
    assert client.protocol_version == era
    result = await client.call_tool("demo_say", {"query": "hi", "limit": "5", "tags": '["a"]', "note": None})
    expected = {"query": "hi", "limit": 5, "tags": ["a"], "loud": None, "note": None}
    assert result.structured_content == expected | {"client": ("tester" + "x" * 100)[:80]}
    assert await said(client, "demo_fail", {"how": "expected"}) == "The lamp is off; switch it on first."


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_of_either_era_is_served_over_stdio(demo: Demo, tmp_path: Path, era: str) -> None:
    async with over_stdio(demo, tmp_path, era) as client:
        await assert_serves(client, era)


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_of_either_era_is_served_over_http(base: str, era: str) -> None:
    async with over_http(base, era) as client:
        await assert_serves(client, era)


TEXT = "send a text of at least 1 and at most 1000 characters."
NUMBER = "send a whole number of at least 1 and at most 50, or leave it out."
FLAG = "send true or false, or leave it out."
TAGS = "send a list of at most 50 items, each a text of at most 200 characters, or leave it out."


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, f"The argument 'query' of demo_say is missing: {TEXT}"),
        ({"query": ""}, f"The argument 'query' of demo_say is empty or too short: {TEXT}"),
        ({"query": 5}, f"The argument 'query' of demo_say has the wrong type: {TEXT}"),
        ({"query": "x", "q": 1}, "demo_say has no argument 'q'; it accepts query, limit, tags, loud, note."),
        ({"query": "x", "limit": "null"}, f"The argument 'limit' of demo_say has the wrong type: {NUMBER}"),
        ({"query": "x", "limit": 51}, f"The argument 'limit' of demo_say is out of bounds: {NUMBER}"),
        ({"query": "x", "loud": "null"}, f"The argument 'loud' of demo_say has the wrong type: {FLAG}"),
        ({"query": "x", "tags": ["a", 5]}, f"The argument 'tags' of demo_say (in item 2) has the wrong type: {TAGS}"),
    ],
)
async def test_a_bad_argument_gets_one_sentence_on_what_to_send(
    base: str, arguments: dict[str, Any], sentence: str
) -> None:
    async with over_http(base) as client:
        assert await said(client, "demo_say", arguments) == sentence


async def test_what_a_bug_says_stays_inside(base: str) -> None:
    async with over_http(base) as client:
        assert (await said(client, "demo_fail", {"how": "bug"})).startswith("Internal error in demo_fail: ")
        assert "secret" not in await said(client, "demo_fail", {"how": "bug"})
        assert await said(client, "demo_none", {}) == "Unknown tool: 'demo_none'"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("expected", "There is no such "), ("bug", "Internal error in ")],
)
async def test_resources_and_prompts_fail_in_one_sentence_too(base: str, name: str, sentence: str) -> None:
    async with over_http(base) as client:
        with pytest.raises(MCPError) as resource:
            await client.read_resource(f"demo://{name}")
        with pytest.raises(MCPError) as prompt:
            await client.get_prompt("demo_prompt", {"name": name})
    for raised in (resource, prompt):
        assert str(raised.value).startswith(sentence)


async def test_the_schemas_are_clean_and_the_order_is_stable(base: str) -> None:
    async with over_http(base) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == [tool.name for tool in (await client.list_tools()).tools]
    text = "".join(tool.model_dump_json(by_alias=True) for tool in tools)
    assert "$schema" not in text
    assert "nullable" not in text
    assert all(tool.input_schema["additionalProperties"] is False for tool in tools)
    say = next(tool for tool in tools if tool.name == "demo_say")
    assert say.input_schema["required"] == ["query"]
    assert say.input_schema["properties"]["tags"]["default"] == []


@pytest.mark.parametrize("option", ["--help", "--version", "--where"])
def test_questions_about_the_program_import_no_heavy_sdk(tmp_path: Path, option: str) -> None:
    program = (
        "import sys\n"
        "from service_runtime.mcp_server import McpService, run_service\n"
        "try:\n"
        "    run_service(McpService('demo', 'demo-mcp', None, None), [sys.argv[1]])\n"
        "finally:\n"
        "    heavy = {'mcp', 'fastmcp', 'pydantic', 'anyio', 'dotenv', 'asyncio'} & set(sys.modules)\n"
        "    assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, option], env=environment(tmp_path), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_version_and_where_are_one_line_each(tmp_path: Path) -> None:
    assert run_demo(tmp_path, "--version").stdout.startswith("demo-mcp 0.")
    done = run_demo(tmp_path, "--where", "--home", "elsewhere")
    assert done.stdout == f"{tmp_path / 'elsewhere' / 'demo'}\n"
    assert not (tmp_path / "elsewhere").exists()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line in this process: status, standard output, standard error."""

    def run_here(*arguments: str) -> tuple[int, str, str]:
        return run_service(SERVICE, arguments), *capsys.readouterr()

    return run_here


@pytest.mark.usefixtures("root_logger")
def test_check_says_how_the_store_is(run: Run, tmp_path: Path) -> None:
    assert run("--check", "--home", str(tmp_path)) == (0, "The demo store is well.\n", "")
    (tmp_path / "broken").touch()
    sentence = "demo-mcp: The demo store is broken; delete the file 'broken'.\n"
    assert run("--check", "--home", str(tmp_path)) == (1, "", sentence)


@pytest.mark.usefixtures("root_logger")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--log-level", "loud"), "demo-mcp: The log level 'loud' is unknown"),
        (("--home", "/proc/nobody"), "demo-mcp: The home folder cannot be used at '/proc/nobody'"),
        (("--home", "~nobody-here"), "demo-mcp: The home folder '~nobody-here' names an unknown user"),
        (("--transport", "http"), "demo-mcp: HTTP needs a bearer token of at least 16 ASCII characters"),
    ],
)
def test_a_wrong_set_up_is_one_line_on_stderr_and_status_2(run: Run, arguments: tuple[str, ...], sentence: str) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith(sentence)
    assert err.count("\n") == 1


@pytest.mark.parametrize("arguments", [("--port", "x"), ("--transport", "sse"), ("--vers",), ("more",)])
def test_an_unknown_option_or_value_is_refused_with_status_2(
    run: Run, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    with pytest.raises(SystemExit) as raised:
        run(*arguments)
    assert raised.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("demo-mcp: error: ")


@pytest.mark.usefixtures("root_logger")
def test_a_working_folder_that_is_gone_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert run_service(SERVICE, ["--where"]) == 2
    assert capsys.readouterr() == (
        "",
        "demo-mcp: The working folder is gone; change to one that is there and start again.\n",
    )


@pytest.mark.usefixtures("root_logger")
def test_an_option_of_a_server_sets_its_setting_over_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    service = replace(
        SERVICE,
        options=(Option("--place", "DEMO_PLACE", "PLACE", "where it is"),),
        where=lambda settings: str(settings.get("DEMO_PLACE")),
    )
    monkeypatch.setenv("PROMETHEUS_HOME", str(tmp_path))
    monkeypatch.setenv("PROMETHEUS_DEMO_PLACE", "from the environment")

    assert run_service(service, ["--where"]) == 0
    assert run_service(service, ["--where", "--place", "from the command line"]) == 0
    assert capsys.readouterr().out == "from the environment\nfrom the command line\n"
