"""The client: which requests leave the machine, whatever other programs' variables say."""

from __future__ import annotations

import os

import pytest

from agent_host.providers.anthropic import AnthropicProvider
from agent_host.providers.protocol import Message, ModelRequest, Text
from tests.fakes.anthropic_server import KEY, MODEL, Answer, Seen, anthropic_server, text

REQUEST = ModelRequest("Be kind.", (Message("user", (Text("hello"),)),), (), "auto", 500)
FOREIGN = {
    "ANTHROPIC_CUSTOM_HEADERS": "Authorization: Bearer other\nauthorization: Bearer third\nX-Api-Key: other\n"
    "anthropic-version: 1999-01-01\nX-Team-Secret: hush\nUser-Agent: other",
    "ANTHROPIC_API_KEY": "sk-other",
    "ANTHROPIC_AUTH_TOKEN": "other-token",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
    "ANTHROPIC_PROFILE": "other",
    "ANTHROPIC_OPEN_TELEMETRY_PROPAGATION": "true",
}


async def _request() -> Seen:
    async with anthropic_server(Answer([text("Hello.")])) as server:
        provider = AnthropicProvider(MODEL, KEY, server.url, 10.0)
        try:
            assert [item async for item in provider.stream(REQUEST)]
        finally:
            await provider.close()
    (seen,) = server.requests
    return seen


async def test_no_variable_of_another_program_changes_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in FOREIGN:
        monkeypatch.delenv(name, raising=False)
    clean = await _request()
    for name, value in FOREIGN.items():
        monkeypatch.setenv(name, value)
    seen = await _request()
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert {name: value for name, value in seen.headers.items() if name != "host"} == {
        name: value for name, value in clean.headers.items() if name != "host"
    }
    assert seen.body == clean.body
    assert {name: os.environ[name] for name in FOREIGN} == FOREIGN
