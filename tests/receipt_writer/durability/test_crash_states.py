"""Every disk that a power cut may leave of a run: each opens without a hand, with all that was acknowledged."""

from __future__ import annotations

import time

import pytest

from tests.receipt_writer.durability.lives import Inspector
from tests.receipt_writer.durability.oplog import Cut, Names, RecordingFiles, Sync, SyncFolder, Write
from tests.receipt_writer.durability.replays import Choice, judge, record, scratch

HALF_MIXTURES = 16
"""So many random mixtures after each call make half of the five thousand states."""


async def test_crash_states_of_a_run_open_with_all_that_was_acknowledged() -> None:
    with scratch() as place:
        judged = judge(await record(place, RecordingFiles()), place, Inspector(), Choice(mixtures=1, every=29))
    assert (judged.bad, judged.first_fault) == (0, "")
    assert judged.states > 60


@pytest.mark.durability
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [2, 3])  # keys, and so all bytes, differ from run to run; the mixtures by seed
async def test_five_thousand_crash_states_open_with_all_that_was_acknowledged(seed: int) -> None:
    began = time.process_time()
    with scratch() as place:
        recorded = await record(place, RecordingFiles())
        judged = judge(recorded, place, Inspector(), Choice(mixtures=HALF_MIXTURES, seed=seed))
    assert (judged.bad, judged.first_fault) == (0, "")
    spent = time.process_time() - began
    print(f"{judged.states} crash states of {len(recorded.files.log)} calls, 0 bad, {spent:.0f} s of CPU")  # noqa: T201
    assert judged.states >= 2_500


async def test_the_run_makes_every_kind_of_storage_call() -> None:
    with scratch() as place:
        recorded = await record(place, RecordingFiles())
    kinds = {type(op) for op in recorded.files.log}
    assert kinds == {Write, Cut, Names, Sync, SyncFolder}
    named = {name for op in recorded.files.log if isinstance(op, Names) for name, _ in op.entries}
    assert {"head.json", "intents.jsonl", "turns.checkpoint", "decisions.checkpoint", "chains"} <= named
    assert any(name.startswith("decisions.torn-") for name in named)
