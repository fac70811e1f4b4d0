"""Every `SlotScorer`: a score for each hit, in order, within bounds, and for nothing nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_host.gates.slots import FULL_BP, ModelScorer, ShareScorer, SlotScorer
from tests.agent_host.constrained.parts import Desk
from tests.agent_host.gates.parts import hit, turn_events
from tests.fakes.scripted_provider import ScriptedProvider, says


@pytest.fixture(params=["local", "model"])
def scorer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SlotScorer]:
    desk = Desk(tmp_path)
    model = ScriptedProvider(lambda _: says('{"dropped": [2]}'))
    yield ShareScorer() if request.param == "local" else ModelScorer(desk.options(model))
    desk.close()


@pytest.mark.parametrize("count", [1, 4])
async def test_each_hit_gets_a_score_within_bounds(scorer: SlotScorer, tmp_path: Path, count: int) -> None:
    hits = [hit(number, score=4.0 / number) for number in range(1, count + 1)]

    scores = await scorer.scores("What?", hits, turn_events(tmp_path))

    assert len(scores) == count
    assert all(0 <= score <= FULL_BP for score in scores)


async def test_the_same_hits_get_the_same_scores(scorer: SlotScorer, tmp_path: Path) -> None:
    hits, events = [hit(1, 3.0), hit(2, 0.2)], turn_events(tmp_path)

    assert await scorer.scores("What?", hits, events) == await scorer.scores("What?", hits, events)


async def test_the_one_that_matters_less_scores_less(scorer: SlotScorer, tmp_path: Path) -> None:
    first, second = await scorer.scores("What?", [hit(1, 3.0), hit(2, 0.2)], turn_events(tmp_path))

    assert first > second
