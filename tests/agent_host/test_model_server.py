"""What `agent-host doctor` learns from a model's server, which is asked for no reply."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_host.model_server import look_at_model_server
from agent_host.settings import host_settings
from service_runtime.settings import load_settings
from tests.fakes import anthropic_server
from tests.fakes.openai_server import KEY, openai_server


async def _looked(
    home: Path, url: str, model: str, key: str = "", *, provider: str = "openai-compatible"
) -> tuple[str, str] | None:
    environ = {
        "PROMETHEUS_HOME": str(home),
        "PROMETHEUS_PROVIDER": provider,
        "PROMETHEUS_BASE_URL": url,
        "PROMETHEUS_MODEL": model,
        **({"PROMETHEUS_API_KEY": key} if key else {}),
    }
    return await look_at_model_server(host_settings(load_settings(environ, home)))


@pytest.mark.parametrize(
    ("model", "state", "words"),
    [
        ("qwen3", "ok", "answers and has qwen3."),
        ("llama4", "ok", "answers and has llama4."),
        ("qwen", "note", "does not list qwen; it has qwen3, llama4:latest, a, b, c, …."),
    ],
)
async def test_a_server_that_answers_is_asked_whether_it_has_the_model(
    tmp_path: Path, model: str, state: str, words: str
) -> None:
    async with openai_server() as server:
        server.models = ["qwen3", "llama4:latest", "a", "b", "c", "d"]
        found = await _looked(tmp_path, server.url, model)
        host = server.url.removeprefix("http://").removesuffix("/v1")
    assert found is not None
    assert found[0] == state
    assert found[1].startswith(host)
    assert found[1].endswith(words)


async def test_a_server_without_models_or_without_a_list_of_them_is_a_note(tmp_path: Path) -> None:
    async with openai_server() as server:
        unlisted = await _looked(tmp_path, server.url, "qwen3")
        server.models = []
        empty = await _looked(tmp_path, server.url, "qwen3")
    assert unlisted is not None
    assert unlisted[1].endswith("lists no models; check PROMETHEUS_BASE_URL when a turn fails.")
    assert empty is not None
    assert empty[1].endswith("does not list qwen3; it has none.")


async def test_a_wrong_key_and_a_server_that_is_gone_are_wrong_and_say_what_to_check(tmp_path: Path) -> None:
    async with openai_server() as server:
        refused = await _looked(tmp_path, server.url, "qwen3", f"{KEY}-old")
    gone = await _looked(tmp_path, server.url, "qwen3")
    assert refused is not None
    assert refused[0] == "wrong"
    assert "does not accept the API key (401); check PROMETHEUS_API_KEY" in refused[1]
    assert gone is not None
    assert gone[0] == "wrong"
    assert "cannot be reached; see that the server runs, and check PROMETHEUS_BASE_URL" in gone[1]


async def test_no_other_provider_is_asked_anything(tmp_path: Path) -> None:
    environ = {"PROMETHEUS_HOME": str(tmp_path)}
    assert await look_at_model_server(host_settings(load_settings(environ, tmp_path))) is None


@pytest.mark.parametrize(
    ("model", "key", "state", "words"),
    [
        (anthropic_server.MODEL, anthropic_server.KEY, "ok", f"answers and has {anthropic_server.MODEL}."),
        (
            "claude-zzz",
            anthropic_server.KEY,
            "note",
            "does not know claude-zzz; check PROMETHEUS_MODEL when",
        ),
        (anthropic_server.MODEL, "old", "wrong", "does not accept the API key (401); check PROMETHEUS_API_KEY"),
    ],
)
async def test_anthropics_server_is_asked_about_the_model_and_for_no_reply(
    tmp_path: Path, model: str, key: str, state: str, words: str
) -> None:
    async with anthropic_server.anthropic_server() as server:
        found = await _looked(tmp_path, server.url, model, key, provider="anthropic")
        assert [seen.path for seen in server.requests] == [f"/v1/models/{model}"]
    assert found is not None
    assert found[0] == state
    assert words in found[1]


async def test_an_anthropic_server_that_is_gone_is_wrong(tmp_path: Path) -> None:
    found = await _looked(tmp_path, "http://127.0.0.1:9", "claude-zzz", "k", provider="anthropic")
    assert found is not None
    assert found[0] == "wrong"
