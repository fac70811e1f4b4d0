"""A host that dies in a turn leaves its message; the next host says what had been done."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from agent_host.chat_log import UNANSWERED, ChatLog
from agent_host.consolidation.store import ConsolidationStore
from agent_host.interrupted import INTERRUPTED, completed
from agent_host.receipts.drafts import TurnIntent
from agent_host.session import Session
from tests.agent_host.test_cut_short import BOOK, Stalled, Tools
from tests.agent_host.test_turn import ZONE, Room, room
from tests.fakes.scripted_provider import ScriptedProvider, says
from tests.fakes.writer import FakeWriter

__all__ = ["room"]


async def dies(room: Room, provider: Stalled) -> None:
    """Runs a turn until its model stalls, and leaves the disk as it is then: as a kill does."""
    room.tools = Tools()  # type: ignore[assignment]  # any tool box will do
    task = asyncio.ensure_future(room.turn(provider, "Book a standup"))
    await provider.spoken.wait()
    logs = (sqlite3.connect(room.folder / name) for name in ("sessions.db", "copy.db"))
    with closing(next(logs)) as log, closing(next(logs)) as copy:
        log.backup(copy)
    trace = (room.folder / "2026-11-30.jsonl").read_bytes()
    task.cancel()
    await task
    (room.folder / "2026-11-30.jsonl").write_bytes(trace)


@contextmanager
def next_host(room: Room) -> Iterator[ChatLog]:
    log = completed(ChatLog(room.folder / "copy.db"), room.folder, ZONE)
    yield log
    log.close()


async def test_a_turn_that_a_host_died_in_is_in_the_history_with_what_it_had_run(room: Room) -> None:
    await dies(room, Stalled(BOOK))

    with next_host(room) as log:
        (message, reply) = log.rows("s_1")
        assert message == ("user", "Book a standup")
        assert reply[1].startswith(
            f"{INTERRUPTED} It had run: calendar_create_event.\n\n[tools used: calendar_create_event "
        )
        assert (log.sessions(1)[0].title, log.unanswered(), log.open_rows()) == ("Book a standup", [], 2)
        session = Session.resumed("s_1", 12, log.tail("s_1", 12))
    assert session.shows_outside  # nobody knows any more whose words its tools brought
    assert session.last_words()[1].startswith(f"{UNANSWERED}\n\n[tools used: calendar_create_event ")
    assert '{"title": "Standup"} -> {"event":{"id":"ev_1"}}' in session.last_words()[1]


async def test_the_note_of_an_interrupted_turn_is_the_one_that_its_end_would_have_left(room: Room) -> None:
    await dies(room, Stalled(BOOK))

    with next_host(room) as log:
        stored = log.rows("s_1")[1][1]
    assert stored.splitlines()[-1] == room.chat_log.rows("s_1")[1][1].splitlines()[-1]


async def test_a_turn_that_had_run_nothing_is_interrupted_all_the_same(room: Room) -> None:
    await dies(room, Stalled())

    with next_host(room) as log:
        assert log.rows("s_1")[1] == ("assistant", INTERRUPTED)


async def test_a_reply_that_had_come_is_not_lost_with_the_host(room: Room) -> None:
    room.chat_log.begin("s_1", "t_1", "cli", "hello", at_ms=int(room.parts(ScriptedProvider()).now_ms()))
    line = '{"v":2,"turn_id":"t_1","type":"turn_end","outcome":"replied","reply":"Hi there.","iterations":1}\n'
    (room.folder / "2026-11-30.jsonl").write_text(line)
    completed(room.chat_log, room.folder, ZONE)

    assert room.chat_log.rows("s_1") == [("user", "hello"), ("assistant", "Hi there.")]
    assert room.chat_log.tail("s_1", 2)[1] == ("assistant", "Hi there.", False)


@pytest.mark.parametrize("trace", [None, b"\xff\xfe no trace", b'{"torn'])
async def test_without_a_trace_to_read_the_message_has_its_reply_too(room: Room, trace: bytes | None) -> None:
    await dies(room, Stalled(BOOK))
    (room.folder / "2026-11-30.jsonl").unlink()
    if trace is not None:
        (room.folder / "2026-11-30.jsonl").write_bytes(trace)

    with next_host(room) as log:
        assert log.rows("s_1")[1] == ("assistant", INTERRUPTED)


async def test_once_completed_a_turn_is_left_alone(room: Room) -> None:
    await dies(room, Stalled(BOOK))

    for _ in range(2):
        with next_host(room) as log:
            assert len(log.rows("s_1")) == 2


async def test_a_message_whose_reply_is_on_its_way_is_not_consolidated(room: Room) -> None:
    await room.turn(ScriptedProvider(says("hi")), "hello")
    room.chat_log.begin("s_1", "t_9", "cli", "later", at_ms=1)
    store = ConsolidationStore(room.folder / "sessions.db")
    batch = store.next_batch(2)
    assert (store.open_rows(), room.chat_log.open_rows()) == (2, 2)
    store.close()

    assert batch is not None
    assert [one.person for one in batch.exchanges] == ["hello"]
    room.chat_log.store("s_1", "t_9", "cli", ("later", "now"), at_ms=2)
    assert room.chat_log.open_rows() == 4
    assert [content for _, content in room.chat_log.rows("s_1")] == ["hello", "hi", "later", "now"]


async def test_a_message_is_on_disk_before_anything_is_done_about_it(room: Room) -> None:
    class Looking(FakeWriter):
        async def begin_turn(self, intent: TurnIntent) -> None:
            assert room.chat_log.rows("s_1") == [("user", "hello")]
            await super().begin_turn(intent)

    room.writer = Looking()
    await room.turn(ScriptedProvider(says("hi")), "hello")

    assert len(room.writer.intents) == 1
