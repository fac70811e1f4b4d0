"""The receipt log over an in-memory writer and a real spool."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent_host.errors import WriterUnavailableError
from agent_host.receipts.commitments import Opening, commit
from agent_host.receipts.drafts import DecisionDraft, DecisionRef, TurnReceipt
from agent_host.receipts.log import ReceiptLog
from agent_host.receipts.openings import OpeningStore
from agent_host.receipts.protocol import ReceiptStatus, StoredEntry
from agent_host.receipts.spool import Spool
from tests.agent_host.receipts.test_spool import DECISION, INTENT, RECEIPT, SPEC
from tests.fakes.writer import FakeWriter

OPENING = commit("t_1", "inputHash", "hello").opening


class Setup:
    """A log, what it writes to, and what it falls back on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writer = FakeWriter()
        self.openings = OpeningStore(folder / "openings.db")
        self.spool = Spool(folder / "spool.jsonl")
        self.now_s, self.ensured = 0.0, 0
        self.log = ReceiptLog(self.writer, self.spool, self.openings, self._ensure, lambda: self.now_s)

    async def _ensure(self) -> None:
        self.ensured += 1
        if self.writer.away:
            raise WriterUnavailableError("It does not answer.")

    async def turn(self, number: int) -> ReceiptStatus:
        turn_id, call_id = f"t_{number}", f"c_{number}"
        await self.log.begin_turn(replace(INTENT, turn_id=turn_id), _opening(turn_id))
        entry_id = await self.log.append_decision(
            replace(DECISION, turn_id=turn_id, call_id=call_id), (_opening(call_id),)
        )
        return await self.log.append_turn(_receipt(turn_id, call_id, entry_id), _opening(turn_id))


def _opening(owner: str) -> Opening:
    return replace(OPENING, owner_id=owner)


def _receipt(turn_id: str, call_id: str, entry_id: int | None) -> TurnReceipt:
    return replace(RECEIPT, turn_id=turn_id, decisions=(DecisionRef(call_id, entry_id),))


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[Setup]:
    made = Setup(tmp_path)
    yield made
    made.openings.close()


async def test_a_writer_that_answers_signs_at_once(setup: Setup) -> None:
    status = await setup.turn(1)

    assert status.entry is not None
    assert (status.entry.id, status.queued) == (1, 0)
    assert setup.openings.find("c_1", "inputHash") is not None


async def test_a_spec_waits_in_the_spool_once_and_goes_before_the_decision_under_it(setup: Setup) -> None:
    setup.writer.away = True
    await setup.log.register_spec(SPEC)
    await setup.log.append_decision(DECISION, ())
    later = ReceiptLog(setup.writer, Spool(setup.folder / "spool.jsonl"), setup.openings, setup._ensure)
    await later.register_spec(SPEC)

    assert Spool(setup.folder / "spool.jsonl").drafts() == (SPEC, DECISION)

    setup.writer.away = False
    await later.begin_turn(INTENT, OPENING)
    await later.register_spec(SPEC)

    assert setup.writer.specs == [SPEC]
    assert setup.writer.asked[-4:] == [SPEC.spec_hash, DECISION.call_id, INTENT.turn_id, SPEC.spec_hash]


async def test_a_spec_that_is_refused_is_told_and_stops_nothing(setup: Setup) -> None:
    setup.writer.refuses = {SPEC.spec_hash}
    await setup.log.register_spec(SPEC)

    assert await setup.log.append_decision(DECISION, ()) == 1
    assert setup.log.problems() == (f"A draft was set aside: {SPEC.spec_hash} is refused",)


async def test_a_writer_that_is_away_costs_no_receipt(setup: Setup) -> None:
    setup.writer.away = True

    first = await setup.turn(1)
    second = await setup.turn(2)

    assert (first.entry, first.queued) == (None, 1)
    assert (second.entry, second.queued) == (None, 2)
    assert len(Spool(setup.folder / "spool.jsonl")) == 6


async def test_what_waited_is_sent_first_and_in_order_when_the_writer_returns(setup: Setup) -> None:
    setup.writer.away = True
    await setup.turn(1)
    await setup.turn(2)
    setup.writer.away = False

    status = await setup.turn(3)

    assert status.entry is not None
    assert [receipt.turn_id for receipt in setup.writer.turns] == ["t_1", "t_2", "t_3"]
    assert [decision.call_id for decision in setup.writer.decisions] == ["c_1", "c_2", "c_3"]
    assert len(Spool(setup.folder / "spool.jsonl")) == 0


async def call(setup: Setup, number: int) -> int | None:
    """Records a call that belongs to no turn."""
    return await setup.log.append_decision(replace(DECISION, turn_id=None, call_id=f"c_{number}"), ())


async def test_calls_outside_a_turn_are_signed_again_after_one_hiccup_and_in_order(setup: Setup) -> None:
    signed = []
    for number, away in enumerate((False, True, False, False), start=1):
        setup.writer.away = away
        signed.append(await call(setup, number))
    assert signed == [1, None, 3, 4]
    assert [decision.call_id for decision in setup.writer.decisions] == ["c_1", "c_2", "c_3", "c_4"]
    assert (setup.log.problems(), len(setup.spool)) == ((), 0)


async def test_calls_outside_a_turn_ask_for_a_writer_that_stays_away_ever_less_often(setup: Setup) -> None:
    setup.writer.away = True
    for number in range(100):
        setup.now_s += 1
        await call(setup, number)
    assert setup.ensured == 8  # at once, and after 1, 2, 4, 8, 16, 30 and 30 s
    setup.writer.away = False
    setup.now_s += 30
    assert await call(setup, 100) == 101


async def test_a_writer_that_answers_and_takes_nothing_is_left_alone_as_well(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    async def stuck(_: DecisionDraft) -> StoredEntry:
        nonlocal asked
        asked += 1
        raise WriterUnavailableError("It hangs.")

    monkeypatch.setattr(setup.writer, "append_decision", stuck)
    for number in range(10):
        await call(setup, number)
    assert asked == 2


async def test_calls_of_a_turn_do_not_wait_for_the_writer_again(setup: Setup) -> None:
    setup.writer.away = True
    await setup.turn(1)
    assert setup.ensured == 1


async def test_a_decision_that_must_be_signed_is_asked_for_again_when_the_answer_was_lost(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, lost = setup.writer.append_decision, [True]

    async def lose_the_first_answer(draft: DecisionDraft) -> StoredEntry:
        entry = await append(draft)
        if lost.pop():
            lost.append(False)
            raise WriterUnavailableError("The answer was lost.")
        return entry

    monkeypatch.setattr(setup.writer, "append_decision", lose_the_first_answer)
    assert await setup.log.sign_decision(DECISION, (_opening("c_1"),)) == 1
    assert len(setup.writer.decisions) == 1
    assert setup.openings.find("c_1", "inputHash") is not None


async def test_a_decision_that_must_be_signed_waits_in_no_spool(setup: Setup) -> None:
    setup.writer.away = True
    with pytest.raises(WriterUnavailableError):
        await setup.log.sign_decision(DECISION, (_opening("c_1"),))
    assert len(setup.spool) == 0
    assert setup.openings.find("c_1", "inputHash") is None


async def test_what_is_queued_while_others_are_sent_is_not_lost(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    setup.writer.away = True
    for number in (1, 2):
        await setup.log.append_decision(replace(DECISION, call_id=f"c_{number}"), ())
    setup.writer.away, setup.log._away = False, None
    sending, go_on, append = asyncio.Event(), asyncio.Event(), setup.writer.append_decision

    async def slow(draft: DecisionDraft) -> StoredEntry:
        sending.set()
        await go_on.wait()
        return await append(draft)

    monkeypatch.setattr(setup.writer, "append_decision", slow)
    calls = [
        asyncio.ensure_future(setup.log.append_decision(replace(DECISION, call_id=f"c_{number}"), ()))
        for number in (3, 4)
    ]
    await sending.wait()
    go_on.set()
    assert await asyncio.gather(*calls) == [3, 4]
    assert [decision.call_id for decision in setup.writer.decisions] == ["c_1", "c_2", "c_3", "c_4"]


async def test_a_draft_that_fails_while_others_drain_stays_in_the_spool(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.spool.append(replace(DECISION, call_id="c_1"))
    draining, go_on, append = asyncio.Event(), asyncio.Event(), setup.writer.append_decision

    async def slow_then_away(draft: DecisionDraft) -> StoredEntry:
        if draft.call_id == "c_1":
            draining.set()
            await go_on.wait()
            return await append(draft)
        raise WriterUnavailableError("It went away.")

    monkeypatch.setattr(setup.writer, "append_decision", slow_then_away)
    calls = [
        asyncio.ensure_future(setup.log.append_decision(replace(DECISION, call_id=f"c_{number}"), ()))
        for number in (2, 3)
    ]
    await draining.wait()
    go_on.set()
    assert await asyncio.gather(*calls) == [None, None]
    waiting = [getattr(draft, "call_id", "") for draft in Spool(setup.folder / "spool.jsonl").drafts()]
    assert sorted(waiting) == ["c_2", "c_3"]


async def test_a_queued_receipt_learns_the_entry_ids_of_its_decisions(setup: Setup) -> None:
    setup.writer.away = True
    await setup.turn(1)
    setup.writer.away = False

    await setup.turn(2)

    assert setup.writer.turns[0].decisions == (DecisionRef("c_1", 1),)


async def test_a_writer_that_dies_in_the_middle_of_a_turn_leaves_the_rest_in_the_spool(setup: Setup) -> None:
    await setup.log.begin_turn(INTENT, OPENING)
    entry_id = await setup.log.append_decision(DECISION, (_opening("c_1"),))
    setup.writer.away = True

    status = await setup.log.append_turn(_receipt("t_1", "c_1", entry_id), OPENING)

    assert (status.entry, status.queued) == (None, 1)
    assert setup.spool.drafts() == (_receipt("t_1", "c_1", 1),)


async def test_the_spool_survives_a_host_that_ends_between_decision_and_receipt(setup: Setup) -> None:
    setup.writer.away = True
    await setup.turn(1)
    setup.writer.away = False

    again = Setup(setup.folder)
    status = await again.turn(2)
    again.openings.close()

    assert status.entry is not None
    assert [receipt.turn_id for receipt in again.writer.turns] == ["t_1", "t_2"]


async def test_a_refused_draft_is_set_aside_and_does_not_block_the_next_turn(setup: Setup) -> None:
    setup.writer.refuses = {"t_1"}
    refused = await setup.turn(1)

    signed = await setup.turn(2)

    assert (refused.entry, refused.refused) == (None, "t_1 is refused")
    assert signed.entry is not None
    assert (setup.folder / "spool.refused.jsonl").read_text().count("\n") == 2


async def test_a_refused_draft_in_the_spool_does_not_block_what_waits_behind_it(setup: Setup) -> None:
    setup.writer.away = True
    await setup.turn(1)
    await setup.turn(2)
    setup.writer.away = False
    setup.writer.refuses = {"t_1"}

    status = await setup.turn(3)

    assert status.entry is not None
    assert [receipt.turn_id for receipt in setup.writer.turns] == ["t_2", "t_3"]


async def test_openings_that_cannot_be_kept_cost_no_receipt_and_are_told_once(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Opening) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(setup.openings, "keep", full)

    status = await setup.turn(1)

    assert status.entry is not None
    told = "What was committed to can be verified but not revealed: it was not kept (database or disk is full)."
    assert setup.log.problems() == (told,)
    assert setup.log.problems() == ()
