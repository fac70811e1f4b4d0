"""What the calendar's tests share: one Radicale per test process, and an agenda over each kind of store."""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.tools_mcp.calendar.radicale import PASSWORD, USER, Radicale, radicale
from tools_mcp.calendar.account import Account
from tools_mcp.calendar.agenda import Agenda
from tools_mcp.calendar.protocol import CalendarStore
from tools_mcp.calendar.remote import RemoteCalendar
from tools_mcp.calendar.store import CalendarFolder

BERLIN = ZoneInfo("Europe/Berlin")
_calendars = itertools.count(1)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Radicale]:
    with radicale(tmp_path_factory.mktemp("radicale")) as running:
        yield running


@pytest.fixture
def calendar_url(server: Radicale) -> str:
    """The address of a calendar that nothing is in."""
    return server.calendar(f"calendar-{next(_calendars)}")


@pytest.fixture(params=["folder", "caldav"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> CalendarStore:
    """An empty store of each kind."""
    if request.param == "folder":
        return CalendarFolder(tmp_path, BERLIN)
    url = request.getfixturevalue("calendar_url")
    return RemoteCalendar(Account(url, USER, PASSWORD), BERLIN, tmp_path / ".trash")


def agenda_over(store: CalendarStore) -> Agenda:
    """An agenda in Berlin on 30 November 2026, whose new ids are e1, e2 and so on."""
    numbers = itertools.count(1)
    return Agenda(store, BERLIN, now=lambda: datetime(2026, 11, 30, 12, tzinfo=UTC), new_id=lambda: f"e{next(numbers)}")
