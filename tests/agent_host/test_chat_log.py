"""The chat log: sessions, their tails, the search, and files of earlier builds."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_host.chat_log import EXCERPT_CHARACTERS, TITLE_CHARACTERS, ChatLog, PastRow, SessionSummary
from agent_host.consolidation.store import ConsolidationStore
from agent_host.errors import ConfigurationError

EARLIER_SCHEMA = """
CREATE TABLE chat_log (
    id INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    source TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    content TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL
);
CREATE INDEX chat_log_by_session ON chat_log (session_id, id);
INSERT INTO chat_log (session_id, turn_id, source, role, content, created_at_ms)
VALUES ('s_1', 't_1', 'cli', 'user', 'hello', 5), ('s_1', 't_1', 'cli', 'assistant', 'hi', 5);
"""


@pytest.fixture
def log(tmp_path: Path) -> Iterator[ChatLog]:
    made = ChatLog(tmp_path / "sessions.db")
    yield made
    made.close()


def said(log: ChatLog, session: str, turn: int, message: str, reply: str = "ok") -> None:
    log.store(session, f"t_{session}_{turn}", "cli", (message, reply), at_ms=1_000 + turn)


def test_sessions_are_listed_newest_first_with_their_first_message_as_title(log: ChatLog) -> None:
    said(log, "s_1", 1, "first\n  question")
    said(log, "s_2", 2, "x" * 99)
    said(log, "s_1", 3, "later")

    assert log.sessions(10) == [
        SessionSummary("s_1", "first question", "cli", 2, 1_003),
        SessionSummary("s_2", "x" * TITLE_CHARACTERS, "cli", 1, 1_002),
    ]
    assert [one.session_id for one in log.sessions(1)] == ["s_1"]


def test_a_session_is_found_by_its_id_alone(log: ChatLog) -> None:
    said(log, "s_1", 1, "hello")

    assert log.session("s_1") == SessionSummary("s_1", "hello", "cli", 1, 1_001)
    assert log.session("s_2") is None


def test_a_tail_holds_whole_turns_of_one_session(log: ChatLog) -> None:
    for turn in range(5):
        said(log, "s_1", turn, f"message {turn}", f"reply {turn}")
        said(log, "s_2", turn, "elsewhere")

    assert log.tail("s_1", 2) == [
        PastRow("user", "message 3"),
        PastRow("assistant", "reply 3"),
        PastRow("user", "message 4"),
        PastRow("assistant", "reply 4"),
    ]
    assert log.tail("s_9", 2) == []


@pytest.mark.parametrize("words", ["Käse", "KÄSE", "brot käse", "ä", "100%", "it's", '"', "日本", "_"])
def test_a_search_finds_rows_that_hold_every_word_in_any_case(log: ChatLog, words: str) -> None:
    said(log, "s_1", 1, 'Brot und Käse, 100% it\'s "so" 日本語 a_b')
    said(log, "s_2", 2, "nothing of the kind")

    assert [found.session_id for found in log.search(words, 10)] == ["s_1"]


def test_a_search_is_newest_first_and_bounded(log: ChatLog) -> None:
    for turn in range(4):
        said(log, f"s_{turn}", turn, "tea")

    assert [found.session_id for found in log.search("tea", 2)] == ["s_3", "s_2"]


@pytest.mark.parametrize("words", ["", "   ", "coffee", "tea coffee", "100%_"])
def test_what_nobody_said_is_not_found(log: ChatLog, words: str) -> None:
    said(log, "s_1", 1, "tea")

    assert log.search(words, 10) == []


def test_an_excerpt_is_around_the_word_and_shows_no_tool_note(log: ChatLog) -> None:
    said(log, "s_1", 1, "q", f"{'x ' * 300}zebra {'y ' * 300}\n\n[tools used: memory_search {{}} -> z]")

    (found,) = log.search("zebra", 10)

    assert "zebra" in found.excerpt
    assert len(found.excerpt) <= EXCERPT_CHARACTERS + 2


@pytest.mark.parametrize("words", ["tools used", "ana", "memory_search", "reply ana"])
def test_the_note_about_tools_is_not_searched(log: ChatLog, words: str) -> None:
    said(log, "s_1", 1, "q", 'reply\n\n[tools used: memory_search {"query": "ana"} -> Ana likes tea]')

    assert log.search(words, 10) == []
    assert [found.excerpt for found in log.search("reply", 10)] == ["reply"]


@pytest.mark.parametrize("open_elsewhere", [False, True])
def test_a_log_on_a_read_only_disk_is_read_and_left_as_it_is(
    tmp_path: Path, open_elsewhere: bool, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "read-only?.db"  # a name that is no part of an address
    writer = ChatLog(path)
    said(writer, "s_1", 1, "tea", "yes")
    if not open_elsewhere:
        writer.close()
    before = path.read_bytes()

    reader = ChatLog(path, for_reading=True)
    assert ([one.session_id for one in reader.sessions(9)], len(reader.search("tea", 9))) == (["s_1"], 1)
    said(reader, "s_1", 2, "milk", "no")
    reader.close()

    assert "the conversation is not kept on disk" in caplog.text
    assert path.read_bytes() == before
    if open_elsewhere:
        writer.close()


def test_a_log_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"none\.db cannot be read .*; name another home with --home"):
        ChatLog(tmp_path / "none.db", for_reading=True)
    assert list(tmp_path.iterdir()) == []


def test_every_row_is_open_at_first(log: ChatLog) -> None:
    said(log, "s_1", 1, "hello")

    assert log.open_rows() == 2


def test_a_file_of_an_earlier_build_opens_as_it_is_and_its_rows_are_open(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    old = sqlite3.connect(path)
    old.executescript(EARLIER_SCHEMA)
    old.close()

    log = ChatLog(path)
    said(log, "s_1", 2, "again")
    store = ConsolidationStore(path)
    batch = store.next_batch(4)
    log.close()
    store.close()

    assert batch is not None
    assert [one.person for one in batch.exchanges] == ["hello", "again"]


def test_an_earlier_build_can_still_write_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    log = ChatLog(path)
    old = sqlite3.connect(path)
    with old:
        old.execute(
            "INSERT INTO chat_log (session_id, turn_id, source, role, content, created_at_ms)"
            " VALUES ('s_1', 't_1', 'cli', 'user', 'hello', 5)"
        )
    old.close()

    assert log.rows("s_1") == [("user", "hello")]
    assert log.open_rows() == 1
    log.close()


def test_opening_it_twice_at_once_changes_nothing(tmp_path: Path) -> None:
    first, second = ChatLog(tmp_path / "sessions.db"), ChatLog(tmp_path / "sessions.db")
    said(first, "s_1", 1, "hello")

    assert second.rows("s_1") == first.rows("s_1")
    first.close()
    second.close()


def test_the_file_is_the_persons_alone_and_what_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    ChatLog(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    path.write_text("no database at all, " * 99, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"sessions\.db cannot be used .*; move it away, and a new one"):
        ChatLog(path)


@pytest.mark.parametrize("error", [sqlite3.OperationalError("database or disk is full"), OSError(28, "full")])
def test_a_file_that_a_full_disk_keeps_shut_is_not_to_be_moved_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def full(_: Path) -> sqlite3.Connection:
        raise error

    ChatLog(tmp_path / "sessions.db").close()
    monkeypatch.setattr(sqlite3, "connect", full)
    with pytest.raises(ConfigurationError, match=r"nothing in it is lost: free some space") as told:
        ChatLog(tmp_path / "sessions.db")

    assert "move it away" not in str(told.value)


def test_what_cannot_be_opened_at_all_is_not_called_damaged(tmp_path: Path) -> None:
    (tmp_path / "sessions.db").mkdir()

    with pytest.raises(ConfigurationError, match="make the file writable"):
        ChatLog(tmp_path / "sessions.db")
