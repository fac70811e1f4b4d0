"""`agent-host cost`, through the command line."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent_host.cli import run
from agent_host.gateways.cost import cost_lines
from agent_host.providers.protocol import Usage
from agent_host.usage import UsageFile, UsageRow

NOW = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)


def row(at: datetime, model: str = "claude-haiku-4-5", usage: Usage | None = Usage(100, 10)) -> UsageRow:  # noqa: B008
    provider = "anthropic" if model.startswith("claude") else "openai-compatible"
    return UsageRow(at, provider, model, "loop", "t_1", usage)


def home(tmp_path: Path, *models: str) -> str:
    (tmp_path / "host").mkdir()
    lines = [
        {"ts": datetime.now(UTC).isoformat(), "provider": "anthropic", "model": model, "kind": "loop", "turn_id": None}
        | {"in": 1_000_000, "out": 2}
        for model in models
    ]
    (tmp_path / "host" / "usage.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(tmp_path)


def test_calls_are_added_up_by_local_day_and_model() -> None:
    rows = [row(NOW), row(NOW, usage=Usage(1, 1, cache_read_tokens=1000)), row(NOW, "qwen3"), row(NOW, usage=None)]
    lines = cost_lines([row(NOW - timedelta(days=1)), *rows], NOW, UTC, None)
    assert [(line.day, line.model, line.calls) for line in lines] == [
        ("2026-11-30", "claude-haiku-4-5", 1),
        ("2026-12-01", "claude-haiku-4-5", 3),
        ("2026-12-01", "qwen3", 1),
    ]
    today = lines[1]
    assert (today.input_tokens, today.output_tokens) == (1101, 11)
    assert (today.cost_micro_usd, today.unpriced_calls) == (100 + 50 + 1 + 5 + 100, 1)
    assert (lines[2].cost_micro_usd, lines[2].unpriced_calls) == (0, 1)


def test_what_a_tool_charged_has_a_line_of_its_own_that_is_no_estimate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = home(tmp_path)
    usage = UsageFile(tmp_path / "host" / "usage.jsonl", lambda: datetime.now(UTC))
    usage.charge("search", "search_web", 4_000, "t_1")
    usage.charge("search", "search_web", 8_500, None)
    assert run(["cost", "--home", folder]) == 0
    _, line, total = capsys.readouterr().out.splitlines()
    assert line.split()[1:] == ["search_web", "(search)", "2", "$0.0125"]
    assert total == "total $0.0125"
    assert run(["cost", "--home", folder, "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["lines"]
    assert (told["provider"], told["cost_micro_usd"], told["estimated"]) == ("search", 12_500, False)


@pytest.mark.parametrize(("days", "kept"), [(1, 1), (7, 3), (None, 4)])
def test_a_window_is_so_many_local_days_today_included(days: int | None, kept: int) -> None:
    ages = (timedelta(0), timedelta(days=1), timedelta(days=6), timedelta(days=7))
    assert len(cost_lines([row(NOW - age) for age in ages], NOW, UTC, days)) == kept


def test_the_table_says_what_is_estimated_and_what_is_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["cost", "--home", home(tmp_path, "claude-haiku-4-5", "claude-of-tomorrow"), "--window", "today"]) == 0
    title, first, second, total = capsys.readouterr().out.splitlines()
    assert title.split() == ["day", "model", "calls", "in", "out", "cost"]
    assert first.split()[1:] == ["claude-haiku-4-5", "1", "1,000,000", "2", "$1.0000", "est"]
    assert second.endswith("no price known")
    assert total == "total $1.0000 est, without 1 call whose price is not known"


def test_json_has_one_document_in_micro_dollars(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", "--home", home(tmp_path, "claude-haiku-4-5"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (line,) = told["lines"]
    assert (told["window"], line["cost_micro_usd"], line["estimated"]) == ("all", 1_000_010, True)


def test_a_home_without_calls_and_a_window_that_is_none_are_told_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["cost", "--home", str(tmp_path / "none")]) == 0
    assert capsys.readouterr().out == "No model was asked yet.\n"
    assert not (tmp_path / "none").exists()
    assert run(["cost", "--home", str(tmp_path), "--window", "30d"]) == 2
    assert "today, 7d, all" in capsys.readouterr().err
