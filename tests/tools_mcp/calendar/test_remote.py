"""The CalDAV store against a real server, and against servers that are away, locked, read-only or none at all."""

import http.server
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.tools_mcp.calendar.conftest import agenda_over
from tests.tools_mcp.calendar.radicale import PASSWORD, READER, USER, Radicale, radicale
from tests.tools_mcp.calendar.samples import ALL
from tools_mcp.calendar.account import Account
from tools_mcp.calendar.agenda import Agenda
from tools_mcp.calendar.model import EventFields
from tools_mcp.calendar.remote import RemoteCalendar
from tools_mcp.errors import StoreBusyError, StoreError

BERLIN = ZoneInfo("Europe/Berlin")
LUNCH = EventFields("Lunch", "2026-12-01T12:00", notes="bring cake")


@pytest.fixture
def over(tmp_path: Path) -> Callable[..., Agenda]:
    def make(url: str, user: str = USER, password: str = PASSWORD) -> Agenda:
        return agenda_over(RemoteCalendar(Account(url, user, password), BERLIN, tmp_path / ".trash"))

    return make


def titles(agenda: Agenda) -> list[str]:
    return sorted(stored.facts.event.title for stored in agenda.store.snapshot().series)


def test_what_we_write_is_on_the_server_and_another_client_sees_it(
    calendar_url: str, server: Radicale, over: Callable[..., Agenda]
) -> None:
    over(calendar_url).create(LUNCH)
    stored = server.stored(calendar_url.rstrip("/").rpartition("/")[2])

    assert [b"SUMMARY:Lunch" in data for data in stored.values()] == [True]
    assert titles(over(calendar_url)) == ["Lunch"]


def test_files_of_other_programs_reach_the_server_whole(calendar_url: str, over: Callable[..., Agenda]) -> None:
    first = over(calendar_url)
    for data in ALL:
        first.take_in(data)

    assert titles(over(calendar_url)) == ["Away", "Quarterly review", "Run", "Therapy", "Weekly — ständ-up"]
    assert all(stored.facts.event.foreign for stored in over(calendar_url).store.snapshot().series)


def test_an_address_above_the_calendar_leads_to_it(
    tmp_path_factory: pytest.TempPathFactory, over: Callable[..., Agenda]
) -> None:
    with radicale(tmp_path_factory.mktemp("one")) as alone:
        alone.calendar("only")
        over(f"{alone.url}/").create(LUNCH)
        assert len(alone.stored("only")) == 1


@pytest.mark.parametrize(("user", "password"), [(USER, "wrong"), ("nobody", PASSWORD), ("", "")])
def test_a_wrong_password_is_said_in_a_sentence_without_it(
    calendar_url: str, over: Callable[..., Agenda], user: str, password: str
) -> None:
    agenda = over(calendar_url, user, password)

    with pytest.raises(StoreError, match="refused the user or password; check PROMETHEUS_CALDAV_USER") as said:
        agenda.create(LUNCH)
    assert calendar_url not in str(said.value)
    assert not password or password not in str(said.value)


def test_a_read_only_calendar_is_read_and_not_written(calendar_url: str, over: Callable[..., Agenda]) -> None:
    over(calendar_url).create(LUNCH)
    reader = over(calendar_url, READER)

    assert titles(reader) == ["Lunch"]
    with pytest.raises(StoreError, match=r"read-only for this user; nothing was changed\."):
        reader.create(EventFields("Dinner", "2026-12-01T19:00"))
    with pytest.raises(StoreError, match="read-only"):
        reader.update("e1", EventFields(title="Mine"))
    with pytest.raises(StoreError, match="read-only"):
        reader.delete("e1")
    assert titles(reader) == ["Lunch"]


def test_a_calendar_that_is_not_there_is_named(server: Radicale, over: Callable[..., Agenda]) -> None:
    with pytest.raises(StoreError, match=r"leads to no calendar|There is no calendar"):
        over(f"{server.url}/{USER}/none/").create(LUNCH)


def test_nobody_at_the_address_is_said_at_once(over: Callable[..., Agenda]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/calendar/"
    with pytest.raises(StoreError, match="cannot be reached; check PROMETHEUS_CALDAV_URL"):
        over(url).create(LUNCH)


class Answer(http.server.BaseHTTPRequestHandler):
    """Answers everything with one status and body; `lost` names a method whose answer never comes."""

    status, body, lost = 200, b"<html><body>Welcome</body></html>", ""
    target = ""

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.command == self.lost:
            self.close_connection = True
            return
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.body)))
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.body)

    do_PROPFIND = do_REPORT = do_PUT = do_DELETE = do_GET = do_OPTIONS = answer  # noqa: N815 - the library's names

    def log_message(self, *_: object) -> None:
        """Keep the test's output clean."""


@contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    handler = type("Once", (Answer,), {"status": status, "body": body})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{running.server_port}/calendar/"
        finally:
            running.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, b"<html><body>Welcome", "is no CalDAV server"),
        (200, b"not even close", "is no CalDAV server|leads to no calendar"),
        (207, b"<a/>", "is no CalDAV server|leads to no calendar"),
        (404, b"", "There is no calendar at PROMETHEUS_CALDAV_URL"),
        (500, b"secret stack trace", "answers with status 500"),
        (503, b"", "asks to wait"),
        (429, b"", "asks to wait"),
    ],
)
def test_a_server_that_is_none_is_told_in_one_sentence(
    over: Callable[..., Agenda], status: int, body: bytes, said: str
) -> None:
    with answering(status, body) as url, pytest.raises((StoreError, StoreBusyError), match=said) as raised:
        over(url).create(LUNCH)
    told = str(raised.value)

    assert told.endswith(".")
    assert "secret" not in told
    assert "127.0.0.1" not in told


def test_a_write_without_an_answer_is_not_called_a_failure(
    calendar_url: str, over: Callable[..., Agenda], monkeypatch: pytest.MonkeyPatch
) -> None:
    agenda = over(calendar_url)
    titles(agenda)
    session = agenda.store._session()  # type: ignore[attr-defined] # to cut the line after the request was sent
    put = session.put

    def cut(*arguments: object) -> None:
        put(*arguments)
        raise ConnectionResetError

    monkeypatch.setattr(session, "put", cut)
    with pytest.raises(StoreError, match="the change may be there or not"):
        agenda.create(LUNCH, key="k1")
    monkeypatch.undo()

    assert agenda.create(LUNCH, key="k1").status == "created"
    assert titles(agenda) == ["Lunch"]


def test_two_programs_that_change_one_event_keep_both_changes(calendar_url: str, over: Callable[..., Agenda]) -> None:
    one, other = over(calendar_url), over(calendar_url)
    one.create(LUNCH)
    titles(other)
    threads = [
        threading.Thread(target=one.update, args=("e1", EventFields(title="Late lunch"))),
        threading.Thread(target=other.update, args=("e1", EventFields(location="Room 2"))),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    event = over(calendar_url).get("e1")

    assert (event.title, event.location, event.notes) == ("Late lunch", "Room 2", "bring cake")


def test_what_is_deleted_on_the_server_is_in_the_trash_here(
    calendar_url: str, over: Callable[..., Agenda], tmp_path: Path
) -> None:
    agenda = over(calendar_url)
    agenda.create(LUNCH)
    agenda.delete("e1")

    assert titles(agenda) == []
    assert b"bring cake" in (tmp_path / ".trash" / "e1.ics").read_bytes()
    assert agenda.delete("e1").remarks == ("It was in the trash already.",)


def test_no_log_line_and_no_repr_holds_the_password(
    calendar_url: str, over: Callable[..., Agenda], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        agenda = over(calendar_url)
        agenda.create(LUNCH)
        with pytest.raises(StoreError):
            over(calendar_url, USER, "wrong but secret").create(LUNCH)

    assert PASSWORD not in caplog.text
    assert "wrong but secret" not in caplog.text
    assert PASSWORD not in repr(agenda)
