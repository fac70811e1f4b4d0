from __future__ import annotations

from pathlib import Path

from agent_host.environments import child_environment, tool_environment
from service_runtime.settings import load_settings

ENVIRON = {
    "PATH": "/bin",
    "PROMETHEUS_API_KEY": "the model's",
    "ANTHROPIC_API_KEY": "the model's",
    "PROMETHEUS_TIMEZONE": "Europe/Berlin",
    "PROMETHEUS_RECEIPTS_PASSPHRASE": "the writer's",
    "PROMETHEUS_RECEIPTS_ENTRY_SEED": "the writer's",
}


def test_no_child_sees_the_models_keys(tmp_path: Path) -> None:
    seen = child_environment(ENVIRON, load_settings(ENVIRON, tmp_path, str(tmp_path)))
    assert "the model's" not in seen.values()
    assert (seen["PATH"], seen["PROMETHEUS_TIMEZONE"]) == ("/bin", "Europe/Berlin")


def test_the_writers_secrets_are_for_the_writer_alone(tmp_path: Path) -> None:
    settings = load_settings(ENVIRON, tmp_path, str(tmp_path))
    assert child_environment(ENVIRON, settings)["PROMETHEUS_RECEIPTS_PASSPHRASE"] == "the writer's"
    seen = tool_environment(ENVIRON, settings)
    assert not {"the writer's", "the model's"} & set(seen.values())
    assert (seen["PATH"], seen["PROMETHEUS_HOME"]) == ("/bin", str(tmp_path))
