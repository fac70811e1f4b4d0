"""The slot gate keeps what scores enough, and everything when scoring fails."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_host.gates.hits import Hit
from agent_host.gates.slots import FULL_BP, ModelScorer, ShareScorer, earned
from agent_host.tracing.events import SlotsDecided, SlotVerdict
from agent_host.tracing.turn_events import TurnEvents
from tests.agent_host.constrained.parts import Desk
from tests.agent_host.gates.parts import hit, turn_events

HITS = (hit(1, 4.0), hit(2, 2.0), hit(3, 0.4))


class Fixed:
    """A scorer with prepared scores, or a fault."""

    def __init__(self, *scores: int, fault: Exception | None = None) -> None:
        self._scores = scores
        self._fault = fault

    async def scores(self, message: str, hits: Sequence[Hit], events: TurnEvents) -> Sequence[int]:
        del message, hits, events
        if self._fault:
            raise self._fault
        return self._scores


async def test_what_is_far_below_the_best_hit_is_noise(tmp_path: Path) -> None:
    events = turn_events(tmp_path)

    assert await earned("?", HITS, ShareScorer(), 5_000, events) == HITS[:2]
    assert events.kept == [
        SlotsDecided(
            (
                SlotVerdict("mem_1", 10_000, kept=True),
                SlotVerdict("mem_2", 5_000, kept=True),
                SlotVerdict("mem_3", 1_000, kept=False),
            )
        )
    ]


async def test_a_hit_without_a_score_counts_in_full(tmp_path: Path) -> None:
    hits = (hit(1, 4.0), hit(2, None), hit(3, 0.0))

    assert await ShareScorer().scores("?", hits, turn_events(tmp_path)) == [FULL_BP, FULL_BP, 0]
    assert await ShareScorer().scores("?", (hit(1, 0.0),), turn_events(tmp_path)) == [FULL_BP]


@pytest.mark.parametrize("scorer", [Fixed(fault=RuntimeError("x")), Fixed(fault=TimeoutError()), Fixed(1), Fixed()])
async def test_any_failure_keeps_every_memory(tmp_path: Path, scorer: Fixed) -> None:
    events = turn_events(tmp_path)

    assert await earned("?", HITS, scorer, 5_000, events) == HITS
    assert events.kept == []


async def test_a_model_names_what_changes_nothing(desk: Desk) -> None:
    scorer = ModelScorer(desk.saying('{"dropped": [2, 9]}'))

    assert await earned("?", HITS, scorer, 5_000, turn_events(desk.folder)) == (HITS[0], HITS[2])
    assert desk.entry.spec_id == "slot-gate"


@pytest.mark.parametrize("line", ["no JSON", '{"dropped": ["all"]}', '{"dropped": [true]}'])
async def test_a_model_that_answers_badly_drops_nothing(desk: Desk, line: str) -> None:
    assert await earned("?", HITS, ModelScorer(desk.saying(line, line)), 5_000, turn_events(desk.folder)) == HITS


async def test_no_hits_ask_nobody(tmp_path: Path) -> None:
    assert await earned("?", (), Fixed(fault=AssertionError()), 5_000, turn_events(tmp_path)) == ()
