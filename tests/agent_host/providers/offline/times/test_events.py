"""Phrases of bookings and the times they mean, on Tuesday 1 December 2026, 10:00 in Berlin."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from agent_host.providers.offline.times.events import EventTimes, Unclear, read_event
from agent_host.providers.offline.times.pieces import find_time_words
from tests.agent_host.providers.offline.scenes import NOW, ZONE


def read(text: str, now: datetime = NOW, zone: ZoneInfo = ZONE) -> tuple[EventTimes, ...]:
    found = read_event(find_time_words(text), now, zone)
    assert not isinstance(found, Unclear), found
    return found


def question(text: str) -> str:
    found = read_event(find_time_words(text), NOW, ZONE)
    assert isinstance(found, Unclear), found
    return found.question


@pytest.mark.parametrize(
    ("phrase", "start"),
    [
        ("Friday at 9am", "2026-12-04 09:00"),
        ("on Friday at 9am", "2026-12-04 09:00"),
        ("9am on Friday", "2026-12-04 09:00"),
        ("Fri 9:00", "2026-12-04 09:00"),
        ("at 9 on Friday morning", "2026-12-04 09:00"),
        ("friday 9 a.m.", "2026-12-04 09:00"),
        ("tomorrow at noon", "2026-12-02 12:00"),
        ("tomorrow noon", "2026-12-02 12:00"),
        ("tmrw 8pm", "2026-12-02 20:00"),
        ("today at 17:30", "2026-12-01 17:30"),
        ("this Thursday at 10", "2026-12-03 10:00"),
        ("at 5pm", "2026-12-01 17:00"),
        ("next Tuesday at 3pm", "2026-12-08 15:00"),
        ("next Friday at 9 o'clock", "2026-12-11 09:00"),
        ("Tuesday at 3pm", "2026-12-01 15:00"),
        ("Tuesday at 9am", "2026-12-08 09:00"),
        ("at 9am", "2026-12-02 09:00"),
        ("in 2 hours", "2026-12-01 12:00"),
        ("in an hour", "2026-12-01 11:00"),
        ("in half an hour", "2026-12-01 10:30"),
        ("in 45 minutes", "2026-12-01 10:45"),
        ("in an hour's time", "2026-12-01 11:00"),
        ("90 minutes from now", "2026-12-01 11:30"),
        ("in three days at 8am", "2026-12-04 08:00"),
        ("in two weeks at 14:00", "2026-12-15 14:00"),
        ("tomorrow at half past three", "2026-12-02 15:30"),
        ("half past three tomorrow", "2026-12-02 15:30"),
        ("tomorrow at quarter to five", "2026-12-02 16:45"),
        ("tomorrow at ten past six", "2026-12-02 18:10"),
        ("Monday 14:00", "2026-12-07 14:00"),
        ("on 3 December at 10:15", "2026-12-03 10:15"),
        ("December 3rd at 2pm", "2026-12-03 14:00"),
        ("24 Dec 2026 18:00", "2026-12-24 18:00"),
        ("2026-12-10 09:30", "2026-12-10 09:30"),
        ("2026-12-10T09:30", "2026-12-10 09:30"),
        ("10/12/2026 at 9am", "2026-12-10 09:00"),
        ("10.12.2026 at 9am", "2026-12-10 09:00"),
        ("on 10/12 at 9am", "2026-12-10 09:00"),
        ("the day after tomorrow at 8 am", "2026-12-03 08:00"),
        ("tonight at 8", "2026-12-01 20:00"),
        ("tomorrow morning at 9", "2026-12-02 09:00"),
        ("tomorrow evening at 6", "2026-12-02 18:00"),
        ("on the 15th at 11", "2026-12-15 11:00"),
        ("the 15th of January at 11", "2027-01-15 11:00"),
        ("a week from Friday at 9am", "2026-12-11 09:00"),
        ("Friday week at 9am", "2026-12-11 09:00"),
        ("Saturday midnight", "2026-12-05 00:00"),
        ("Friday, 4 December 2026, 9.30 am", "2026-12-04 09:30"),
        ("Christmas Eve at 18:00", "2026-12-24 18:00"),
        ("in May on the 5th of May at noon", "2027-05-05 12:00"),
        ("dinner tomorrow at 7", "2026-12-02 19:00"),
        ("breakfast tomorrow at 7", "2026-12-02 07:00"),
        ("lunch tomorrow at 1", "2026-12-02 13:00"),
        ("gym tomorrow at 07:00", "2026-12-02 07:00"),
        ("the Monday review on Wednesday at 10", "2026-12-02 10:00"),
        ('"Friday retro" on Thursday at 4pm', "2026-12-03 16:00"),
        ("at 5 Main Street tomorrow at 3", "2026-12-02 15:00"),
        ("Python 3.11 party tonight at 8", "2026-12-01 20:00"),
    ],
)
def test_a_phrase_means_one_moment(phrase: str, start: str) -> None:
    (event,) = read(phrase)
    assert f"{event.start:%Y-%m-%d %H:%M}" == start


@pytest.mark.parametrize(
    ("phrase", "start", "end"),
    [
        ("on Friday at 9am for 30 minutes", "2026-12-04 09:00", "2026-12-04 09:30"),
        ("a 30-minute call on Friday at 9am", "2026-12-04 09:00", "2026-12-04 09:30"),
        ("a two and a half hour workshop on Friday at 13:00", "2026-12-04 13:00", "2026-12-04 15:30"),
        ("on Friday at 9am for an hour and a half", "2026-12-04 09:00", "2026-12-04 10:30"),
        ("on Friday at 9am for 1h30", "2026-12-04 09:00", "2026-12-04 10:30"),
        ("next Tuesday from 2 to 3pm", "2026-12-08 14:00", "2026-12-08 15:00"),
        ("Friday 9-10am", "2026-12-04 09:00", "2026-12-04 10:00"),
        ("on Friday from 11 to 1pm", "2026-12-04 11:00", "2026-12-04 13:00"),
        ("on Friday from 9 to 5", "2026-12-04 09:00", "2026-12-04 17:00"),
        ("on Friday between noon and 1", "2026-12-04 12:00", "2026-12-04 13:00"),
        ("on Friday at 2 until 5pm", "2026-12-04 14:00", "2026-12-04 17:00"),
        ("on Friday from 10pm to 1am", "2026-12-04 22:00", "2026-12-05 01:00"),
        ("tomorrow from 10 to 12", "2026-12-02 10:00", "2026-12-02 12:00"),
        ("in 2 hours for 20 minutes", "2026-12-01 12:00", "2026-12-01 12:20"),
    ],
)
def test_a_phrase_means_a_start_and_an_end(phrase: str, start: str, end: str) -> None:
    (event,) = read(phrase)
    assert event.end is not None
    assert (f"{event.start:%Y-%m-%d %H:%M}", f"{event.end:%Y-%m-%d %H:%M}") == (start, end)


@pytest.mark.parametrize(
    ("phrase", "first", "after"),
    [
        ("all day on 3 December", "2026-12-03", "2026-12-04"),
        ("Ana's birthday on 3 May", "2027-05-03", "2027-05-04"),
        ("vacation from Monday to Friday", "2026-12-07", "2026-12-12"),
        ("a trip from 10 to 12 December", "2026-12-10", "2026-12-13"),
        ("a conference on December 10-12", "2026-12-10", "2026-12-13"),
        ("a stay from 28 December to 3 January", "2026-12-28", "2027-01-04"),
        ("days off from Thursday to Monday", "2026-12-03", "2026-12-08"),
        ("holiday on Friday for 3 days", "2026-12-04", "2026-12-07"),
    ],
)
def test_a_phrase_means_whole_days(phrase: str, first: str, after: str) -> None:
    (event,) = read(phrase)
    assert event.all_day
    assert event.end is not None
    assert (f"{event.start:%Y-%m-%d}", f"{event.end:%Y-%m-%d}") == (first, after)


@pytest.mark.parametrize(
    ("phrase", "start", "rule"),
    [
        ("every Monday at 10", "2026-12-07 10:00", "FREQ=WEEKLY;BYDAY=MO"),
        ("every Tuesday at 15:00", "2026-12-01 15:00", "FREQ=WEEKLY;BYDAY=TU"),
        ("every Tuesday at 9am", "2026-12-08 09:00", "FREQ=WEEKLY;BYDAY=TU"),
        ("every Monday and Wednesday at 10", "2026-12-02 10:00", "FREQ=WEEKLY;BYDAY=MO,WE"),
        ("on Mondays at 8am", "2026-12-07 08:00", "FREQ=WEEKLY;BYDAY=MO"),
        ("every weekday at 9am", "2026-12-02 09:00", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
        ("every day at 11am", "2026-12-01 11:00", "FREQ=DAILY"),
        ("daily at 9:15 am", "2026-12-02 09:15", "FREQ=DAILY"),
        ("every morning at 7", "2026-12-02 07:00", "FREQ=DAILY"),
        ("every other week on Wednesday at 11am", "2026-12-02 11:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=WE"),
        ("every 2 weeks on Friday at 11am", "2026-12-04 11:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR"),
        ("on the last Friday of every month at 4pm", "2026-12-25 16:00", "FREQ=MONTHLY;BYDAY=-1FR"),
        ("every first Monday of the month at 4pm", "2026-12-07 16:00", "FREQ=MONTHLY;BYDAY=1MO"),
        ("monthly on the 15th at 4pm", "2026-12-15 16:00", "FREQ=MONTHLY"),
        ("every Monday at 10am until 20 December", "2026-12-07 10:00", "FREQ=WEEKLY;BYDAY=MO;UNTIL=20261220T225959Z"),
        ("every Monday at 10am 5 times", "2026-12-07 10:00", "FREQ=WEEKLY;BYDAY=MO;COUNT=5"),
        ("every Monday at 10am for 6 weeks", "2026-12-07 10:00", "FREQ=WEEKLY;BYDAY=MO;UNTIL=20270118T085959Z"),
        ("every year on 3 May at noon", "2027-05-03 12:00", "FREQ=YEARLY"),
    ],
)
def test_a_phrase_means_a_repetition_that_starts_on_its_first_day(phrase: str, start: str, rule: str) -> None:
    (event,) = read(phrase)
    assert (f"{event.start:%Y-%m-%d %H:%M}", event.rule) == (start, rule)


def test_several_days_in_a_list_are_several_events_in_order() -> None:
    events = read("Monday, Wednesday and Friday at 7am")
    assert [f"{event.start:%d %H}" for event in events] == ["02 07", "04 07", "07 07"]


def test_a_zone_that_is_named_is_used_for_the_clock_and_the_day_is_the_person_s() -> None:
    (event,) = read("at 3pm New York time on Friday")
    assert (event.zone.key, event.start.hour) == ("America/New_York", 15)
    late = datetime(2026, 12, 2, 3, tzinfo=ZONE)  # still Tuesday evening in New York
    (event,) = read("tomorrow at 9am New York time", late)
    assert f"{event.start:%Y-%m-%d}" == "2026-12-03"


@pytest.mark.parametrize(
    ("phrase", "words"),
    [
        ("tomorrow at 5", "I took 5 as 17:00; say “5am”"),
        ("tomorrow at 8", "I took 8 as 08:00; say “8pm”"),
        ("tomorrow at 6:30", "I took 6:30 as 18:30"),
        ("at 11am", "You named no day, so I took today."),
        ("at 9am", "You named no day, so I took the next 09:00."),
        ("next Friday at 9am", "I took “next Friday” as the one in next week."),
        ("Tuesday at 3pm", "Today is Tuesday, so I took today."),
    ],
)
def test_what_was_assumed_is_said(phrase: str, words: str) -> None:
    (event,) = read(phrase)
    assert any(words in note for note in event.assumed)


@pytest.mark.parametrize(
    "phrase", ["Friday at 9am", "tomorrow at 10", "Friday at 17:00", "dinner tomorrow at 7", "tomorrow from 2 to 3pm"]
)
def test_nothing_is_said_about_what_was_clear(phrase: str) -> None:
    (event,) = read(phrase)
    assert event.assumed == ()


@pytest.mark.parametrize(
    ("phrase", "asked"),
    [
        ("", "When should it be?"),
        ("lunch with Ana", "When should it be?"),
        ("on Friday", "At what time on Friday 4 December?"),
        ("tomorrow afternoon", "At what time on Wednesday 2 December in the afternoon?"),
        ("yesterday at 3pm", "Monday 30 November, 15:00 is in the past"),
        ("yesterday", "Monday 30 November is in the past"),
        ("today at 9am", "in the past"),
        ("from 20 to 22 November 2026", "in the past"),
        ("30 February at 9am", "There is no such date"),
        ("Monday, 4 December 2026 at 9am", "Friday 4 December is no Monday"),
        ("from 12 to 10 December", "I can't tell which days"),
        ("from Monday to Wednesday at 9am", "whole days"),
        (
            "Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday, Monday, Tuesday, Friday, Monday at 9",
            "names 11",
        ),
    ],
)
def test_what_cannot_be_told_is_asked(phrase: str, asked: str) -> None:
    assert asked in question(phrase)


def test_an_hour_that_a_clock_change_skips_stays_as_it_was_said() -> None:
    (event,) = read("on 28 March 2027 at 2:30 am")
    assert f"{event.start:%Y-%m-%d %H:%M}" == "2027-03-28 02:30"


@pytest.mark.parametrize(
    "text", ["Monday at 7am and Wednesday at 8am", "on Friday at 9 and at 11", "Friday from 9 to 10 and from 11 to 12"]
)
def test_several_times_are_asked_about(text: str) -> None:
    found = read_event(find_time_words(text), NOW, ZONE)
    assert isinstance(found, Unclear)
    assert found.question.endswith("Which day first?")


def test_one_time_may_be_said_for_each_of_several_days() -> None:
    events = read("Monday at 7am, Wednesday at 7am, and Friday at 7am")
    assert [f"{event.start:%d %H}" for event in events] == ["02 07", "04 07", "07 07"]


EARLY = datetime(2026, 12, 1, 2, 7, tzinfo=ZONE)  # still Monday in New York


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("tomorrow 9am EST", "2026-12-02 09:00"),
        ("tomorrow at 23:30 PST", "2026-12-02 23:30"),
        ("today at 9am EST", "2026-12-01 09:00"),
        ("Tuesday at 9am EST", "2026-12-01 09:00"),
        ("Monday at 9 EST", "2026-12-07 09:00"),
        ("at 9am EST", "2026-12-01 09:00"),
        ("at 10pm EST", "2026-11-30 22:00"),
    ],
)
def test_the_day_is_the_person_s_and_the_clock_the_zone_s(text: str, start: str) -> None:
    (event,) = read(text, EARLY)
    assert f"{event.start:%Y-%m-%d %H:%M}" == start


@pytest.mark.parametrize("text", ["call at 9 in New York tomorrow", "a walk tomorrow at 9 in new york with Ann"])
def test_a_place_with_another_clock_is_asked_about(text: str) -> None:
    found = read_event(find_time_words(text), NOW, ZONE)
    assert found == Unclear("On whose clock is 09:00? Say “New York time” or “Berlin time”.")


@pytest.mark.parametrize(
    "text",
    [
        "dinner in Paris on Friday at 8pm",
        "a walk in the park on Friday at 9",
        "call in New York on Friday at 9 Berlin time",
        "trip in Tokyo all day on Friday",
    ],
)
def test_a_place_with_the_same_clock_or_a_zone_beside_it_is_not(text: str) -> None:
    assert read(text)
