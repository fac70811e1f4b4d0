"""Time zones in files: every file's own, and ours, checked by what other programs use to read them."""

from datetime import UTC, date, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import icalendar
import pytest
import vobject  # type: ignore[import-untyped]
from dateutil.tz import tzical

from tests.tools_mcp.calendar.conftest import agenda_over
from tools_mcp.calendar.agenda import Agenda
from tools_mcp.calendar.ics import UnreadableError, decode, encode, series_of
from tools_mcp.calendar.model import Event, EventFields
from tools_mcp.calendar.protocol import CalendarStore
from tools_mcp.calendar.store import CalendarFolder
from tools_mcp.calendar.vtimezone import parts_of

BERLIN = ZoneInfo("Europe/Berlin")
CUSTOM = "Customized Time Zone"


def custom(uid: str, offset: str, name: str = CUSTOM, *, zone_last: bool = False) -> bytes:
    """An event at ten o'clock in a zone that only its file knows."""
    escaped = name.replace(",", "\\,")
    zone = (
        f"BEGIN:VTIMEZONE\r\nTZID:{escaped}\r\nBEGIN:STANDARD\r\nDTSTART:16010101T000000\r\n"
        f"TZOFFSETFROM:{offset}\r\nTZOFFSETTO:{offset}\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n"
    )
    told = f'"{name}"' if "," in name else name
    event = (
        f"BEGIN:VEVENT\r\nUID:{uid}\r\nDTSTAMP:20260101T000000Z\r\nSUMMARY:{uid}\r\n"
        f"DTSTART;TZID={told}:\r\n 20270601T100000\r\nDURATION:PT1H\r\nEND:VEVENT\r\n"
    )
    parts = (event, zone) if zone_last else (zone, event)
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n{''.join(parts)}END:VCALENDAR\r\n".encode()


def listed(agenda: Agenda) -> list[Event]:
    window, _ = agenda.window("2027-01-01", "2027-12-31")
    return agenda.between(window, None, None, 50).events


def hours(agenda: Agenda) -> dict[str, int]:
    return {event.title: event.start.astimezone(UTC).hour for event in listed(agenda)}  # type: ignore[attr-defined]


@pytest.fixture
def folder(tmp_path: Path) -> Agenda:
    return agenda_over(CalendarFolder(tmp_path / "one", BERLIN))


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()


@pytest.mark.parametrize("order", [("cz1", "cz2"), ("cz2", "cz1")])
def test_two_files_with_one_zone_name_keep_their_own_times(
    folder: Agenda, tmp_path: Path, order: tuple[str, str]
) -> None:
    files = {"cz1": custom("cz1", "+0100"), "cz2": custom("cz2", "-0500")}
    for uid in order:
        folder.take_in(files[uid])
    assert hours(folder) == {"cz1": 9, "cz2": 15}
    assert hours(agenda_over(CalendarFolder(tmp_path / "one", BERLIN))) == {"cz1": 9, "cz2": 15}

    data, _ = folder.packed(None)
    other = agenda_over(CalendarFolder(tmp_path / "two", BERLIN))
    assert other.take_in(data).added == 2
    assert hours(other) == {"cz1": 9, "cz2": 15}
    calendar = vobject.readOne(data.decode(), validate=True)
    assert sorted(event.dtstart.value.astimezone(UTC).hour for event in calendar.vevent_list) == [9, 15]
    assert sorted(zone.tzid.value for zone in calendar.vtimezone_list) == [CUSTOM, f"{CUSTOM} 2"]


def test_several_calendars_in_one_text_have_each_their_own_zones(folder: Agenda) -> None:
    folder.take_in(custom("cz1", "+0100") + custom("cz2", "-0500"))

    assert hours(folder) == {"cz1": 9, "cz2": 15}


@pytest.mark.parametrize("name", [CUSTOM, "(UTC+01:00) Amsterdam, Berlin", "W. Europe Standard Time", "x" * 80])
@pytest.mark.parametrize("zone_last", [True, False])
def test_a_zone_of_another_program_is_written_as_it_was_read(name: str, zone_last: bool) -> None:
    data = custom("u", "+0300", name, zone_last=zone_last)
    calendar = decode(data)
    [series] = series_of(calendar, BERLIN)
    again = encode(calendar)

    assert series.span[0] == datetime(2027, 6, 1, 7, tzinfo=UTC)
    assert "\ue000" not in again.decode()
    assert vobject.readOne(again.decode()).vtimezone.tzid.value.replace("\\,", ",") == name
    assert series_of(decode(again), BERLIN)[0].span == series.span


def test_a_zone_without_a_definition_is_not_taken_from_another_file(folder: Agenda) -> None:
    folder.take_in(custom("cz1", "+0300"))
    text = custom("cz2", "+0300").decode()
    folder.take_in((text[: text.index("BEGIN:VTIMEZONE")] + text[text.index("BEGIN:VEVENT") :]).encode())

    assert hours(folder) == {"cz1": 7, "cz2": 8}


ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC", "America/Santiago")
IRREGULAR = ("Africa/Cairo", "Africa/Casablanca", "Asia/Jerusalem", "Asia/Gaza", "Europe/Dublin", "America/Nuuk")


@pytest.mark.parametrize("name", ZONES + IRREGULAR)
@pytest.mark.parametrize(("first", "last"), [(1994, 2010), (2026, 2046)])
def test_another_reader_of_our_definition_tells_the_same_offset_every_day(name: str, first: int, last: int) -> None:
    zone = ZoneInfo(name)
    read: Any = tzical(StringIO(parts_of(name, first, last).decode())).get()
    at = datetime(first, 1, 1, tzinfo=UTC)
    wrong = []
    while at.year <= last:
        local = at.astimezone(zone).replace(tzinfo=None)
        twice = local.replace(tzinfo=zone).utcoffset() != local.replace(tzinfo=zone, fold=1).utcoffset()
        if not twice and read.utcoffset(local.replace(tzinfo=read)) != local.replace(tzinfo=zone).utcoffset():
            wrong.append(local)
        at += timedelta(hours=21)

    assert wrong == []


@pytest.mark.parametrize(
    ("name", "onset", "rule"),
    [
        ("Europe/Berlin", "DTSTART:20250330T020000", "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3"),
        ("America/New_York", "DTSTART:20250309T020000", "RRULE:FREQ=YEARLY;BYDAY=2SU;BYMONTH=3"),
        ("Australia/Lord_Howe", "DTSTART:20251005T020000", "RRULE:FREQ=YEARLY;BYDAY=1SU;BYMONTH=10"),
    ],
)
def test_summer_time_begins_by_a_rule_at_the_local_time_before_it(name: str, onset: str, rule: str) -> None:
    text = parts_of(name, 2026, 2036).decode()

    assert onset in text
    assert rule in text.split("\r\n")
    assert "RDATE" not in text


def test_a_definition_of_an_earlier_version_is_written_anew(folder: Agenda, tmp_path: Path) -> None:
    folder.create(EventFields("Lunch", "2027-07-01T12:00"))
    path = tmp_path / "one" / "e1.ics"
    text = path.read_text()
    late = icalendar.Timezone.from_tzid("Europe/Berlin", first_date=date(2026, 1, 1)).to_ical().decode()
    zone = text[text.index("BEGIN:VTIMEZONE") : text.index("BEGIN:VEVENT")]
    path.write_text(text.replace(zone, late.replace("\r\n", "\n")))
    assert "DTSTART:20260329T030000" in path.read_text()
    folder.update("e1", EventFields(title="Brunch"))

    assert zone in path.read_text()


@pytest.mark.parametrize("year", ["0001", "1601", "9998"])
def test_a_year_that_nobody_means_is_written_too(year: str) -> None:
    data = custom("u", "+0100").replace(b"20270601T100000", f"{year}0601T100000".encode())
    data = data.replace(CUSTOM.encode(), b"Europe/Berlin")
    text = encode(decode(data, zones=False)).decode()

    assert f"DTSTART;TZID=Europe/Berlin:{year}0601T100000" in text
    assert text.count("BEGIN:VTIMEZONE") == 1


def test_a_definition_reaches_back_to_an_event_that_moves_to_an_earlier_year(folder: Agenda, tmp_path: Path) -> None:
    folder.create(EventFields("Then", "2027-07-01T12:00"))
    folder.update("e1", EventFields(start="2006-10-30T12:00", timezone="America/New_York"))
    folder.update("e1", EventFields(start="1990-07-01T12:00", timezone="America/New_York"))
    text = (tmp_path / "one" / "e1.ics").read_text()
    read: Any = tzical(StringIO(text[text.index("BEGIN:VTIMEZONE") : text.index("BEGIN:VEVENT")])).get()

    assert text.count("BEGIN:VTIMEZONE") == 1
    assert read.utcoffset(datetime(1990, 7, 1, 12, tzinfo=read)) == timedelta(hours=-4)


@pytest.mark.parametrize("store", ["caldav"], indirect=True)
def test_a_server_gives_back_a_zone_that_holds_for_years(store: CalendarStore) -> None:
    agenda = agenda_over(store)
    agenda.create(EventFields("Stand-up", "2027-01-05T09:00", recurrence="FREQ=WEEKLY"))
    with store.writing() as snapshot:
        text = store.open(snapshot.get("e1")).to_ical().decode()
    read: Any = tzical(StringIO(text[text.index("BEGIN:VTIMEZONE") : text.index("BEGIN:VEVENT")])).get()

    for year in (2027, 2028, 2035, 2061):
        assert read.utcoffset(datetime(year, 7, 1, 12, tzinfo=read)) == timedelta(hours=2)
        assert read.utcoffset(datetime(year, 12, 1, 12, tzinfo=read)) == timedelta(hours=1)


def test_a_byte_of_an_old_encoding_lives_through_an_edit(folder: Agenda, tmp_path: Path) -> None:
    text = custom("u", "+0100").replace(b"SUMMARY:u", b"SUMMARY:caf\xe9\r\nDESCRIPTION:\xe2\x82\xac 5 f\xfcr Ann")
    (tmp_path / "one" / "u.ics").write_bytes(text)
    folder.update("u", EventFields(location="Room 1"))

    assert (folder.get("u").title, folder.get("u").location) == ("café", "Room 1")
    assert "SUMMARY:café" in (tmp_path / "one" / "u.ics").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "rule",
    [
        *("FREQ=SECONDLY", "FREQ=DAILY", "FREQ=YEARLY;BYHOUR=1,2", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "no rule"),
        f"FREQ=YEARLY;BYMONTHDAY={','.join(str(day) for day in range(1, 32))}",
    ],
)
def test_a_zone_whose_clock_never_rests_is_unreadable_instead_of_slow(rule: str) -> None:
    data = custom("u", "+0100").replace(b"TZOFFSETFROM", f"RRULE:{rule}\r\nTZOFFSETFROM".encode(), 1)

    with pytest.raises(UnreadableError):
        decode(data)
