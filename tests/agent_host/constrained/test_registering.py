"""Specs on the ledger: one L2 entry for each hash, whatever fails and whoever asks at the same time."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from agent_host.constrained import run_constrained_ai
from agent_host.constrained.drafter import ReplyDrafter
from agent_host.constrained.registering import SpecLog, spec_draft
from agent_host.constrained.specs import reply_drafter
from agent_host.constrained.store import CallStore
from agent_host.errors import WriterUnavailableError
from agent_host.providers.protocol import ModelRequest
from agent_host.receipts.drafts import SpecDraft
from agent_host.receipts.log import ReceiptLog
from agent_host.receipts.openings import OpeningStore
from agent_host.receipts.protocol import StoredEntry
from agent_host.receipts.spool import Spool
from tests.agent_host.constrained.parts import GOOD, MESSAGE, Desk, spec
from tests.fakes.scripted_provider import ScriptedProvider, says
from tests.fakes.writer import FakeWriter

SPEC = spec()


def registry(desk: Desk) -> SpecLog:
    """Returns what registers the specs of one process."""
    return SpecLog(desk.ledger, desk.store.keep_spec)


def test_a_draft_follows_from_the_bytes_of_the_spec_alone() -> None:
    draft = spec_draft(SPEC)

    assert draft == spec_draft(spec())
    assert (draft.spec_id, draft.spec_hash, draft.spec_bytes) == ("mood-reader", SPEC.spec_hash, len(SPEC.spec_bytes))
    assert json.loads(SPEC.spec_bytes)["schema_version"] == draft.schema_version
    assert spec_draft(spec(description="Says it otherwise.")).spec_hash != draft.spec_hash


async def test_a_decision_can_be_joined_to_the_entry_of_its_spec_which_comes_first(desk: Desk) -> None:
    await run_constrained_ai(SPEC, MESSAGE, desk.saying(GOOD, registry=registry(desk)))

    (registered,), decided = desk.writer.specs, desk.entry
    assert (decided.spec_hash, decided.spec_id) == (registered.spec_hash, registered.spec_id)
    assert (decided.category, decided.identity) == (registered.category, registered.identity)
    assert desk.writer.asked == [SPEC.spec_hash, decided.call_id]
    assert desk.store.spec_bodies() == [(SPEC.spec_hash, SPEC.spec_bytes)]


async def test_a_known_hash_is_not_asked_again_in_a_process(desk: Desk) -> None:
    specs, other = registry(desk), spec(spec_id="other-reader")
    await asyncio.gather(*(specs.register(one) for one in (SPEC, SPEC, other, SPEC)))
    for _ in range(3):
        await run_constrained_ai(SPEC, MESSAGE, desk.saying(GOOD, registry=specs))

    assert sorted(desk.writer.asked[:2]) == sorted([SPEC.spec_hash, other.spec_hash])
    assert [name for name in desk.writer.asked[2:] if not name.startswith("c_")] == []


async def test_a_restart_asks_once_more_and_changes_nothing(desk: Desk) -> None:
    for _ in range(3):
        await registry(desk).register(SPEC)

    assert desk.writer.asked == [SPEC.spec_hash] * 3
    assert desk.writer.specs == [spec_draft(SPEC)]


async def test_while_the_writer_is_away_it_waits_in_the_spool_before_its_decisions(desk: Desk) -> None:
    desk.writer.away = True
    decision = await run_constrained_ai(SPEC, MESSAGE, desk.saying(GOOD, registry=registry(desk)))
    await registry(desk).register(SPEC)  # as another process would

    assert (decision.entry_id, decision.exit_state) == (None, "ok")
    assert desk.spool.drafts()[0] == spec_draft(SPEC)
    assert len(desk.spool) == 2

    desk.writer.away = False
    restarted = ReceiptLog(desk.writer, Spool(desk.folder / "spool.jsonl"), desk.openings, _there)
    await SpecLog(restarted, desk.store.keep_spec).register(SPEC)

    assert desk.writer.specs == [spec_draft(SPEC)]
    assert desk.entry.call_id == decision.call_id
    assert desk.writer.asked[-3:] == [SPEC.spec_hash, decision.call_id, SPEC.spec_hash]


class _AnswerLost(FakeWriter):
    """Records specs, and its first answer never arrives."""

    async def append_spec(self, draft: SpecDraft) -> StoredEntry:
        stored = await super().append_spec(draft)
        if len(self.asked) == 1:
            raise WriterUnavailableError("The receipt writer does not answer.")
        return stored


async def test_an_answer_that_is_lost_doubles_nothing(desk: Desk) -> None:
    writer = _AnswerLost()
    log = ReceiptLog(writer, desk.spool, desk.openings, _there)
    await SpecLog(log, desk.store.keep_spec).register(SPEC)
    assert desk.spool.drafts() == (spec_draft(SPEC),)

    later = ReceiptLog(writer, Spool(desk.folder / "spool.jsonl"), desk.openings, _there)
    await SpecLog(later, desk.store.keep_spec).register(spec(spec_id="other-reader"))
    assert [one.spec_id for one in writer.specs] == ["mood-reader", "other-reader"]
    assert len(Spool(desk.folder / "spool.jsonl")) == 0


class _FullDisk(Spool):
    """A spool whose disk is full until `room` is set."""

    room = False

    def append(self, draft: object) -> None:
        if not self.room:
            raise OSError(28, "No space left on device")
        super().append(draft)  # type: ignore[arg-type]  # whatever it is given


async def test_what_could_not_even_be_spooled_is_handed_over_by_the_next_call(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.writer.away = True
    full = _FullDisk(desk.folder / "full.jsonl")
    specs = SpecLog(ReceiptLog(desk.writer, full, desk.openings, _there), desk.store.keep_spec)

    await specs.register(SPEC)
    assert "the spec mood-reader is not registered yet" in caplog.text
    full.room = True
    await specs.register(SPEC)
    assert full.drafts() == (spec_draft(SPEC),)


async def test_nothing_is_registered_whose_bytes_cannot_be_kept(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    def keep(_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    decision = await run_constrained_ai(SPEC, MESSAGE, desk.saying(GOOD, registry=SpecLog(desk.ledger, keep)))
    assert (decision.exit_state, desk.writer.specs) == ("ok", [])
    assert "disk I/O error" in caplog.text


class _Slow(FakeWriter):
    """Answers a registration once it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.entered, self.answers = asyncio.Event(), asyncio.Event()

    async def append_spec(self, draft: SpecDraft) -> StoredEntry:
        self.entered.set()
        await self.answers.wait()
        return await super().append_spec(draft)


async def test_a_call_that_is_cancelled_meanwhile_still_registers_its_spec(desk: Desk) -> None:
    writer = _Slow()
    log = ReceiptLog(writer, desk.spool, desk.openings, _there)
    options = replace(desk.saying(GOOD, registry=SpecLog(log, desk.store.keep_spec)), ledger=log)
    call = asyncio.create_task(run_constrained_ai(SPEC, MESSAGE, options))
    await writer.entered.wait()
    call.cancel()
    writer.answers.set()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert writer.specs == [spec_draft(SPEC)]
    assert [draft.exit_state for draft in writer.decisions] == ["failed_closed"]


async def test_two_hosts_with_one_writer_register_a_spec_once(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    openings, store = OpeningStore(tmp_path / "other" / "o.db"), CallStore(tmp_path / "other" / "c.db")
    other = SpecLog(ReceiptLog(desk.writer, Spool(tmp_path / "other" / "s"), openings, _there), store.keep_spec)
    await asyncio.gather(registry(desk).register(SPEC), other.register(spec()))

    assert desk.writer.specs == [spec_draft(SPEC)]
    openings.close()
    store.close()


async def test_the_spec_of_the_reply_is_registered_before_its_first_call_and_not_again(desk: Desk) -> None:
    provider = ScriptedProvider(says("Hello."), says("Hello again."))
    drafts = reply_drafter(provider.identity, 60_000)
    drafter = ReplyDrafter(
        provider,
        drafts,
        desk.ledger,
        desk.events.append,
        turn_id="t_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        now_ms=desk.clock.now_ms,
        cost=lambda _: 0,
        registry=registry(desk),
    )
    for _ in range(2):
        await drafter.reply(ModelRequest("", (), (), "auto", 100), "loop", lambda _: None)

    assert desk.writer.specs == [spec_draft(drafts)]
    assert desk.writer.asked[0] == drafts.spec_hash
    assert [name[:2] for name in desk.writer.asked[1:]] == ["c_", "c_"]


async def _there() -> None:
    """The writer is up."""
