"""`agent-host sessions`, and which session `chat --resume` goes on with."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from agent_host.chat_log import ChatLog
from agent_host.cli import run
from agent_host.errors import ConfigurationError
from agent_host.memory_settings import memory_settings
from agent_host.session_commands import with_optional_value
from service_runtime.settings import load_settings

HOW_TO = (Path(__file__).parents[3] / "docs" / "how-to" / "conversations.md").read_text(encoding="utf-8")
SETTINGS = {
    "PROMETHEUS_RETRIEVAL_GATE": "rules",
    "PROMETHEUS_RETRIEVAL_TOP_K": "4",
    "PROMETHEUS_SLOT_GATE": "local",
    "PROMETHEUS_SLOT_GATE_KEEP": "0.5",
    "PROMETHEUS_SMALL_MODEL": "small",
    "PROMETHEUS_CONSOLIDATE_EVERY": "6",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a person in Kolkata where two conversations were held, the first of them last."""
    monkeypatch.setenv("PROMETHEUS_TIMEZONE", "Asia/Kolkata")
    (tmp_path / "host").mkdir()
    log = ChatLog(tmp_path / "host" / "sessions.db")
    said = [
        ("s_1", "What is tea?", "A drink.\n\n[tools used: x {} -> y]"),
        ("s_2", "\x1b[2J\nBye", "Bye."),
        ("s_1", "And coffee?", "Too."),
    ]
    for at, (session, message, reply) in enumerate(said):
        log.store(session, f"t_{at}", "cli", (message, reply), at_ms=1_764_500_000_000 + at)
    log.close()
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], home: Path, *words: str) -> tuple[int, str]:
    status = run(["sessions", *words, "--home", str(home)])
    captured = capsys.readouterr()
    return status, captured.out + captured.err


def test_sessions_are_listed_with_numbers_titles_and_ids(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    status, shown = told(capsys, home, "list")

    first, second = shown.splitlines()
    assert status == 0
    assert first == "1  2025-11-30 16:23  What is tea?  (2 turns, s_1)"
    assert second.endswith("\\x1b[2J Bye  (1 turn, s_2)")  # what was typed cannot steer the terminal


def test_a_script_gets_them_as_json(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    _, shown = told(capsys, home, "list", "--json", "--limit", "1")

    (row,) = json.loads(shown)
    assert row == {
        "session_id": "s_1",
        "title": "What is tea?",
        "source": "cli",
        "turns": 2,
        "last_at_ms": 1_764_500_000_002,
    }


def test_what_was_said_is_found_by_its_words(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    assert told(capsys, home, "search", "COFFEE", "and")[1].splitlines() == ["2025-11-30 16:23  s_1  And coffee?"]
    assert json.loads(told(capsys, home, "search", "drink", "--json")[1])[0]["role"] == "assistant"
    assert told(capsys, home, "search", "zebra") == (1, "Nothing that was said here holds all of these words.\n")
    assert told(capsys, home, "search", "zebra", "--json") == (1, "[]\n")


@pytest.mark.parametrize("name", ["1", "s_1"])
def test_a_session_is_shown_whole_without_notes(capsys: pytest.CaptureFixture[str], home: Path, name: str) -> None:
    status, shown = told(capsys, home, "show", name)

    assert (status, shown) == (0, "you > What is tea?\nA drink.\nyou > And coffee?\nToo.\n")
    assert json.loads(told(capsys, home, "show", name, "--json")[1])["rows"][1] == {
        "role": "assistant",
        "content": "A drink.",
    }


@pytest.mark.parametrize("name", ["3", "0", "s_9", "-"])
def test_a_session_there_is_not_is_an_error_with_a_way_out(
    capsys: pytest.CaptureFixture[str], home: Path, name: str
) -> None:
    status, shown = told(capsys, home, "show", name)

    assert status == 2
    assert "There is no session" in shown


def test_a_home_without_sessions_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert told(capsys, tmp_path, "list") == (0, "There are no sessions yet.\n")
    status, shown = told(capsys, tmp_path, "show", "1")
    assert (status, "say something first" in shown) == (2, True)


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        (["chat", "--resume"], ["chat", "--resume="]),
        (["chat", "--resume", "--plain"], ["chat", "--resume=", "--plain"]),
        (["chat", "--resume", "2"], ["chat", "--resume", "2"]),
        (["chat", "--resume=s_1"], ["chat", "--resume=s_1"]),
        (["ask", "hi"], ["ask", "hi"]),
        ([], []),
    ],
)
def test_resume_takes_a_name_or_none(typed: list[str], read: list[str]) -> None:
    assert with_optional_value(typed) == read


def test_two_ways_to_name_a_session_are_one_too_many(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    assert run(["chat", "--continue", "--resume", "1", "--home", str(home)]) == 2
    assert "give one of them" in capsys.readouterr().err


def test_no_session_to_continue_is_an_error_and_starts_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(["chat", "--continue", "--plain", "--home", str(tmp_path)]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("line", re.findall(r"^agent-host .+$", HOW_TO, re.MULTILINE))
def test_the_how_tos_commands_work(line: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = ChatLog(home / "host" / "sessions.db")
    log.store("s_3", "t_9", "cli", ("I like green tea", "Noted."), at_ms=1)
    log.close()
    monkeypatch.setenv("PROMETHEUS_HOME", str(home))

    assert run(shlex.split(line)[1:]) == 0


def test_the_how_to_names_every_setting_there_is_and_no_other(tmp_path: Path) -> None:
    assert set(re.findall(r"^\| `(PROMETHEUS_\w+)`", HOW_TO, re.MULTILINE)) == set(SETTINGS)
    for name in SETTINGS:
        told = load_settings({**SETTINGS, name: "/"}, tmp_path, str(tmp_path))
        if name == "PROMETHEUS_SMALL_MODEL":
            continue  # any name is one
        with pytest.raises(ConfigurationError, match=f"{name} is '/'"):
            memory_settings(told, "anthropic")
