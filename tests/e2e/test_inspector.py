"""The servers from outside: the MCP Inspector's command line, which shares no code with us, over stdio and HTTP."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.e2e.conftest import BIN, BUILT_IN, ROOT, Person

NODE_BIN = ROOT / "tests" / "node" / "node_modules" / ".bin"
TOKEN = "inspector-token-0123456789"
SERVERS = [("memory-mcp",), *(("tools-mcp", name) for name in BUILT_IN if name != "memory")]
ERAS = ["legacy", "modern"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (NODE_BIN / "mcp-inspector").exists(), reason="the MCP Inspector is not installed: it needs npm"
    ),
]


def inspect(person: Person, *words: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [str(NODE_BIN / "mcp-inspector"), "--cli", *words, *_environment(person), "--format", "json"],
        capture_output=True,
        cwd=person.folder,
        env={**person.environ, "PATH": f"{NODE_BIN}{os.pathsep}{os.environ['PATH']}"},
        timeout=50,
        check=False,
    )
    document: dict[str, Any] = json.loads(done.stdout or done.stderr)
    return done.returncode, document.get("result", document)


def _environment(person: Person) -> list[str]:
    """The Inspector hands a server only what it is told to."""
    names = ("PROMETHEUS_HOME", "PROMETHEUS_TIMEZONE")
    return [word for name in names for word in ("-e", f"{name}={person.environ[name]}")]


@contextmanager
def over_http(person: Person, command: tuple[str, ...]) -> Iterator[str]:
    with subprocess.Popen(
        [str(BIN / command[0]), *command[1:], "--transport", "http", "--port", "0", "--log-level", "info"],
        stderr=subprocess.PIPE,
        cwd=person.folder,
        env={**person.environ, "PROMETHEUS_MCP_TOKEN": TOKEN},
        text=True,
    ) as process:
        assert process.stderr is not None
        shown = ""
        while (found := re.search(r"http://127\.0\.0\.1:\d+/mcp", shown)) is None:
            line = process.stderr.readline()
            assert line, shown
            shown += line
        try:
            yield found[0]
        finally:
            process.terminate()


@pytest.mark.parametrize("command", SERVERS, ids=" ".join)
def test_every_server_lists_portable_tools_over_stdio(person: Person, command: tuple[str, ...]) -> None:
    status, document = inspect(person, str(BIN / command[0]), *command[1:], "--method", "tools/list", "--strict")

    assert status == 0, document
    assert all(re.fullmatch(r"[a-z0-9_]{1,40}", tool["name"]) for tool in document["tools"])


@pytest.mark.parametrize("era", ERAS)
def test_a_memory_kept_over_http_is_found_over_stdio(person: Person, era: str) -> None:
    with over_http(person, ("memory-mcp",)) as url:
        remember = (
            "--method",
            "tools/call",
            "--tool-name",
            "memory_remember",
            "--tool-arg",
            "body=Ana likes green tea",
        )
        status, document = inspect(
            person, url, "--header", f"Authorization: Bearer {TOKEN}", "--protocol-era", era, *remember
        )
        assert status == 0, document

    search = ("--method", "tools/call", "--tool-name", "memory_search", "--tool-arg", "query=tea")
    status, document = inspect(person, str(BIN / "memory-mcp"), *search, "--protocol-era", era)

    assert status == 0
    assert "Ana likes green" in json.dumps(document)


@pytest.mark.parametrize("command", [("tools-mcp", "calendar"), ("tools-mcp", "notes")], ids=" ".join)
def test_tools_answer_over_http_with_a_token_and_refuse_without(person: Person, command: tuple[str, ...]) -> None:
    with over_http(person, command) as url:
        tools = ("--method", "tools/list")
        status, document = inspect(person, url, "--header", f"Authorization: Bearer {TOKEN}", *tools)
        refused, _ = inspect(person, url, "--header", "Authorization: Bearer wrong", *tools)

    assert status == 0
    assert document["tools"]
    assert refused != 0


def test_a_bad_call_is_one_sentence_with_no_word_of_the_machinery(person: Person) -> None:
    words = (str(BIN / "tools-mcp"), "calendar", "--method", "tools/call", "--tool-name", "calendar_create_event")
    status, document = inspect(person, *words, "--tool-args-json", '{"title": "x", "start": "someday"}')

    said = json.dumps(document)
    assert status == 5
    assert "someday" in said
    assert "pydantic" not in said
    assert "Traceback" not in said
