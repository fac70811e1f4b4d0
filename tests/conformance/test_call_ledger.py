"""What every ledger of calls keeps to, with a spool or without: the contract of `receipts.protocol.CallLedger`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent_host.constrained import run_constrained_ai
from agent_host.constrained.registering import SpecLog
from agent_host.errors import ReceiptRefusedError, WriterUnavailableError
from agent_host.receipts.beside import LedgerBeside
from agent_host.receipts.commitments import commit
from agent_host.receipts.drafts import DecisionDraft
from agent_host.receipts.log import ReceiptLog
from agent_host.receipts.openings import OpeningStore
from agent_host.receipts.protocol import CallLedger, StoredEntry
from agent_host.receipts.spool import Spool
from tests.agent_host.constrained.parts import DEFAULT, GOOD, MESSAGE, Desk, spec
from tests.agent_host.receipts.test_spool import DECISION, SPEC
from tests.fakes.writer import FakeWriter

OPENING = commit(DECISION.call_id, "inputHash", "hello").opening


class Setup:
    """A ledger of each kind, before an in-memory writer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writer = FakeWriter()
        self.openings = OpeningStore(folder / "openings.db")

    def with_spool(self) -> CallLedger:
        return ReceiptLog(self.writer, Spool(self.folder / "spool.jsonl"), self.openings, self._ensure)

    def beside(self) -> CallLedger:
        return LedgerBeside(self.writer, self.openings, self._ensure)

    async def _ensure(self) -> None:
        if self.writer.away:
            raise WriterUnavailableError("No receipt writer answers.")


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[Setup]:
    made = Setup(tmp_path)
    yield made
    made.openings.close()


@pytest.fixture(params=[Setup.with_spool, Setup.beside], ids=["with a spool", "beside"])
def ledger(request: pytest.FixtureRequest, setup: Setup) -> CallLedger:
    make: Callable[[Setup], CallLedger] = request.param
    return make(setup)


async def test_a_decision_is_an_entry_once_with_its_openings(setup: Setup, ledger: CallLedger) -> None:
    assert await ledger.append_decision(DECISION, (OPENING,)) == 1
    assert await ledger.append_decision(DECISION, (OPENING,)) == 1
    assert setup.writer.decisions == [DECISION]
    assert setup.openings.find(DECISION.call_id, "inputHash") == OPENING


async def test_a_spec_is_registered_in_front_of_its_decision(setup: Setup, ledger: CallLedger) -> None:
    await ledger.register_spec(SPEC)
    await ledger.append_decision(DECISION, ())
    assert setup.writer.asked == [SPEC.spec_hash, DECISION.call_id]


async def test_what_must_be_signed_is_or_says_why(setup: Setup, ledger: CallLedger) -> None:
    assert await ledger.sign_decision(DECISION, (OPENING,)) == 1
    setup.writer.away = True
    with pytest.raises(WriterUnavailableError):
        await ledger.sign_decision(replace(DECISION, call_id="c_2"), ())
    setup.writer.away, setup.writer.refuses = False, {"c_2"}
    with pytest.raises(ReceiptRefusedError):
        await ledger.sign_decision(replace(DECISION, call_id="c_2"), ())


async def test_an_answer_that_was_lost_is_asked_for_again(
    setup: Setup, ledger: CallLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, asked = setup.writer.append_decision, 0

    async def lose_the_first_answer(draft: DecisionDraft) -> StoredEntry:
        nonlocal asked
        asked += 1
        entry = await append(draft)
        if asked == 1:
            raise WriterUnavailableError("The answer was lost.")
        return entry

    monkeypatch.setattr(setup.writer, "append_decision", lose_the_first_answer)
    assert await ledger.sign_decision(DECISION, ()) == 1
    assert setup.writer.decisions == [DECISION]


# Beside a host that holds the home


async def test_without_a_spool_nothing_waits_and_the_reason_is_told(setup: Setup) -> None:
    setup.writer.away = True
    for step in (setup.beside().register_spec(SPEC), setup.beside().append_decision(DECISION, (OPENING,))):
        with pytest.raises(OSError, match=r"No receipt writer answers.* The spool belongs to the host"):
            await step
    assert [path.name for path in setup.folder.glob("spool*")] == []
    assert setup.openings.find(DECISION.call_id, "inputHash") is None


async def test_a_call_that_can_neither_be_signed_nor_wait_fails_closed(tmp_path: Path) -> None:
    desk = Desk(tmp_path)

    async def away() -> None:
        raise WriterUnavailableError("No receipt writer answers.")

    beside = LedgerBeside(desk.writer, desk.openings, away)
    options = desk.saying(GOOD, ledger=beside, registry=SpecLog(beside, desk.store.keep_spec))
    decision = await run_constrained_ai(spec(), MESSAGE, options)
    assert (decision.exit_state, decision.output, decision.entry_id) == ("failed_closed", DEFAULT, None)
    desk.close()
