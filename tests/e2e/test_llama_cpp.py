"""A turn of llama.cpp's real server from the command line: tools offered and called, tokens, receipts, what it says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Person
from tests.llama_server import WHY_NOT, LlamaServer, found_program, llama_server
from tests.tiny_model import write_tiny_model

PROGRAM = found_program() or ["absent"]
pytestmark = [pytest.mark.slow, pytest.mark.skipif(PROGRAM == ["absent"], reason=WHY_NOT)]


def _served(folder: Path, context_tokens: int, *, calls_tools: bool = False) -> Iterator[LlamaServer]:
    write_tiny_model(folder / "tiny.gguf", calls_tools=calls_tools)
    with llama_server(PROGRAM, folder / "tiny.gguf", context_tokens) as server:
        yield server


def _ask(person: Person, server: LlamaServer, message: str) -> tuple[int, dict[str, Any]]:
    done = person.run(
        *("agent-host", "ask", message, "--json"),
        PROMETHEUS_PROVIDER="openai-compatible",
        PROMETHEUS_BASE_URL=server.url,
        PROMETHEUS_MODEL="tiny",
        PROMETHEUS_MAX_ITERATIONS="3",
    )
    assert done.stdout, done.stderr.decode()
    return done.returncode, json.loads(done.stdout)


def _stored(person: Person, chain: str) -> list[dict[str, Any]]:
    lines = (person.home / "receipts" / "chains" / f"{chain}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_a_turn_of_a_real_server_is_answered_counted_and_signed(person: Person, tmp_path: Path) -> None:
    person.without_tools("memory")
    for server in _served(tmp_path, 65_536):
        status, document = _ask(person, server, "Hello, what do you know about me?")
    assert (status, document["outcome"]) == (0, "replied")
    turn, decisions = _stored(person, "turns")[0], _stored(person, "decisions")
    assert turn["model"]["inputTokens"] > 3_000  # tools stand in the prompt, and each byte is a token
    assert turn["model"]["outputTokens"] > len(document["reply"])  # the gate's answer too
    # The gate's schema was kept to by a model that knows nothing.
    assert [row["exitState"] for row in decisions] == ["ok", "ok"]
    assert person.run("agent-host", "receipts", "verify").returncode == 0


def test_tools_are_called_as_they_are_described_until_the_steps_are_used_up(person: Person, tmp_path: Path) -> None:
    person.without_tools("memory")  # the model calls any, and one would go out
    for server in _served(tmp_path, 131_072, calls_tools=True):
        status, document = _ask(person, server, "Hello.")
    assert (status, document["turn_receipt"]["iterations"]) == (0, 4)  # the last without tools
    called = [row["tool"] for row in _stored(person, "turns")[0]["tools"]]
    assert len(called) >= 3
    assert all(name.startswith("memory_") or name in {"update_soul", "create_skill"} for name in called), called


def test_a_window_too_small_for_a_first_message_is_told_with_the_servers_figures(
    person: Person, tmp_path: Path
) -> None:
    person.without_tools()
    for server in _served(tmp_path, 512):
        status, document = _ask(person, server, "Hello.")
    assert (status, document["outcome"]) == (1, "failed")
    assert "exceeds the available context size (512 tokens)" in document["reply"]
