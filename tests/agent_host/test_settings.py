"""The host's settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_host.errors import ConfigurationError
from agent_host.providers.anthropic import DEFAULT_MODEL
from agent_host.settings import HostSettings, host_settings, require_key, writer_token
from service_runtime.settings import load_settings


def read(tmp_path: Path, **environ: str) -> HostSettings:
    return host_settings(load_settings(environ, tmp_path, str(tmp_path / "home")))


def test_the_default_needs_no_key_and_no_account(tmp_path: Path) -> None:
    told = read(tmp_path)

    assert (told.provider, told.model, told.api_key, told.writer) == ("offline", "offline-rules", None, None)
    assert (told.max_iterations, told.max_tokens, told.history_turns) == (15, 8192, 12)
    assert told.mcp_config == tmp_path / "home" / "mcp.json"


@pytest.mark.parametrize("name", ["PROMETHEUS_API_KEY", "ANTHROPIC_API_KEY"])
def test_anthropic_takes_its_key_from_either_name(tmp_path: Path, name: str) -> None:
    told = read(tmp_path, PROMETHEUS_PROVIDER="anthropic", **{name: "test-key"})

    assert (told.provider, told.model, told.api_key) == ("anthropic", DEFAULT_MODEL, "test-key")


def test_a_chosen_provider_without_its_key_says_which_setting_to_make(tmp_path: Path) -> None:
    told = read(tmp_path, PROMETHEUS_PROVIDER="anthropic")  # reading receipts needs no key

    with pytest.raises(ConfigurationError, match="set PROMETHEUS_API_KEY"):
        require_key(told)


def test_an_unknown_provider_is_refused_with_those_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="offline, anthropic"):
        read(tmp_path, PROMETHEUS_PROVIDER="oracle")


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5", "²"])
@pytest.mark.parametrize("name", ["MAX_ITERATIONS", "MAX_TOKENS", "HISTORY_TURNS", "MCP_CALL_TIMEOUT", "LLM_TIMEOUT"])
def test_counts_must_be_whole_numbers_above_zero(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=f"PROMETHEUS_{name}"):
        read(tmp_path, **{f"PROMETHEUS_{name}": value})


def token(tmp_path: Path, **environ: str) -> str | None:
    return writer_token(load_settings(environ, tmp_path, str(tmp_path / "home")))


def test_the_token_for_a_writer_elsewhere_comes_from_a_variable_or_a_private_file(tmp_path: Path) -> None:
    assert token(tmp_path) is None
    assert token(tmp_path, PROMETHEUS_WRITER_TOKEN="prt_a") == "prt_a"
    (tmp_path / "token").touch(0o600)
    (tmp_path / "token").write_text("prt_b\n")
    assert token(tmp_path, PROMETHEUS_WRITER_TOKEN_FILE=str(tmp_path / "token")) == "prt_b"


def test_a_token_that_cannot_be_used_is_told_without_showing_it(tmp_path: Path) -> None:
    file = str(tmp_path / "token")
    (tmp_path / "token").write_text("prt_b")
    (tmp_path / "token").chmod(0o644)
    wrong = {
        "run: chmod 600": {"PROMETHEUS_WRITER_TOKEN_FILE": file},
        "keep one": {"PROMETHEUS_WRITER_TOKEN_FILE": file, "PROMETHEUS_WRITER_TOKEN": "prt_c"},
        "token is none": {"PROMETHEUS_WRITER_TOKEN": "prt c"},
        "is no file": {"PROMETHEUS_WRITER_TOKEN_FILE": str(tmp_path)},
        "cannot be read": {"PROMETHEUS_WRITER_TOKEN_FILE": str(tmp_path / "none")},
    }
    for said, environ in wrong.items():
        with pytest.raises(ConfigurationError, match=said) as told:
            token(tmp_path, **environ)
        assert "prt" not in str(told.value).replace(file, "")


def test_the_certificates_for_a_writer_elsewhere_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"PROMETHEUS_WRITER_CA names .*which is no file"):
        read(tmp_path, PROMETHEUS_WRITER_CA=str(tmp_path / "none.pem"))
    (tmp_path / "ca.pem").touch()
    assert read(tmp_path, PROMETHEUS_WRITER_CA=str(tmp_path / "ca.pem")).writer_ca == tmp_path / "ca.pem"


def test_small_calls_go_to_the_model_itself_unless_another_is_named(tmp_path: Path) -> None:
    claude = {"PROMETHEUS_PROVIDER": "anthropic", "PROMETHEUS_MODEL": "big"}

    assert read(tmp_path, **claude).small_model == "big"
    assert read(tmp_path, **claude, PROMETHEUS_SMALL_MODEL="small").small_model == "small"
    assert read(tmp_path, PROMETHEUS_SMALL_MODEL="small").small_model == "offline-rules"


def test_an_openai_compatible_server_of_ones_own_needs_a_model_and_no_key(tmp_path: Path) -> None:
    local = {"PROMETHEUS_PROVIDER": "openai-compatible", "PROMETHEUS_BASE_URL": "http://me:pw@localhost:11434"}
    told = read(tmp_path, **local, PROMETHEUS_MODEL="llama3.2")

    require_key(told)
    assert (told.model, told.small_model, told.api_key) == ("llama3.2", "llama3.2", None)
    assert told.answered_by == "localhost:11434"
    with pytest.raises(ConfigurationError, match="PROMETHEUS_MODEL"):
        require_key(read(tmp_path, **local))
    with pytest.raises(ConfigurationError, match="PROMETHEUS_BASE_URL"):
        require_key(read(tmp_path, **{**local, "PROMETHEUS_BASE_URL": "localhost"}, PROMETHEUS_MODEL="llama3.2"))


def test_openais_own_key_is_shown_to_nobody_but_openai(tmp_path: Path) -> None:
    chosen = {"PROMETHEUS_PROVIDER": "openai-compatible", "PROMETHEUS_MODEL": "gpt-6-luna"}
    key = {"OPENAI_API_KEY": "sk-openai"}

    assert read(tmp_path, **chosen, **key).api_key == "sk-openai"
    assert read(tmp_path, **chosen, **key, PROMETHEUS_BASE_URL="https://openrouter.ai/api/v1").api_key is None
    assert read(tmp_path, **chosen, **key, PROMETHEUS_API_KEY="sk-mine").api_key == "sk-mine"
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        require_key(read(tmp_path, **chosen))
