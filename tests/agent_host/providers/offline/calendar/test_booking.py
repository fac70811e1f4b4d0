import pytest

from agent_host.providers.offline.calendar.booking import Book, title_of
from agent_host.providers.offline.questions import WHAT_TO_BOOK
from tests.agent_host.providers.offline.scenes import failed, perform

CREATED = {
    "status": "created",
    "event": {
        "id": "e",
        "title": "Call",
        "start": "2026-12-04T09:00:00+01:00",
        "end": "2026-12-04T10:00:00+01:00",
        "timezone": "Europe/Berlin",
    },
}


@pytest.mark.parametrize(
    ("rest", "title"),
    [
        ("a catch-up with the design team", "Catch-up with the design team"),
        ("me a table for two at Luigi's", "Table for two at Luigi's"),
        ("an event called Launch party", "Launch party"),
        ("a meeting with Ana", "Meeting with Ana"),
        ("a meeting", "Meeting"),
        ("an appointment at the dentist", "Appointment at the dentist"),
        ("lunch in my calendar", "Lunch"),
        ("to my calendar: dentist,", "Dentist"),
        ('a "Quarterly review" for', "Quarterly review"),
        ("three gym sessions:", "Gym session"),
        ("two Friday dinners", "Friday dinner"),
        ("I have a dentist appointment", "Dentist appointment"),
        ("it", ""),
        ("that for", ""),
        ("", ""),
        ("a", ""),
        ("x" * 500, "X" + "x" * 299),
    ],
)
def test_a_title_is_what_is_left_without_its_small_words(rest: str, title: str) -> None:
    assert title_of(rest) == title


def test_a_booking_sends_local_time_and_zone_and_no_length_that_nobody_named() -> None:
    reply, (call,) = perform(Book("a call on Friday at 9am"), {"calendar_create_event": CREATED})
    assert call.arguments == {"title": "Call", "start": "2026-12-04T09:00:00", "timezone": "Europe/Berlin"}
    assert reply == "Booked. Call: Friday 4 December, 09:00\u201310:00 (1 hour, Europe/Berlin)."


def test_whole_days_are_sent_as_dates_with_the_last_day_included() -> None:
    _, (call,) = perform(Book("a trip from 10 to 12 December"), {"calendar_create_event": CREATED})
    assert call.arguments == {"title": "Trip", "start": "2026-12-10", "end": "2026-12-12", "all_day": True}


def test_what_the_calendar_remarks_is_passed_on() -> None:
    remarked = {**CREATED, "remarks": ["02:30 is skipped that day, so 03:30 was taken."]}
    reply, _ = perform(Book("a call on Friday at 9am"), {"calendar_create_event": remarked})
    assert reply.endswith("02:30 is skipped that day, so 03:30 was taken.")


def test_an_answer_in_plain_text_is_passed_on() -> None:
    reply, _ = perform(Book("a call on Friday at 9am"), {"calendar_create_event": "Created: Call"})
    assert reply.startswith("Booked.")


@pytest.mark.parametrize("text", ["", "it", "on Friday at 9am", "something tomorrow at 9am"])
def test_a_booking_without_a_title_is_asked_for(text: str) -> None:
    assert perform(Book(text), {}) == (WHAT_TO_BOOK, [])


def test_several_days_are_booked_in_one_round_and_failures_named() -> None:
    _, calls = perform(Book("gym on Monday and Friday at 7am"), {"calendar_create_event": CREATED})
    assert [call.arguments["start"] for call in calls] == ["2026-12-04T07:00:00", "2026-12-07T07:00:00"]
    reply, _ = perform(Book("gym on Monday and Friday at 7am"), {"calendar_create_event": failed("no")})
    assert reply == "I could not book that: no"


def test_a_calendar_that_cannot_be_read_books_nothing_when_free_was_asked_for() -> None:
    reply, calls = perform(Book("a call on Friday at 9am", if_free=True), {"calendar_list_events": failed("locked")})
    assert [call.tool for call in calls] == ["calendar_list_events"]
    assert "so I booked nothing: locked" in reply


def test_an_all_day_event_does_not_make_a_person_busy() -> None:
    holiday = {"events": [{"id": "h", "title": "Holiday", "start": "2026-12-04", "end": "2026-12-04", "all_day": True}]}
    answers = {"calendar_list_events": holiday, "calendar_create_event": CREATED}
    _, calls = perform(Book("a call on Friday at 9am", if_free=True), answers)
    assert calls[-1].tool == "calendar_create_event"


@pytest.mark.parametrize(
    "text",
    [
        "lunch on Friday at noon, my treat",
        "it again on Friday at noon",
        "lunch on Friday at noon. Then call Bob",
        "a flight on Friday at 9 and tell Ana",
        "lunch at noon on Friday, what else?",
        "a walk on Friday at 9; cancel my lunch",
    ],
)
def test_more_than_a_title_is_not_booked_as_one(text: str) -> None:
    reply, calls = perform(Book(text), {})
    assert calls == []
    assert reply.startswith("I booked nothing: I can't tell what of")


@pytest.mark.parametrize("text", ["nothing tomorrow at noon", "no more calls on Friday at 9"])
def test_nothing_is_no_event(text: str) -> None:
    assert perform(Book(text), {}) == ("All right, I booked nothing.", [])


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("lunch on Friday at noon, with Ana", "Lunch with Ana"),
        ("a meeting Friday 3pm, 30 minutes, with Bob", "Meeting with Bob"),
        ("lunch with Ana, Bob and Tom on Friday at noon", "Lunch with Ana, Bob and Tom"),
        ("an appointment with Dr. Smith on Friday at 9", "Appointment with Dr. Smith"),
        ("yoga on Monday at 7am, Wednesday at 7am, and Friday at 7am", "Yoga"),
        ('"Coffee, then cancel" on Friday at 9', "Coffee, then cancel"),
    ],
)
def test_a_comma_inside_a_name_is_no_leftover(text: str, title: str) -> None:
    _, calls = perform(Book(text), {"calendar_create_event": CREATED})
    assert {call.arguments["title"] for call in calls} == {title}
