"""Every disk that a power cut may leave of a run: each opens without a hand, with all that was acknowledged."""

from __future__ import annotations

import time

import pytest

from tests.receipt_writer.durability.lives import Inspector
from tests.receipt_writer.durability.oplog import Cut, Names, RecordingFiles, Sync, SyncFolder, Write
from tests.receipt_writer.durability.replays import Choice, judge, record, scratch


async def test_crash_states_of_a_run_open_with_all_that_was_acknowledged() -> None:
    with scratch() as place:
        judged = judge(await record(place, RecordingFiles()), place, Inspector(), Choice(mixtures=1, every=7))
    assert (judged.bad, judged.first_fault) == (0, "")
    assert judged.states > 90


@pytest.mark.durability
@pytest.mark.timeout(180)
async def test_five_thousand_crash_states_open_with_all_that_was_acknowledged() -> None:
    states, began = 0, time.process_time()
    for seed in range(2, 6):  # keys and so all bytes differ from run to run, and the mixtures by seed
        with scratch() as place:
            judged = judge(await record(place, RecordingFiles()), place, Inspector(), Choice(mixtures=20, seed=seed))
        assert (judged.bad, judged.first_fault) == (0, "")
        states += judged.states
    print(f"{states} crash states, 0 bad, {time.process_time() - began:.0f} s of CPU")  # noqa: T201 -- the figure
    assert states >= 5_000


async def test_the_run_makes_every_kind_of_storage_call() -> None:
    with scratch() as place:
        recorded = await record(place, RecordingFiles())
    kinds = {type(op) for op in recorded.files.log}
    assert kinds == {Write, Cut, Names, Sync, SyncFolder}
    named = {name for op in recorded.files.log if isinstance(op, Names) for name, _ in op.entries}
    assert {"head.json", "intents.jsonl", "turns.checkpoint", "decisions.checkpoint", "chains"} <= named
    assert any(name.startswith("decisions.torn-") for name in named)
