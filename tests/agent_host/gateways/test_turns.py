"""`agent-host turns` and `python -m evals turns`, through the command line, over traces that real turns left."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agent_host.cli import run
from agent_host.gateways.turns import read_turns
from agent_host.providers.protocol import ToolUse
from agent_host.turn_checks.running import NAMES, checks
from evals.__main__ import main as evals
from tests.agent_host.test_turn import Room
from tests.fakes.scripted_provider import ScriptedProvider, asks, says

NOW = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)
SEARCH = asks(ToolUse("u1", "memory_search", {"query": "team"}))


@pytest_asyncio.fixture
async def home(tmp_path: Path) -> AsyncIterator[Path]:
    """A home in which two turns ran on 30 November 2026: one is fine, one claims a cost it had not."""
    folder = tmp_path / "host" / "traces"
    folder.mkdir(parents=True)
    room = Room(folder)
    try:
        await room.turn(ScriptedProvider(SEARCH, says("Ana and Bob.")), "Who is on the team?")
        await room.turn(ScriptedProvider(says("This turn cost $7.")), "What did that cost?")
    finally:
        room.close()
    yield tmp_path


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


async def test_the_turns_stand_newest_first_with_the_rate_of_each_check(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["turns", "--home", str(home), "--window", "all"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 turns in all"
    assert ["1 FAIL" in line and "What did that cost?" in line for line in lines[2:4]] == [True, False]
    rows = {line.split()[0]: line.split()[1:] for line in lines if line.startswith(NAMES)}
    assert rows["spend_claim"] == ["0", "1", "1", "0", "%"]
    assert rows["under_budget"] == ["2", "0", "0", "100", "%"]
    assert rows["one_report"] == ["0", "0", "2", "-"]
    assert any("spend_claim: the reply says $7, and the trace $0" in line for line in lines)


async def test_the_same_stands_in_one_json_document_and_under_evals(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["turns", "--home", str(home), "--window", "all", "--json"]

    assert run(arguments) == 0
    document = told(capsys)
    assert evals(arguments) == 0
    assert told(capsys) == document

    assert document["checks"]["spend_claim"] == {"passed": 0, "failed": 1, "not_applicable": 1, "percent": 0}
    assert [turn["message"] for turn in document["turns"]] == ["Who is on the team?", "What did that cost?"]
    assert {tuple(turn["checks"]) for turn in document["turns"]} == {NAMES}
    assert [turn["as_receipted"] for turn in document["turns"]] == [True, True]
    assert document["turns"][0]["cost_micro_usd"] == 48


async def test_one_turn_is_shown_step_by_step_with_the_note_of_each_check(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["turns", "--home", str(home), "--window", "all", "--json"])
    fine, wrong = (turn["turn_id"] for turn in told(capsys)["turns"])

    assert run(["turns", fine, "--home", str(home)]) == 0
    shown = capsys.readouterr().out
    assert run(["turns", wrong, "--home", str(home)]) == 1
    failing = capsys.readouterr().out

    assert "  tool memory_search: ok, 2 ms\n" in shown
    assert "  llm loop: scripted, 12 in / 33 out, $0.000\n" in shown
    assert "reply: Ana and Bob." in shown
    assert "whole, byte for byte, by its own receipt line" in shown
    assert "spend_claim       FAIL  the reply says $7, and the trace $0\n" in failing


async def test_a_trace_that_was_edited_since_its_receipt_is_told(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / "host" / "traces" / "2026-11-30.jsonl"
    path.write_text(path.read_text().replace("Ana and Bob.", "Ana and Eve."))

    run(["turns", "--home", str(home), "--window", "all"])

    assert "1 trace changed or incomplete since the receipt." in capsys.readouterr().out


async def test_a_trace_that_was_edited_with_its_receipt_line_is_not_called_the_one_that_was_signed(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["turns", "--home", str(home), "--window", "all", "--json"])
    first = told(capsys)["turns"][0]
    path = home / "host" / "traces" / "2026-11-30.jsonl"
    edited = path.read_bytes().replace(b"Ana and Bob.", b"Ana and Eve.")
    lines = edited.splitlines(keepends=True)
    ends = next(at for at, line in enumerate(lines, start=1) if b'"turn_end"' in line)
    forged = sha256(b"".join(lines[:ends])).hexdigest()
    path.write_bytes(edited.replace(first["trace_sha256"].encode(), forged.encode()))

    run(["turns", first["turn_id"], "--home", str(home)])

    shown = capsys.readouterr().out
    assert f"Its SHA-256 is {forged}; the same must be under the signature of `agent-host receipts show" in shown
    assert forged != first["trace_sha256"]


async def test_a_file_in_another_encoding_is_named_and_the_rest_is_shown(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "host" / "traces" / "2026-11-29.jsonl").write_bytes('{"type":"notice"}\n'.encode("utf-16"))

    assert run(["turns", "--home", str(home), "--window", "all"]) == 1

    printed = capsys.readouterr()
    assert printed.out.startswith("2 turns in all")
    assert "agent-host: 2026-11-29.jsonl is not UTF-8" in printed.err


async def test_a_torn_line_is_told_and_the_turn_is_one_that_did_not_end(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / "host" / "traces" / "2026-11-30.jsonl"
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:-2]) + whole[-2][:40])  # a death while the end of the second turn was written

    run(["turns", "--home", str(home), "--window", "all", "--json"])
    document = told(capsys)

    assert document["torn_lines"] == 1
    assert {one["note"] for one in document["turns"][1]["checks"].values()} == {"the turn has not ended"}


def test_a_home_without_turns_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["turns", "--home", str(tmp_path)]) == 0
    assert run(["turns", "--home", str(tmp_path), "--window", "all"]) == 0
    assert capsys.readouterr().out == "No turn was traced in the last 7 days.\nNo turn was traced yet.\n"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--window", "2w"], "There is no window '2w'; choose one of today, 7d, all."),
        (["t_01M8QJ2D4ADMN03TZ3D2N3J6C3"], "No trace names a turn 't_01M8QJ2D4ADMN03TZ3D2N3J6C3'"),
        (["nonsense"], "`agent-host turns --window all` lists them."),
    ],
)
def test_what_there_is_not_is_said_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], why: str
) -> None:
    assert run(["turns", *arguments, "--home", str(tmp_path)]) == 2
    assert why in capsys.readouterr().err


def test_evals_without_a_command_says_which_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert evals([]) == 2
    assert "usage: python -m evals" in capsys.readouterr().err


@pytest.mark.parametrize(("days", "found"), [(1, 1), (7, 3), (None, 4)])
def test_a_window_is_so_many_local_days_today_included(tmp_path: Path, days: int | None, found: int) -> None:
    for age in (0, 1, 6, 7):
        at = NOW - timedelta(days=age)
        line = {"type": "turn_start", "turn_id": f"t_{age}", "v": 2, "ts": at.isoformat()}
        (tmp_path / f"{at.date().isoformat()}.jsonl").write_text(json.dumps(line) + "\n")

    assert len(read_turns(tmp_path, NOW, UTC, days, dict(checks(None))).turns) == found
