"""The iCalendar reader on damaged files: read or unreadable, never a crash, a hang or a changed file."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.tools_mcp.calendar.conftest import agenda_over
from tests.tools_mcp.calendar.samples import ALL
from tools_mcp.calendar.agenda import Agenda
from tools_mcp.calendar.expansion import occurrences
from tools_mcp.calendar.facts import as_json, facts_of, from_json
from tools_mcp.calendar.ics import UnreadableError, decode, series_of
from tools_mcp.calendar.model import Event, EventFields, Scope
from tools_mcp.calendar.store import CalendarFolder
from tools_mcp.errors import ToolsError

BERLIN = ZoneInfo("Europe/Berlin")
WINDOW = datetime(2026, 12, 1, tzinfo=UTC), datetime(2026, 12, 9, tzinfo=UTC)
CASES = 20_000
FILES = 400
NASTY = [
    *(
        b"",
        b":",
        b";",
        b"=",
        b'"',
        b"\\",
        b"\\n",
        b"\x00",
        b"\xff\xfe",
        b"\xf0\x9f\x8e\x89",
        b"\r",
        b"\n ",
        b"\t",
        b"," * 50,
    ),
    *(b"99999999T999999Z", b"00000000", b"-1", b"1e999", b"99999999999999999999", b"P9999999999D", b"-P1D", b"PT"),
    *(
        b"FREQ=SECONDLY",
        b"FREQ=DAILY;INTERVAL=0",
        b"FREQ=DAILY;COUNT=99999999999",
        b"FREQ=YEARLY;BYMONTHDAY=31;BYMONTH=2",
    ),
    *(
        b"FREQ=DAILY;BYHOUR=" + b",".join(b"%d" % hour for hour in range(24)),
        b"FREQ=DAILY;UNTIL=x",
        b"FREQ=WEEKLY;WKST=XX",
    ),
    *(
        b"BEGIN:VEVENT\n",
        b"END:VEVENT\n",
        b"BEGIN:VCALENDAR\n",
        b"END:VCALENDAR\n",
        b"BEGIN:VTIMEZONE\n",
        b"END:VTIMEZONE\n",
    ),
    *(
        b"RECURRENCE-ID:20261201T080000Z\n",
        b"RDATE;VALUE=PERIOD:20261201T080000Z/PT1H\n",
        b"EXDATE:20261201\n",
        b"UID:\n",
    ),
    *(
        b"DTSTART;TZID=Nowhere/Land:20261201T090000\n",
        b"DTSTART;VALUE=DATE:20261201T090000\n",
        b"DTEND:19000101T000000Z\n",
    ),
    *(
        b"DURATION:-PT1H\n",
        b"SEQUENCE:x\n",
        b"RRULE:FREQ=DAILY\n",
        b"EXRULE:FREQ=DAILY;BYDAY=MO\n",
        b"ATTENDEE;CN=:x\n",
    ),
]


def damaged(chance: random.Random) -> bytes:
    """One of the samples with a few things done to it that happen to files, or that somebody does to them."""
    data = chance.choice(ALL)
    for _ in range(chance.randint(1, 4)):
        lines = data.splitlines(keepends=True) or [b""]
        at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        kind = chance.randrange(9)
        if kind == 0:
            del lines[at]
        elif kind == 1:
            lines.insert(at, lines[other])
        elif kind == 2:
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == 3:
            name, _, _ = lines[at].partition(b":")
            lines[at] = name + b":" + chance.choice(NASTY) + b"\n"
        elif kind == 4:
            lines.insert(at, chance.choice(NASTY))
        elif kind == 5:
            _, _, value = lines[at].partition(b":")
            lines[at] = chance.choice([b"DTSTART", b"RRULE", b"EXDATE", b"DTEND", b"TZID", b"X"]) + b":" + value
        elif kind == 6:
            lines = lines[: at + 1]
        else:
            row, spot = bytearray(lines[at] or b"\n"), chance.randrange(len(lines[at]) or 1)
            row[spot : spot + chance.randint(0, 3)] = (
                chance.choice(NASTY) if kind == 7 else bytes([chance.randrange(256)])
            )
            lines[at] = bytes(row)
        data = b"".join(lines)
    return data


def read(data: bytes) -> bool:
    """Do with a file what a listing does; tell whether it was readable."""
    try:
        calendar = decode(data, zones=False)
        for series in series_of(calendar, BERLIN):
            facts = facts_of(series, calendar)
            assert from_json(as_json(facts)) == facts
            assert facts.event.start <= facts.event.end
            occurrences(series, *WINDOW)
    except UnreadableError:
        return False
    return True


def look_through(agenda: Agenda, chance: random.Random) -> list[Event]:
    """List, search, read, look for free time; nothing of this writes a file."""
    window, _ = agenda.window("2026-12-01", "2026-12-20")
    events = agenda.between(window, chance.choice([None, "run", "x"]), None, 50).events
    agenda.free(window, timedelta(hours=1), (540, 1020), BERLIN)
    for event in events[:3]:
        _in_a_sentence(partial(agenda.get, event.id))
    return events


EDITS = (
    EventFields(title="Changed"),
    EventFields(notes="", attendees=("Ann <ann@example.org>",), reminders=("10",)),
    EventFields(start="2026-12-05T10:00"),
    EventFields(duration="30"),
    EventFields(start="2026-12-05"),
    EventFields(recurrence="FREQ=WEEKLY;UNTIL=20270101"),
    EventFields(recurrence=""),
)


def edit(agenda: Agenda, chance: random.Random) -> bool:
    """Change or delete something of what is listed; tell whether that was done."""
    window, _ = agenda.window("2026-12-01", "2026-12-20")
    events = agenda.between(window, None, None, 50).events
    if not events:
        return False
    event, scope = chance.choice(events), chance.choice([None, None, *_SCOPES])
    if chance.random() < 0.2:
        return _in_a_sentence(lambda: agenda.delete(event.id, scope))
    return _in_a_sentence(lambda: agenda.update(event.id, chance.choice(EDITS), scope))


_SCOPES: tuple[Scope, ...] = ("this", "following", "all")


def _in_a_sentence(act: Callable[[], object]) -> bool:
    """Do something; a refusal is as good when it is a sentence."""
    try:
        act()
    except ToolsError as error:
        assert str(error).endswith(".")  # noqa: PT017 - a sentence is as good as an event
        return False
    return True


def test_damaged_files_are_edited_or_refused_in_a_sentence(tmp_path: Path) -> None:
    chance = random.Random(7)  # noqa: S311 - the same cases each time
    done = 0
    for number in range(60):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "a.ics").write_bytes(damaged(chance))
        agenda = agenda_over(CalendarFolder(folder, BERLIN))
        done += sum(edit(agenda, chance) for _ in range(3))
        look_through(agenda, chance)

    assert done > 30


def test_some_damaged_files_are_read_or_counted() -> None:
    chance = random.Random(6)  # noqa: S311 - the same cases each time

    assert 20 < sum(read(damaged(chance)) for _ in range(200)) < 200


@pytest.mark.fuzz
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(4))
def test_twenty_thousand_damaged_files_are_read_or_unreadable(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same cases each time
    readable = sum(read(damaged(chance)) for _ in range(CASES // 4))

    assert CASES // 40 < readable < CASES // 4


@pytest.mark.fuzz
@pytest.mark.timeout(300)
def test_a_folder_of_damaged_files_is_listed_and_stays_as_it_is(tmp_path: Path) -> None:
    chance = random.Random(26)  # noqa: S311 - the same cases each time
    files = {tmp_path / f"{number}.ics": damaged(chance) for number in range(FILES)}
    for path, data in files.items():
        path.write_bytes(data)
    for _ in range(2):
        look_through(agenda_over(CalendarFolder(tmp_path, BERLIN)), chance)

    assert {path: path.read_bytes() for path in files} == files
    assert {path.name for path in tmp_path.iterdir()} - {path.name for path in files} <= {
        ".index",
        ".index-wal",
        ".index-shm",
    }
