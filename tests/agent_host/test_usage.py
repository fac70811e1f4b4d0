"""The usage ledger: what is written, what is read back, what today cost."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from agent_host.providers.protocol import Identity, Usage
from agent_host.tracing.events import ModelCalled
from agent_host.usage import UsageFile, UsageRow

ZONE = ZoneInfo("Europe/Berlin")
HAIKU = Identity("anthropic", "claude-haiku-4-5", "4-5")  # 1 and 5 micro-dollars a token
LOCAL = Identity("openai-compatible", "qwen3", "qwen3")


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = datetime(2026, 12, 1, 9, 0, tzinfo=ZONE)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(tmp_path: Path, clock: Clock) -> UsageFile:
    return UsageFile(tmp_path / "usage.jsonl", clock)


def called(usage: Usage, who: Identity = HAIKU, cost: int | None = 1) -> ModelCalled:
    return ModelCalled("loop", who, "end_turn", usage, cost, 5, "ok", "c_1", 1)


def test_a_row_says_who_was_asked_and_what_was_counted_and_no_price(tmp_path: Path, ledger: UsageFile) -> None:
    ledger.add(called(Usage(1200, 85)), "t_1")
    ledger.add(called(Usage(10, 5, cache_read_tokens=7, cache_write_tokens=8)), None)

    first, second = (json.loads(line) for line in (tmp_path / "usage.jsonl").read_text().splitlines())

    assert first == {
        "ts": "2026-12-01T08:00:00.000Z",
        "provider": "anthropic",
        "model": "claude-haiku-4-5",
        "kind": "loop",
        "turn_id": "t_1",
        "in": 1200,
        "out": 85,
    }
    assert (second["turn_id"], second["cache_read"], second["cache_write"]) == (None, 7, 8)
    assert stat.S_IMODE((tmp_path / "usage.jsonl").stat().st_mode) == 0o600


def test_what_is_written_is_read_back_and_priced_when_it_is_read(ledger: UsageFile) -> None:
    usage = Usage(1200, 85, cache_read_tokens=1000)
    ledger.add(called(usage, cost=999), "t_1")

    (row,) = ledger.rows()

    at = datetime(2026, 12, 1, 8, 0, tzinfo=UTC)
    assert row == UsageRow(at, "anthropic", "claude-haiku-4-5", "loop", "t_1", usage)
    assert row.cost_micro_usd == 1200 + 5 * 85 + 100


def test_a_call_whose_tokens_nobody_counted_is_a_row_without_a_cost(ledger: UsageFile) -> None:
    ledger.add(called(Usage(), cost=None), "t_1")
    ledger.add(called(Usage(), LOCAL, cost=None), "t_1")
    ledger.add(called(Usage(), Identity("offline", "offline-rules", "1"), cost=0), "t_1")

    rows = list(ledger.rows())

    assert [row.usage for row in rows] == [None, None, Usage()]
    assert [row.cost_micro_usd for row in rows] == [None, None, 0]


def test_torn_and_foreign_lines_are_passed_over_and_nothing_after_them_is_lost(
    tmp_path: Path, ledger: UsageFile
) -> None:
    rows = ['"words"', "[]", '{"ts": "2026-12-01T08:00:00Z"}', '{"ts": 7, "in": 1, "out": 1}', '{"ts": "2026-1']
    (tmp_path / "usage.jsonl").write_text("\n".join(rows))

    ledger.add(called(Usage(1, 1)), "t_1")

    assert [row.turn_id for row in ledger.rows()] == ["t_1"]
    assert ledger.spent_today_micro_usd() == 6


@pytest.mark.parametrize("count", ["-1", "true", '"9"', "1.5"])
def test_a_row_with_a_count_that_is_none_is_passed_over(tmp_path: Path, ledger: UsageFile, count: str) -> None:
    good = '{"ts": "2026-12-01T08:00:00Z", "provider": "a", "model": "b", "kind": "loop", "turn_id": null, "out": 1, '
    (tmp_path / "usage.jsonl").write_text(f'{good}"in": {count}}}\n')

    assert list(ledger.rows()) == []


def test_today_is_what_was_spent_since_local_midnight_whoever_wrote_it(
    tmp_path: Path, clock: Clock, ledger: UsageFile
) -> None:
    clock.now = datetime(2026, 12, 1, 23, 59, tzinfo=ZONE)
    ledger.add(called(Usage(100)), "t_1")
    assert ledger.spent_today_micro_usd() == 100

    clock.now += timedelta(minutes=2)  # half past ten in the evening, for UTC
    assert ledger.spent_today_micro_usd() == 0
    ledger.add(called(Usage(7)), "t_2")
    UsageFile(tmp_path / "usage.jsonl", clock).add(called(Usage(5)), None)
    ledger.add(called(Usage(9), LOCAL, cost=None), "t_2")

    assert ledger.spent_today_micro_usd() == 12
    assert UsageFile(tmp_path / "usage.jsonl", clock).spent_today_micro_usd() == 12


def test_a_disk_that_refuses_a_row_costs_only_the_row(tmp_path: Path, clock: Clock) -> None:
    ledger = UsageFile(tmp_path / "gone" / "usage.jsonl", clock)

    ledger.add(called(Usage(1, 1)), "t_1")

    assert list(ledger.rows()) == []
    assert ledger.spent_today_micro_usd() == 0
