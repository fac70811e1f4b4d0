from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_host.gateways import misconfigurations
from agent_host.gateways.doctor import examine
from agent_host.gateways.finding import Finding
from agent_host.gateways.known_settings import KNOWN, misspelt
from service_runtime.settings import load_settings
from tests.e2e.conftest import ROOT


def findings(home: Path, **environ: str) -> list[Finding]:
    told = {"PROMETHEUS_HOME": str(home), "PATH": os.environ["PATH"], **environ}
    return list(examine(load_settings(told, home.parent), told))


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


def problems(found: list[Finding], part: str) -> list[tuple[str, str]]:
    return [(state, text) for state, text in told(found, part) if state != "ok"]


@pytest.mark.parametrize(
    ("environ", "state", "expected"),
    [
        ({"PROMETHEUS_API_KEY": "sk-ant-1"}, "note", "A key is set and not used; set PROMETHEUS_PROVIDER"),
        ({"ANTHROPIC_API_KEY": "sk-ant-1"}, "note", "A key is set and not used; set PROMETHEUS_PROVIDER"),
        ({"PROMETHEUS_MODEL": "claude-opus-5"}, "note", "PROMETHEUS_MODEL: set but not used"),
        ({"PROMETHEUS_PROVIDER": "anthropic", "PROMETHEUS_API_KEY": '"sk-ant-1"'}, "wrong", "quotes or white space"),
        ({"PROMETHEUS_PROVIDER": "anthropic", "PROMETHEUS_API_KEY": "your-key"}, "wrong", "the placeholder"),
        ({"PROMETHEUS_PROVIDER": "anthropic", "PROMETHEUS_API_KEY": "sk-proj-1"}, "note", "another vendor's"),
        (
            {"PROMETHEUS_PROVIDER": "openai-compatible", "PROMETHEUS_API_KEY": "sk-ant-1", "PROMETHEUS_MODEL": "gpt-5"},
            "note",
            "The key is Anthropic's",
        ),
    ],
)
def test_a_key_or_model_that_is_not_what_it_should_be_is_explained_and_not_shown(
    tmp_path: Path, environ: dict[str, str], state: str, expected: str
) -> None:
    found = problems(findings(tmp_path, **environ), "model")

    assert [text for told_state, text in found if told_state == state and expected in text]
    assert "sk-" not in str(found).replace("(sk-ant-)", "")


def test_a_log_level_that_is_none_is_wrong_where_it_is_set(tmp_path: Path) -> None:
    found = told(findings(tmp_path, PROMETHEUS_LOG_LEVEL="LOUD"), "settings")
    assert [state for state, text in found if text.startswith("PROMETHEUS_LOG_LEVEL is 'LOUD'")] == ["wrong"]
    assert not [text for _, text in told(findings(tmp_path, PROMETHEUS_LOG_LEVEL="Info"), "settings") if "LOG" in text]


def test_a_budget_over_a_model_without_a_price_is_told(tmp_path: Path) -> None:
    model = {
        "PROMETHEUS_PROVIDER": "openai-compatible",
        "PROMETHEUS_BASE_URL": "http://127.0.0.1:9/v1",
        "PROMETHEUS_MODEL": "m",
    }
    ((state, text),) = told(findings(tmp_path, PROMETHEUS_TURN_BUDGET_USD="1", **model), "budget")
    assert (state, "No price is known for m" in text) == ("note", True)
    assert told(findings(tmp_path, **model), "budget") == []
    assert told(findings(tmp_path, PROMETHEUS_TURN_BUDGET_USD="1"), "budget") == []


@pytest.mark.parametrize(
    ("entry", "state", "words"),
    [
        ({"command": "python3", "permission": "deny"}, "wrong", "has a member 'permission' that nothing reads"),
        ({"url": "https://a.example/mcp", "token_env": "NOPE"}, "wrong", "NOPE, which is not set"),
        ({"url": "http://a.example/mcp", "token_env": "PATH"}, "note", "goes over HTTP unencrypted"),
        ({"permissions": "ask"}, "wrong", "gives permissions for a server 'far' that is not there"),
    ],
)
def test_every_server_that_is_configured_wrongly_is_named(
    tmp_path: Path, entry: dict[str, str], state: str, words: str
) -> None:
    servers = {"far": entry, "near": {"url": "http://127.0.0.1:1/mcp", "token_env": "PATH"}, "bad": 7}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    first, second = told(findings(tmp_path, PROMETHEUS_MAX_TOKENS="9"), "mcp.json")
    assert (first[0], words in first[1]) == (state, True)
    assert (second[0], "'bad'" in second[1]) == ("wrong", True)


def test_a_budget_that_is_none_is_wrong(tmp_path: Path) -> None:
    ((state, text),) = told(findings(tmp_path, PROMETHEUS_DAY_BUDGET_USD="lots"), "budget")
    assert (state, "set dollars" in text) == ("wrong", True)


def test_a_misspelt_setting_is_found_with_the_one_that_was_meant(tmp_path: Path) -> None:
    found = told(findings(tmp_path, PROMETHEUS_PROVIDR="anthropic", PROMETHEUS_COLOUR="red"), "settings")

    assert [text for _, text in found] == [
        "PROMETHEUS_COLOUR is set and nothing reads it; remove it, or see the README for what there is.",
        "PROMETHEUS_PROVIDR is set and nothing reads it; did you mean PROMETHEUS_PROVIDER?",
    ]


def test_every_setting_that_code_or_documents_name_is_known() -> None:
    code = "\n".join(path.read_text() for path in (ROOT / "services").rglob("*.py"))
    documents = "\n".join(path.read_text() for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    named = set(re.findall(r"PROMETHEUS_([A-Z][A-Z_]+[A-Z])\b", documents))
    named |= set(re.findall(r"settings\.get\(\"([A-Z_]+)\"", code))
    named |= set(re.findall(r"(?:positive|_one_of)\(\s*settings, \"([A-Z_]+)\"", code))

    assert len(named) > 30
    assert misspelt(f"PROMETHEUS_{name}" for name in named) == []
    assert [name for name in KNOWN if name not in code] == []


def test_the_files_that_settings_come_from_are_named(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.env").write_text("PROMETHEUS_TIMEZONE=UTC\n")
    (tmp_path / ".env").write_text("PROMETHEUS_TIMEZONE=UTC\n")
    settings = load_settings({"PROMETHEUS_HOME": str(tmp_path / "home")}, tmp_path)

    (finding,) = misconfigurations.names_and_sources(settings, tmp_path)

    assert finding.text == (
        f"Read from the environment, then {tmp_path}/.env, then {tmp_path}/home/.env; the first wins."
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "is not valid JSON at line 1"),
        ('{"mcpServers": {"mine": {"command": "no-such-program"}}}', "'no-such-program', which is not found"),
        ('{"mcpServers": {"mine": {"command": "/no/such/program"}}}', "'/no/such/program', which is not found"),
        ('{"mcpServers": {"mine": {}}}', "mine"),
    ],
)
def test_a_server_that_cannot_start_is_wrong(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "mcp.json").write_text(text)

    ((state, told_text),) = told(findings(tmp_path), "mcp.json")

    assert (state, expected in told_text) == ("wrong", True)


def test_servers_that_can_start_or_are_switched_off_are_no_finding(tmp_path: Path) -> None:
    servers = {"a": {"command": "env"}, "b": {"command": "no-such-program", "disabled": True}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))

    assert told(findings(tmp_path), "mcp.json") == []


def test_another_host_on_the_home_is_named(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    with (tmp_path / "host/lock").open("w+b") as held:
        held.write(b"4711\n")
        held.flush()
        fcntl.flock(held, fcntl.LOCK_EX)
        assert ("note", "Another agent host (process 4711) uses it now; one at a time can.") in told(
            findings(tmp_path), "home"
        )
    assert "4711" not in str(findings(tmp_path))


def test_a_skill_without_front_matter_and_a_clock_that_went_back_are_noted(tmp_path: Path) -> None:
    (tmp_path / "skills/mine").mkdir(parents=True)
    (tmp_path / "skills/mine/SKILL.md").write_text("nothing")
    chains = tmp_path / "receipts/chains"
    chains.mkdir(parents=True)
    (chains / "turns.jsonl").write_text('{"recordedAtIso": "2999-01-01T00:00:00.000Z"}\n')

    found = findings(tmp_path)

    assert "The skill mine has no front matter" in str(told(found, "skills"))
    assert "is of 2999-01-01 00:00 UTC, after now" in str(told(found, "clock"))
    assert list(misconfigurations.clock(tmp_path, datetime(2999, 1, 1, tzinfo=UTC))) == []


def test_parts_that_are_not_installed_are_named_with_the_command_that_installs_them() -> None:
    (finding,) = misconfigurations.installation(lambda module: module != "fastmcp")

    assert finding.text == (
        "Not installed: memory and tool servers (fastmcp); run: pip install 'prometheus-agent[all]'"
    )


def test_what_a_terminal_lacks_is_said_with_what_to_set() -> None:
    look = misconfigurations.window

    assert list(look({"TERM": "xterm"}, is_terminal=True, encoding="utf-8", columns=80)) == []
    assert list(look({}, is_terminal=False, encoding="ascii", columns=20)) == []
    poor = look({"TERM": "dumb", "NO_COLOR": "1"}, is_terminal=True, encoding="ascii", columns=20)
    assert [word in str(one) for one, word in zip(poor, ("LANG", "TERM", "columns", "NO_COLOR"), strict=True)] == [
        True
    ] * 4
