"""What the host can be told about memory in its turns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from agent_host.errors import ConfigurationError
from agent_host.memory_settings import MemorySettings, memory_settings
from agent_host.settings import ProviderName
from service_runtime.settings import load_settings


def told(tmp_path: Path, provider: ProviderName, environ: Mapping[str, str]) -> MemorySettings:
    named = {f"PROMETHEUS_{name}": value for name, value in environ.items()}
    return memory_settings(load_settings(named, tmp_path, str(tmp_path / "home")), provider)


def read(tmp_path: Path, **environ: str) -> MemorySettings:
    return told(tmp_path, "anthropic", environ)


def offline(tmp_path: Path, **environ: str) -> MemorySettings:
    return told(tmp_path, "offline", environ)


def test_a_model_is_gated_by_a_model_and_brings_four_memories(tmp_path: Path) -> None:
    assert read(tmp_path) == MemorySettings("model", 4, "off", 5_000, 6)


def test_the_offline_rules_search_by_themselves(tmp_path: Path) -> None:
    assert offline(tmp_path).retrieval_gate == "off"
    assert offline(tmp_path, RETRIEVAL_GATE="rules").retrieval_gate == "rules"


@pytest.mark.parametrize("name", ["RETRIEVAL_GATE", "SLOT_GATE"])
def test_the_offline_provider_is_no_model_to_ask(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"PROMETHEUS_{name} is 'model', and the offline provider is none"):
        offline(tmp_path, **{name: "model"})


def test_every_number_can_be_told(tmp_path: Path) -> None:
    read_back = read(tmp_path, RETRIEVAL_TOP_K="9", SLOT_GATE="local", SLOT_GATE_KEEP="0.25", CONSOLIDATE_EVERY="1")

    assert read_back == MemorySettings("model", 9, "local", 2_500, 1)


@pytest.mark.parametrize("keep", ["-0.1", "1.1", "half", "NaN", "Infinity", "1e9"])
def test_a_share_is_a_number_from_0_to_1(tmp_path: Path, keep: str) -> None:
    with pytest.raises(ConfigurationError, match="PROMETHEUS_SLOT_GATE_KEEP"):
        read(tmp_path, SLOT_GATE_KEEP=keep)


@pytest.mark.parametrize(
    ("name", "value"),
    [("RETRIEVAL_GATE", "on"), ("SLOT_GATE", "jev"), ("RETRIEVAL_TOP_K", "0"), ("CONSOLIDATE_EVERY", "-1")],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=f"PROMETHEUS_{name} is '{value}'"):
        read(tmp_path, **{name: value})
