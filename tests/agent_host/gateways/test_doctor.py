from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from agent_host.gateways.doctor import Finding, examine
from service_runtime.settings import load_settings
from tests.e2e.conftest import ROOT


def findings(home: Path, **environ: str) -> list[Finding]:
    return list(examine(load_settings({"PROMETHEUS_HOME": str(home), **environ}, home.parent)))


def told(found: list[Finding], part: str) -> list[tuple[str, str]]:
    return [(one.state, one.text) for one in found if one.part == part]


def test_an_examination_of_nothing_finds_nothing_wrong_and_makes_nothing(tmp_path: Path) -> None:
    found = findings(tmp_path / "home")
    assert [one for one in found if one.state == "wrong"] == []
    assert told(found, "home") == [
        ("note", f"{tmp_path / 'home'} does not exist yet; the first conversation makes it.")
    ]
    assert not (tmp_path / "home").exists()


def test_the_hash_of_each_verifier_is_named(tmp_path: Path) -> None:
    hashes = [
        hashlib.sha256((ROOT / "verifier" / name).read_bytes()).hexdigest() for name in ("verify.py", "verify.mjs")
    ]
    texts = [text for _, text in told(findings(tmp_path), "verifier")]
    assert texts == [f"verify.py SHA-256 {hashes[0]}", f"verify.mjs SHA-256 {hashes[1]}"]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"PROMETHEUS_PROVIDER": "anthropic"}, "needs a key: set PROMETHEUS_API_KEY"),
        ({"PROMETHEUS_PROVIDER": "llama"}, "is not known here; set one of"),
        ({"PROMETHEUS_TIMEZONE": "Mars/Olympus"}, "set PROMETHEUS_TIMEZONE to an IANA name"),
        ({"PROMETHEUS_MAX_TOKENS": "many"}, "set a whole number above 0"),
        ({"PROMETHEUS_SLOT_GATE": "on"}, "set one of: off, local, model"),
        ({"PROMETHEUS_MCP_CONFIG": "/no/such/mcp.json"}, "which is no file; correct it or leave it out"),
    ],
)
def test_a_setting_that_cannot_be_used_is_wrong_and_says_what_to_set(
    tmp_path: Path, environ: dict[str, str], expected: str
) -> None:
    ((state, text),) = told(findings(tmp_path, **environ), "model")
    assert state == "wrong"
    assert expected in text


def test_a_key_that_is_set_is_never_shown(tmp_path: Path) -> None:
    found = findings(tmp_path, PROMETHEUS_PROVIDER="anthropic", PROMETHEUS_API_KEY="sk-very-secret")
    assert told(found, "model")[0][0] == "ok"
    assert "sk-very-secret" not in str(found)


def test_what_others_can_read_is_noted_with_the_command_that_closes_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / ".env").write_text("PROMETHEUS_API_KEY=sk-1\n")
    (home / ".env").chmod(0o644)
    (home / "SOUL.md").touch(mode=0o600)
    assert told(findings(home), "home")[1:] == [
        ("note", f"{home / '.env'} can be read by others; run: chmod go-rwx {home / '.env'}")
    ]


def test_a_file_in_place_of_the_home_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "home").touch()
    ((state, text),) = told(findings(tmp_path / "home"), "home")
    assert (state, "is no folder" in text) == ("wrong", True)


def test_torn_writes_and_waiting_receipts_are_noted(tmp_path: Path) -> None:
    chains = tmp_path / "receipts" / "chains"
    chains.mkdir(parents=True)
    (chains / "turns.jsonl.torn-17").touch()
    assert [state for state, _ in told(findings(tmp_path), "ledger")] == ["ok", "note"]
    assert "turns.jsonl.torn-17" in told(findings(tmp_path), "ledger")[1][1]


def test_a_server_of_ones_own_is_named_by_its_host_and_without_its_password(tmp_path: Path) -> None:
    own = {"PROMETHEUS_PROVIDER": "openai-compatible", "PROMETHEUS_BASE_URL": "http://me:hush@localhost:11434/v1"}
    assert told(findings(tmp_path, **own, PROMETHEUS_MODEL="llama3.2"), "model") == [
        ("ok", "llama3.2 by localhost:11434")
    ]
    ((state, text),) = told(findings(tmp_path, **own), "model")
    assert (state, "PROMETHEUS_MODEL" in text) == ("wrong", True)
