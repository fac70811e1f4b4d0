from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tools_mcp.calendar.drafting import Span, check_zoned, draft_event, new_span, new_words
from tools_mcp.calendar.model import Event, EventDraft, EventFields
from tools_mcp.errors import InvalidInputError

BERLIN = ZoneInfo("Europe/Berlin")
SERIES = Event(
    id="e1",
    title="Standup",
    start=datetime(2026, 12, 7, 9, tzinfo=BERLIN),
    end=datetime(2026, 12, 7, 9, 15, tzinfo=BERLIN),
    zone="Europe/Berlin",
    location="Room 1",
    notes="Bring coffee",
    attendees=("Ann <ann@example.org>",),
    recurrence="FREQ=WEEKLY;BYDAY=MO",
)
HOLIDAY = Event(id="e2", title="Holiday", start=date(2026, 12, 24), end=date(2026, 12, 27))


def draft(**fields: Any) -> EventDraft:
    return draft_event(EventFields(**{"title": "Lunch", "start": "2026-12-01T12:00", **fields}), BERLIN)


def moved(event: Event, zone: ZoneInfo = BERLIN, **fields: Any) -> Span:
    span = new_span(event, EventFields(**fields), zone)
    assert span
    return span


def times(made: EventDraft | Span) -> tuple[str, str]:
    return made.start.isoformat(), made.end.isoformat()


@pytest.mark.parametrize(
    ("fields", "start", "end"),
    [
        ({}, "2026-12-01T12:00:00+01:00", "2026-12-01T13:00:00+01:00"),
        ({"duration": "30"}, "2026-12-01T12:00:00+01:00", "2026-12-01T12:30:00+01:00"),
        ({"end": "2026-12-01T12:45"}, "2026-12-01T12:00:00+01:00", "2026-12-01T12:45:00+01:00"),
        ({"end": "2026-12-01T12:00:00Z"}, "2026-12-01T12:00:00+01:00", "2026-12-01T13:00:00+01:00"),
        ({"start": "2026-10-24T23:00", "duration": "PT8H"}, "2026-10-24T23:00:00+02:00", "2026-10-25T06:00:00+01:00"),
        ({"start": "2026-12-24"}, "2026-12-24", "2026-12-25"),
        ({"start": "2026-12-24", "end": "2026-12-26"}, "2026-12-24", "2026-12-27"),
        ({"start": "2026-12-24", "end": "2026-12-24"}, "2026-12-24", "2026-12-25"),
        ({"start": "2026-12-24", "duration": "P2D"}, "2026-12-24", "2026-12-26"),
        ({"start": "2026-12-24T23:30:00-11:00", "all_day": True}, "2026-12-24", "2026-12-25"),
        ({"start": "2026-12-24", "timezone": "Pacific/Kiritimati"}, "2026-12-24", "2026-12-25"),
    ],
)
def test_the_end_follows_from_what_was_given(fields: dict[str, Any], start: str, end: str) -> None:
    assert times(draft(**fields)) == (start, end)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"title": None}, "title is empty"),
        ({"title": " \n\t "}, "title is empty"),
        ({"title": "half \ud83d"}, "title holds half of a surrogate pair"),
        ({"title": "x" * 301}, "title has 301 characters"),
        ({"start": None}, "start is missing"),
        ({"end": "2026-12-01T11:59"}, "is not after start"),
        ({"end": "2026-12-01T12:00"}, "is not after start"),
        ({"end": "2026-12-02"}, "end is a date without a time of day"),
        ({"end": "2026-12-01T13:00", "duration": "30"}, "send one of them"),
        ({"start": "2026-12-24", "end": "2026-12-23"}, "is before start 2026-12-24"),
        ({"start": "2026-12-24", "all_day": False}, "without a time of day"),
        ({"start": "2026-12-24", "duration": "90"}, "not in whole days"),
        ({"start": "2026-12-24", "end": "whenever"}, "no time that can be read"),
        ({"timezone": "Nowhere/Land"}, "Nowhere/Land"),
        ({"start": "2026-12-07T09:00+01:00", "recurrence": "FREQ=WEEKLY"}, "send timezone with an IANA"),
        ({"start": "2026-12-07T08:00Z", "recurrence": "FREQ=WEEKLY"}, "send timezone with an IANA"),
        ({"recurrence": "weekly"}, "no RRULE"),
        ({"attendees": ("x" * 201,)}, "attendees has 201 characters"),
        ({"notes": "x" * 4001}, "notes has 4001 characters"),
    ],
)
def test_what_cannot_be_stored_is_refused_with_the_reason(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInputError, match=why):
        draft(**fields)


def test_an_offset_with_its_zone_may_recur() -> None:
    made = draft(start="2026-12-07T09:00:00+01:00", timezone="Europe/Berlin", recurrence="FREQ=WEEKLY")

    assert made.recurrence == "FREQ=WEEKLY"


def test_words_are_made_safe_to_keep() -> None:
    made = draft(
        title=" a\r\nb\x00 ",
        location="x\ny",
        notes="one\r\ntwo\x07\n",
        attendees=('Ann "A" <a@b.c>', "Ann", "Ann", " "),
    )

    assert (made.title, made.location, made.notes) == ("a b", "x y", "one\ntwo")
    assert made.attendees == ("Ann A <a@b.c>", "Ann")


def test_remarks_say_what_was_assumed_once() -> None:
    assert draft(end="2026-12-01T13:00").remarks == (
        "start had no zone and was read as Europe/Berlin time.",
        "end had no zone and was read as Europe/Berlin time.",
    )
    assert draft(start="2026-12-24").remarks == ("start has no time of day, so the event is all day.",)
    assert draft(timezone="Europe/Berlin").remarks == ()


@pytest.mark.parametrize(
    ("event", "fields", "start", "end"),
    [
        (SERIES, {"start": "2026-12-14T10:00"}, "2026-12-14T10:00:00+01:00", "2026-12-14T10:15:00+01:00"),
        (SERIES, {"start": "2026-12-14T09:00:00Z"}, "2026-12-14T10:00:00+01:00", "2026-12-14T10:15:00+01:00"),
        (SERIES, {"duration": "60"}, "2026-12-07T09:00:00+01:00", "2026-12-07T10:00:00+01:00"),
        (SERIES, {"end": "2026-12-07T09:30"}, "2026-12-07T09:00:00+01:00", "2026-12-07T09:30:00+01:00"),
        (
            SERIES,
            {"start": "2026-12-07T09:00", "timezone": "America/New_York"},
            "2026-12-07T09:00:00-05:00",
            "2026-12-07T09:15:00-05:00",
        ),
        (SERIES, {"all_day": True}, "2026-12-07", "2026-12-08"),
        (HOLIDAY, {"start": "2026-12-28"}, "2026-12-28", "2026-12-31"),
        (HOLIDAY, {"end": "2026-12-24"}, "2026-12-24", "2026-12-25"),
        (HOLIDAY, {"start": "2026-12-28T10:00"}, "2026-12-28T10:00:00+01:00", "2026-12-28T11:00:00+01:00"),
    ],
)
def test_a_moved_event_keeps_what_was_not_given(event: Event, fields: dict[str, Any], start: str, end: str) -> None:
    assert times(moved(event, **fields)) == (start, end)


def test_a_series_keeps_its_zone_when_it_moves() -> None:
    start = moved(SERIES, start="2026-12-14T09:00:00+01:00").start

    assert isinstance(start, datetime)
    assert start.tzinfo is BERLIN


IN_UTC = replace(
    SERIES,
    start=datetime(2026, 12, 7, 8, tzinfo=UTC),
    end=datetime(2026, 12, 7, 9, tzinfo=UTC),
    zone="UTC",
    recurrence="",
)


def test_an_event_kept_in_utc_has_no_zone_to_recur_in() -> None:
    with pytest.raises(InvalidInputError, match="send timezone with an IANA"):
        check_zoned(moved(IN_UTC, duration="60"))

    for zone in ("UTC", "Etc/UTC"):
        check_zoned(moved(IN_UTC, ZoneInfo(zone), duration="60"))


def test_a_series_kept_in_utc_stays_there_until_it_is_given_a_local_time() -> None:
    series = replace(IN_UTC, recurrence="FREQ=WEEKLY;BYDAY=MO")

    assert times(moved(series, duration="30")) == ("2026-12-07T08:00:00+00:00", "2026-12-07T08:30:00+00:00")
    assert times(moved(series, start="2026-12-14T10:00"))[0] == "2026-12-14T10:00:00+01:00"
    with pytest.raises(InvalidInputError, match="send timezone with an IANA"):
        check_zoned(moved(series, start="2026-12-14T10:00:00Z"))


def test_words_alone_are_no_change_of_times() -> None:
    assert new_span(SERIES, EventFields(title="Daily", notes="", recurrence=""), BERLIN) is None


def test_an_empty_text_clears_and_what_is_not_given_is_no_word() -> None:
    assert new_words(EventFields(location="", notes="", attendees=(), reminders=())) == {
        "location": "",
        "notes": "",
        "attendees": (),
        "reminders": (),
    }
    assert new_words(EventFields(title="Daily")) == {"title": "Daily"}
    with pytest.raises(InvalidInputError, match="leave it out to keep"):
        new_words(EventFields(title=" "))


def test_an_event_without_length_keeps_it_when_it_moves() -> None:
    reminder = replace(SERIES, end=SERIES.start)

    assert times(moved(reminder, start="2026-12-14T10:00")) == ("2026-12-14T10:00:00+01:00",) * 2


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"timezone": "America/New_York"}, "send start together"),
        ({"all_day": False, "start": "2026-12-14"}, "without a time of day"),
        ({"end": "2026-12-07T08:00"}, "is not after start"),
    ],
)
def test_a_change_that_makes_no_event_is_refused(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInputError, match=why):
        moved(SERIES, **fields)


def test_the_second_of_two_times_is_no_start_of_a_series() -> None:
    second = {"start": "2026-10-25T02:30:00+01:00", "timezone": "Europe/Berlin"}

    assert draft(**second).start == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    with pytest.raises(InvalidInputError, match="second such time"):
        draft(**second, recurrence="FREQ=DAILY")
    assert draft(start="2026-10-25T02:30", recurrence="FREQ=DAILY").start.isoformat() == "2026-10-25T02:30:00+02:00"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"start": "2026-12-01T10:00", "all_day": True}, "all_day is true, so the time of day of start was left out."),
        ({"start": "2026-12-01", "end": "2026-12-02T10:00"}, "so the time of day of end was left out."),
    ],
)
def test_a_time_of_day_that_is_left_out_is_told(fields: dict[str, Any], said: str) -> None:
    assert any(remark.endswith(said) for remark in draft(**fields).remarks)


@pytest.mark.parametrize(
    ("texts", "minutes"),
    [(("15", "PT1H", "1d", "0"), (1440, 60, 15, 0)), ((), ()), (("15", "15 min"), (15,)), ((" ",), ())],
)
def test_reminders_are_minutes_before_the_start(texts: tuple[str, ...], minutes: tuple[int, ...]) -> None:
    assert draft_event(EventFields(title="x", start="2026-12-01T12:00", reminders=texts), BERLIN).reminders == minutes


@pytest.mark.parametrize(
    ("texts", "said"), [(("soon",), "is no length"), (("P29D",), "four weeks"), (tuple("123456"), "at most 5")]
)
def test_reminders_that_cannot_be_kept_are_refused(texts: tuple[str, ...], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        draft_event(EventFields(title="x", start="2026-12-01T12:00", reminders=texts), BERLIN)
