"""Consolidation after the reply: when it runs, what it keeps, and what a failure leaves behind."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from dataclasses import replace

import pytest

from agent_host.consolidation.consolidator import Consolidator, run
from agent_host.consolidation.store import ConsolidationStore
from agent_host.errors import ProviderUnavailableError
from agent_host.providers.protocol import ModelRequest, Text
from tests.agent_host.consolidation.parts import KEEP_ALL, TURN_ID, ConsolidatingHome, found
from tests.fakes.scripted_provider import Line, says
from tests.fakes.toolbox import Arguments, FakeToolBox

TEA = ("Ana", "Ana likes tea.")
BOB = ("Bob", "Bob moved to Ghent.")


async def test_below_twice_n_rows_no_model_is_called(home: ConsolidatingHome) -> None:
    home.talk(2)

    assert await home.run(found(TEA)) == []
    assert (home.provider.requests, home.chat_log.open_rows()) == ([], 4)


async def test_at_twice_n_rows_one_call_leaves_facts_and_marks_the_rows(home: ConsolidatingHome) -> None:
    home.talk(3)

    (told,) = await home.run(found(TEA, BOB, episode="They talked."), KEEP_ALL)

    assert home.memory.bodies == ["Ana likes tea.", "Bob moved to Ghent.", "They talked."]
    assert home.chat_log.open_rows() == 0
    assert (told["exchanges"], told["new_facts"], told["turn_id"]) == (3, 2, TURN_ID)
    assert [draft.spec_id for draft in home.desk.writer.decisions] == ["consolidation", "keep-gate"]
    assert {draft.turn_id for draft in home.desk.writer.decisions} == {None}


async def test_its_calls_are_metered_under_the_turn_they_came_after(home: ConsolidatingHome) -> None:
    home.talk(3)
    metered: list[tuple[str, str | None]] = []
    parts = home.parts(found(TEA), KEEP_ALL)
    calls = replace(parts.calls, meter=lambda event, turn_id: metered.append((event.kind, turn_id)))

    await run(replace(parts, calls=calls), TURN_ID)

    assert metered == [("consolidation", TURN_ID), ("gate", TURN_ID)]


async def test_what_is_sent_says_whose_it_is_and_where_it_belongs(home: ConsolidatingHome) -> None:
    home.talk(3, outside=True)

    await home.run(found(TEA, episode="They talked."), KEEP_ALL)

    fact, met = home.memory.rows.values()
    assert [dict(call.meta) for call in home.memory.tools.calls] == [{}, {}]
    key = str(fact["idempotency_key"])
    assert {**fact, "idempotency_key": ""} == {
        "body": "Ana likes tea.",
        "kind": "fact",
        "scope": "global",
        "trust": "web",
        "episode": "s_1",
        "idempotency_key": "",
        "subject": "Ana",
    }
    assert key.endswith("-0")
    assert (met["kind"], met["happened_at"], met["idempotency_key"]) == ("episode", "2025-11-30", f"{key[:-2]}-1")


async def test_a_kept_record_names_the_memory_and_that_it_was_sent(home: ConsolidatingHome) -> None:
    home.talk(3)

    (told,) = await home.run(found(TEA), KEEP_ALL)

    assert told["kept"] == [
        {
            "kind": "fact",
            "subject": "Ana",
            "content": "Ana likes tea.",
            "scope": "global",
            "memory_id": "mem_0",
            "sent": True,
        }
    ]


async def test_a_row_that_arrives_during_the_call_stays_open(home: ConsolidatingHome) -> None:
    def answer(request: ModelRequest) -> Line:
        del request
        home.talk(1)
        return says(found())

    home.talk(3)

    await home.run(answer)

    assert home.chat_log.open_rows() == 2


@pytest.mark.parametrize(
    "line",
    [
        "Here are the facts: none.",
        '{"facts": []}',
        '{"facts": [{"subject": "x"}], "episode": "", "company_research": false}',
        says(""),
        says(found(TEA), "max_tokens"),
        says("", "refusal"),
        ProviderUnavailableError("Overloaded."),
    ],
)
async def test_a_bad_answer_marks_nothing_and_stores_nothing(home: ConsolidatingHome, line: str | Line) -> None:
    home.talk(3)

    assert await home.run(line, line, line) == []
    assert (home.chat_log.open_rows(), home.memory.rows, home.store.pending()) == (6, {}, [])


async def test_a_batch_that_stays_open_is_in_nobodys_way(
    home: ConsolidatingHome, caplog: pytest.LogCaptureFixture
) -> None:
    home.talk(3)
    with caplog.at_level(logging.INFO):
        await home.run("prose", "prose")

    (told,) = (record for record in caplog.records if "stays open" in record.message)
    assert told.levelno < logging.WARNING  # what the terminal shows when nobody asks for more
    assert {row["kind"] for row in home.trace() if row["type"] == "llm"} == {"consolidation"}


async def test_a_failed_call_is_not_repeated_before_there_is_more_to_read(home: ConsolidatingHome) -> None:
    home.talk(3)
    await home.run("prose", "prose")
    home.talk(1)

    await home.run(found(TEA), KEEP_ALL)
    assert home.provider.requests == []
    home.talk(1)
    await home.run(found(TEA), KEEP_ALL)

    assert (home.memory.bodies, home.chat_log.open_rows()) == (["Ana likes tea."], 0)


async def test_zero_facts_mark_the_rows_all_the_same(home: ConsolidatingHome) -> None:
    home.talk(3)

    (told,) = await home.run(found())

    assert (told["kept"], home.chat_log.open_rows()) == ([], 0)


async def test_the_model_sees_what_was_read_and_a_restatement_is_dropped(home: ConsolidatingHome) -> None:
    home.talk(3, read=["Zep raised $2.3M on 2023-12-27; Mem0 raised $24M on 2025-10-28."])
    repeated = ("Zep", "Zep raised $2.3M on 2023-12-27.")
    swapped = ("Zep", "Zep raised $24M on 2025-10-28.")
    new = ("Zep", "Zep raised $5M on 2026-01-02.")

    await home.run(found(repeated, swapped, new), KEEP_ALL)

    assert home.memory.bodies == [swapped[1], new[1]]
    (block,) = home.provider.requests[0].messages[0].blocks
    assert isinstance(block, Text)
    assert "Zep raised $2.3M" in block.text


async def test_the_keep_gate_drops_what_no_later_answer_needs(home: ConsolidatingHome) -> None:
    home.talk(3)

    await home.run(found(TEA, BOB), '{"dropped": [1]}')

    assert home.memory.bodies == ["Bob moved to Ghent."]


@pytest.mark.parametrize("line", ["prose", ProviderUnavailableError("Overloaded.")])
async def test_a_keep_gate_that_fails_keeps_everything(home: ConsolidatingHome, line: str | Line) -> None:
    home.talk(3)

    await home.run(found(TEA, BOB), line, line)

    assert len(home.memory.bodies) == 2


async def test_the_first_failure_stops_the_sends_and_pending_memories_go_first_next_time(
    home: ConsolidatingHome,
) -> None:
    home.talk(3)
    home.memory.left = 1

    (first,) = await home.run(found(TEA, BOB, ("Cy", "Cy sings.")), KEEP_ALL)
    sent = [one["sent"] for one in first["kept"] if isinstance(one, dict)]  # type: ignore[union-attr]  # a list of them
    assert (sent, len(home.memory.tools.calls)) == ([True, False, False], 2)

    home.memory.left = None
    home.talk(3)
    await home.run(found(("Di", "Di rows.")), KEEP_ALL)

    assert home.memory.bodies == ["Ana likes tea.", "Bob moved to Ghent.", "Cy sings.", "Di rows."]
    assert home.store.pending() == []


async def test_pending_memories_are_sent_after_the_next_turn_without_a_batch(home: ConsolidatingHome) -> None:
    home.talk(3)
    home.memory.away = True
    await home.run(found(TEA), KEEP_ALL)
    home.memory.away = False

    await home.run()

    assert home.memory.bodies == ["Ana likes tea."]


async def test_without_a_memory_server_facts_wait_and_the_record_says_so(home: ConsolidatingHome) -> None:
    home.talk(3)

    await run(replace(home.parts(found(TEA), KEEP_ALL), tools=FakeToolBox({})), TURN_ID)

    (told,) = (row for row in home.trace() if row["type"] == "consolidation")
    assert [(one["sent"], one["memory_id"]) for one in told["kept"]] == [(None, None)]  # type: ignore[union-attr, index, call-overload]  # records
    assert [one.memory.content for one in home.store.pending()] == ["Ana likes tea."]


async def test_a_memory_that_was_sent_leaves_no_words_here(home: ConsolidatingHome) -> None:
    home.talk(3)
    await home.run(found(("Ana", "zebra")), KEEP_ALL)
    home.close()

    connection = sqlite3.connect(home.folder / "sessions.db")
    rows = connection.execute("SELECT subject, content, sent, memory_id FROM pending_memories").fetchall()
    connection.close()
    assert rows == [("", "", 1, "mem_0")]


class CrashError(BaseException):
    """The process dies here."""


@pytest.mark.parametrize("stored_before", [False, True])
@pytest.mark.parametrize("at", [0, 1, 2])
async def test_a_crash_in_any_send_repeats_nothing(home: ConsolidatingHome, at: int, stored_before: bool) -> None:
    memory = home.memory

    def dies(arguments: Arguments) -> object:
        if len(memory.rows) == at:
            if stored_before:
                memory.remember(arguments)
            raise CrashError
        return memory.remember(arguments)

    home.talk(3)
    memory.tools = FakeToolBox({"memory_remember": dies})  # type: ignore[dict-item]  # what it returns is JSON
    with pytest.raises(CrashError):
        await home.run(found(TEA, BOB, ("Cy", "Cy sings.")), KEEP_ALL)

    memory.tools = FakeToolBox({"memory_remember": memory.remember})
    again = ConsolidationStore(home.folder / "sessions.db")
    await run(replace(home.parts(), store=again), TURN_ID)
    left = again.pending()
    again.close()

    assert memory.bodies == ["Ana likes tea.", "Bob moved to Ghent.", "Cy sings."]
    assert left == []


async def test_a_crash_before_the_transaction_leaves_the_rows_open(
    home: ConsolidatingHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: object) -> None:
        raise CrashError

    home.talk(3)
    with monkeypatch.context() as patch:
        patch.setattr(ConsolidationStore, "keep", dies)
        with pytest.raises(CrashError):
            await home.run(found(TEA), KEEP_ALL)

    assert (home.chat_log.open_rows(), home.store.pending(), home.memory.rows) == (6, [], {})


async def test_a_host_that_closes_waits_for_the_run(home: ConsolidatingHome) -> None:
    home.talk(3)
    consolidator = Consolidator(home.parts(found(TEA), KEEP_ALL))

    consolidator.after_turn(TURN_ID)
    await consolidator.close()

    assert home.memory.bodies == ["Ana likes tea."]


async def test_a_run_that_takes_too_long_is_cancelled_and_loses_nothing(home: ConsolidatingHome) -> None:
    home.talk(3)
    consolidator = Consolidator(home.parts(asyncio.Event(), says(found(TEA))))

    consolidator.after_turn(TURN_ID)
    await consolidator.close(patience_s=0.05)
    await consolidator.close()

    assert (home.chat_log.open_rows(), home.memory.rows) == (6, {})
    assert [draft.exit_state for draft in home.desk.writer.decisions] == ["failed_closed"]


async def test_two_turns_in_a_row_are_one_run(home: ConsolidatingHome) -> None:
    home.talk(3)
    consolidator = Consolidator(home.parts(found(TEA), KEEP_ALL))

    consolidator.after_turn(TURN_ID)
    consolidator.after_turn(TURN_ID)
    await consolidator.close()
    consolidator.after_turn(TURN_ID)

    assert len(home.provider.requests) == 2


async def test_a_fault_of_the_program_stays_in_the_log(
    home: ConsolidatingHome, caplog: pytest.LogCaptureFixture
) -> None:
    consolidator = Consolidator(home.parts())
    home.store.close()

    consolidator.after_turn(TURN_ID)
    await consolidator.close()

    assert f"the consolidation after {TURN_ID} failed" in caplog.text
