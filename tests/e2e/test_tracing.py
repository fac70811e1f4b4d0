"""One trace for a turn: the host, its MCP servers and the receipt writer, each a process, told to a real receiver."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import BIN, Person
from tests.e2e.test_anthropic import REMEMBER
from tests.fakes.anthropic_server import KEY as ANTHROPIC_KEY
from tests.fakes.anthropic_server import MODEL, Answer, anthropic_server, text
from tests.otlp_receiver import Receiver, Span, closed_port, over_grpc, over_http

pytestmark = pytest.mark.slow  # starts many processes

WRITER = "prometheus.receipts.v1.ReceiptWriter"
KEY = "sk-ant-abcdefghijklmnopqrstuvwxyz"
TURN = "invoke_agent prometheus-agent"
TOOL = "create_memory memory_remember"
CALL = "tools/call memory_remember"
TOKEN = "a-token-for-the-tests"


def settings(receiver: Receiver, **more: str) -> dict[str, str]:
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint, **more}


@contextmanager
def chatting(person: Person, told: dict[str, str]) -> Iterator[Callable[[str], None]]:
    """A conversation over a pipe: what is yielded says something; it ends in order with the block."""
    command = [str(BIN / "agent-host"), "chat"]
    environ = {**person.environ, **told}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=person.folder, env=environ, text=True
    ) as process:
        assert process.stdin is not None

        def say(text: str) -> None:
            assert process.stdin is not None
            process.stdin.write(f"{text}\n")
            process.stdin.flush()

        yield say
        out, errors = process.communicate(timeout=50)
        assert process.returncode == 0, errors
        assert "signed" in out


def has(*names: str) -> Callable[[list[Span]], bool]:
    return lambda spans: set(names) <= {span.name for span in spans}


def remembered(person: Person, receiver: Receiver, **more: str) -> list[Span]:
    """What arrives of a turn that remembers something."""
    with chatting(person, settings(receiver, **more)) as say:
        say("Remember that Ana likes green tea.")
        return receiver.wait(has(TURN, TOOL, CALL, f"{WRITER}/AppendTurn", f"{WRITER}/AppendDecision"))


def parents(spans: list[Span]) -> dict[str, str]:
    """The name of each span's parent, empty for a root; every parent has arrived."""
    names = {span.id: span.name for span in spans}
    return {span.name: names[span.parent] if span.parent else "" for span in spans}


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_turn_is_one_trace_across_host_servers_and_writer(person: Person, protocol: str) -> None:
    with over_grpc() if protocol == "grpc" else over_http() as receiver:
        spans = remembered(person, receiver, OTEL_EXPORTER_OTLP_PROTOCOL=protocol)

    (turn,) = (span for span in spans if span.name == TURN)
    assert {span.trace for span in spans} == {turn.trace}
    told = parents(spans)
    assert told.pop(f"{WRITER}/Append", TURN) == TURN  # what a new home registers once: specs, tool lists
    assert told == {
        TURN: "",
        "chat offline-rules": TURN,
        TOOL: TURN,
        "MCP send tools/call memory_remember": TOOL,
        CALL: "MCP send tools/call memory_remember",
        f"{WRITER}/GetHead": TURN,
        f"{WRITER}/BeginTurn": TURN,
        f"{WRITER}/AppendDecision": TURN,
        f"{WRITER}/AppendTurn": TURN,
    }
    services = {span.name: span.service for span in spans}
    assert (services[TURN], services[TOOL], services[CALL]) == ("agent-host", "agent-host", "memory-mcp")
    assert services[f"{WRITER}/AppendTurn"] == "receipt-writer"


def test_the_trace_leads_to_the_receipt_and_the_receipt_to_the_trace(person: Person) -> None:
    person.without_tools()
    with over_http() as receiver, chatting(person, settings(receiver)) as say:
        say("hello")
        (turn,) = (span for span in receiver.wait(has(TURN)) if span.name == TURN)

    (line,) = (person.home / "receipts" / "chains" / "turns.jsonl").read_text().splitlines()
    receipt = json.loads(line)
    assert turn.attributes["prometheus.turn_id"] == receipt["turnId"]
    assert turn.attributes["gen_ai.conversation.id"] == receipt["sessionId"]
    assert turn.attributes["prometheus.receipt.entry_id"] == receipt["id"]
    assert turn.attributes["prometheus.outcome"] == "replied"
    assert person.run("agent-host", "receipts", "verify").returncode == 0


def test_nothing_that_was_said_and_no_secret_leaves(person: Person) -> None:
    with over_http() as receiver:
        with chatting(person, settings(receiver, PROMETHEUS_API_KEY=KEY)) as say:
            say(f"Remember that Ana likes green tea and her key is {KEY}.")
            receiver.wait(has(TURN, CALL))
            say("What do you know about Ana?")
            receiver.wait(has("search_memory memory_search", "tools/call memory_search"))
        everything = b"".join(receiver.raw)

    for word in (b"Ana", b"green", KEY.encode(), KEY[7:20].encode()):
        assert word not in everything


def test_what_was_searched_for_leaves_only_when_that_is_asked_for(person: Person) -> None:
    with over_http() as receiver:
        asked = settings(receiver, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="true")
        with chatting(person, asked) as say:
            say("What do you know about Ana?")
            spans = receiver.wait(has("search_memory memory_search"))

    (search,) = (span for span in spans if span.name == "search_memory memory_search")
    assert search.attributes["gen_ai.memory.query.text"] == "Ana"


def test_the_endpoint_may_stand_in_the_homes_env_file(person: Person) -> None:
    with over_http() as receiver:
        person.home.mkdir(mode=0o700, exist_ok=True)
        (person.home / ".env").write_text(f"OTEL_EXPORTER_OTLP_ENDPOINT={receiver.endpoint}\n")
        with chatting(person, {}) as say:
            say("Remember that Ana likes green tea.")
            spans = receiver.wait(has(TURN, CALL, f"{WRITER}/AppendTurn"))

    assert len({span.trace for span in spans}) == 1


@pytest.fixture
def elsewhere(person: Person, tmp_path: Path) -> Iterator[Callable[[Receiver], None]]:
    """Starts a memory server over HTTP on a home of its own, which the person's host then uses."""
    started: list[subprocess.Popen[str]] = []

    def start(receiver: Receiver) -> None:
        environ = {**person.environ, **settings(receiver), "PROMETHEUS_HOME": str(tmp_path / "other")}
        command = [str(BIN / "memory-mcp"), "--transport", "http", "--port", "0"]
        process = subprocess.Popen(
            command, env={**environ, "PROMETHEUS_MCP_TOKEN": TOKEN}, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stderr is not None
        address = process.stderr.readline().split()[-1]
        person.without_tools()
        told: dict[str, Any] = json.loads((person.home / "mcp.json").read_text())
        told["mcpServers"]["memory"] = {"url": address, "token_env": "MEMORY_TOKEN", "builtin": True}
        (person.home / "mcp.json").write_text(json.dumps(told))

    yield start
    for process in started:
        process.terminate()
        _, errors = process.communicate(timeout=30)
        assert (process.returncode, errors) == (0, "")


def test_a_server_over_http_is_in_the_trace_too(person: Person, elsewhere: Callable[[Receiver], None]) -> None:
    with over_http() as receiver:
        elsewhere(receiver)
        spans = remembered(person, receiver, MEMORY_TOKEN=TOKEN)

    told = parents(spans)
    assert told[CALL] == "MCP send tools/call memory_remember"
    assert len({span.trace for span in spans if span.name != "server/discover"}) == 1


STRANGER = """
import json, os, sys
from fastmcp import FastMCP

server = FastMCP("stranger")
with open(sys.argv[1], "w") as file:
    json.dump({name: told for name, told in os.environ.items() if name.startswith("OTEL_")}, file)

@server.tool
def look() -> str:
    return "seen"

server.run(show_banner=False)
"""


def test_a_strangers_server_is_told_nothing_of_the_collector(person: Person, tmp_path: Path) -> None:
    script, seen = tmp_path / "stranger.py", tmp_path / "seen.json"
    script.write_text(STRANGER)
    person.without_tools()
    told = json.loads((person.home / "mcp.json").read_text())
    entry = {"command": sys.executable, "args": [str(script), str(seen)], "env": {"OTEL_SERVICE_NAME": "stranger"}}
    told["mcpServers"]["stranger"] = entry
    (person.home / "mcp.json").write_text(json.dumps(told))
    with over_http() as receiver, chatting(person, settings(receiver)) as say:
        say("hello")
        receiver.wait(has(TURN))

    assert json.loads(seen.read_text()) == {"OTEL_SERVICE_NAME": "stranger"}


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_collector_that_is_away_is_one_warning_and_costs_no_turn(person: Person, protocol: str) -> None:
    endpoint = closed_port()
    told = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}

    text = b"hello\nRemember that Ana likes green tea.\nWhat do you know about Ana?\n"
    done = person.run("agent-host", "chat", text=text, **told)

    assert done.returncode == 0
    assert done.stdout.count(b"signed") == 3
    (warning,) = done.stderr.decode().splitlines()
    assert f"Spans cannot be sent to {endpoint.removeprefix('http://')}" in warning
    assert person.run("agent-host", "receipts", "verify").returncode == 0


def test_a_collector_that_never_answers_holds_up_neither_turns_nor_the_end(person: Person) -> None:
    hold = threading.Event()
    with over_http(hold=hold) as receiver:
        with chatting(person, settings(receiver)) as say:
            say("Remember that Ana likes green tea.")
            receiver.wait_for_request()
            say("What do you know about Ana?")

        assert not hold.is_set()  # the conversation is over, and no request was ever answered


def test_without_an_endpoint_nothing_of_the_sdk_is_loaded(person: Person) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "agent_host", "ask", "Remember that Ana likes green tea."]
    done = subprocess.run(command, capture_output=True, cwd=person.folder, env=person.environ, text=True, check=True)

    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "agent_host.tracing.spans" in loaded
    heavy = ("opentelemetry.sdk", "opentelemetry.exporter", "opentelemetry.proto", "requests")
    assert [name for name in loaded if name.startswith(heavy)] == []


def test_without_the_package_there_is_one_warning_and_the_trace_file(person: Person, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden" / "sitecustomize.py"
    hidden.parent.mkdir()
    hidden.write_text("import sys\nsys.modules['opentelemetry.exporter'] = None\n")
    path = os.pathsep.join([str(hidden.parent), *filter(None, [os.environ.get("PYTHONPATH")])])

    done = person.run("agent-host", "ask", "hello", OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", PYTHONPATH=path)

    assert done.returncode == 0
    assert done.stderr.decode().count("pip install 'prometheus-agent[otel]'") == 1
    assert len(list((person.home / "host" / "traces").glob("*.jsonl"))) == 1


async def test_a_models_calls_are_told_of_once_and_those_of_the_background_apart(person: Person) -> None:
    facts = {"facts": [], "episode": "Somebody spoke of Ana.", "company_research": False}
    steps = (REMEMBER, Answer([text("Noted.")]), Answer([text(json.dumps(facts))]))
    with over_http() as receiver:
        async with anthropic_server(*steps) as server:
            told = {
                "PROMETHEUS_PROVIDER": "anthropic",
                "PROMETHEUS_API_KEY": ANTHROPIC_KEY,
                "PROMETHEUS_BASE_URL": server.url,
                "PROMETHEUS_MODEL": MODEL,
                "PROMETHEUS_SMALL_MODEL": MODEL,
                "PROMETHEUS_RETRIEVAL_GATE": "off",
                "PROMETHEUS_CONSOLIDATE_EVERY": "1",
            }
            with chatting(person, settings(receiver, **told)) as say:
                say("Remember that Ana likes green tea.")
                spans = await asyncio.to_thread(receiver.wait, has(TURN, TOOL, CALL, "consolidate"))

    (turn,) = (span for span in spans if span.name == TURN)
    (work,) = (span for span in spans if span.name == "consolidate")
    chats = [span for span in spans if span.name == f"chat {MODEL}"]
    assert [(chat.attributes["prometheus.call.kind"], chat.parent) for chat in chats] == [
        ("loop", turn.id),
        ("loop", turn.id),
        ("consolidation", work.id),
    ]
    assert chats[0].attributes["gen_ai.usage.input_tokens"] == 2112
    assert work.trace != turn.trace
    assert work.links == ((turn.trace, turn.id),)
    counted = [span for span in spans if "gen_ai.usage.input_tokens" in span.attributes]
    assert counted == chats  # the SDK's own spans would say it twice
