import pytest

from agent_host.providers.offline.calendar.replies import (
    agenda,
    read_event_row,
    read_events,
    remarks,
    show_event,
    show_rule,
)
from tests.agent_host.providers.offline.scenes import SCENE, outcome


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("FREQ=DAILY", "every day"),
        ("FREQ=WEEKLY;BYDAY=MO", "every Monday"),
        ("FREQ=WEEKLY;BYDAY=MO,WE,FR", "every Monday, Wednesday and Friday"),
        ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "every weekday"),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=WE", "every 2 weeks on Wednesday"),
        ("RRULE:FREQ=MONTHLY;BYDAY=-1FR", "the last Friday of every month"),
        ("FREQ=MONTHLY;BYDAY=1MO;COUNT=5", "the first Monday of every month, 5 times"),
        ("FREQ=WEEKLY;BYDAY=MO;UNTIL=20261220T225959Z", "every Monday, until Sunday 20 December"),
        ("FREQ=YEARLY;UNTIL=20281220", "every year, until Wednesday 20 December 2028"),
        ("FREQ=WEEKLY;UNTIL=99999999T999999Z", "every week"),
        ("FREQ=HOURLY", "FREQ=HOURLY"),
        ("FREQ=MONTHLY;BYMONTHDAY=15", "FREQ=MONTHLY;BYMONTHDAY=15"),
        ("nonsense", "nonsense"),
        ("", ""),
    ],
)
def test_a_rule_is_shown_in_words_or_as_it_is(rule: str, words: str) -> None:
    assert show_rule(rule, SCENE) == words


def test_an_event_is_shown_in_local_time_with_its_own_zone_beside_it() -> None:
    row = {
        "id": "e",
        "title": "Call",
        "start": "2026-12-04T15:00:00-05:00",
        "end": "2026-12-04T16:30:00-05:00",
        "timezone": "America/New_York",
        "location": "Online",
    }
    event = read_event_row(row, SCENE)
    assert event is not None
    when, zones = "Friday 4 December, 21:00\u201322:30", "Europe/Berlin; 15:00 in America/New_York"
    assert show_event(event, SCENE) == f"Call: {when} (1 hour 30 minutes, {zones}), Online"


@pytest.mark.parametrize("zone", ["Mars/Base", "", "../x", "Europe/Berlin"])
def test_a_zone_that_is_unknown_or_the_persons_own_is_not_shown_twice(zone: str) -> None:
    row = {"title": "Call", "start": "2026-12-04T09:00:00+01:00", "end": "2026-12-04T10:00:00+01:00", "timezone": zone}
    event = read_event_row(row, SCENE)
    assert event is not None
    assert show_event(event, SCENE).endswith("(1 hour, Europe/Berlin)")


def test_an_all_day_event_is_shown_with_its_last_day() -> None:
    event = read_event_row({"title": "Trip", "start": "2026-12-10", "end": "2026-12-12"}, SCENE)
    assert event is not None
    assert event.all_day
    assert show_event(event, SCENE) == "Trip: Thursday 10 December to Saturday 12 December, all day"


def test_an_event_without_a_readable_start_is_left_out() -> None:
    data = {"events": [{"title": "A"}, {"title": "B", "start": "soon"}, "text", {"title": "C", "start": "2026-12-04"}]}
    assert [event.title for event in read_events(outcome(data), SCENE)] == ["C"]


def test_an_event_without_title_or_end_is_still_shown() -> None:
    event = read_event_row({"start": "2026-12-04T09:00:00+01:00"}, SCENE)
    assert event is not None
    assert (event.title, event.minutes) == ("(no title)", 60)


def test_an_agenda_has_days_in_order_and_whole_days_first() -> None:
    data = {
        "events": [
            {"title": "Late", "start": "2026-12-04T15:00:00+01:00", "end": "2026-12-04T16:00:00+01:00"},
            {"title": "Early", "start": "2026-12-04T09:00:00+01:00", "end": "2026-12-04T10:00:00+01:00"},
            {"title": "Trip", "start": "2026-12-04", "end": "2026-12-06", "all_day": True},
            {
                "title": "Before",
                "start": "2026-12-03T09:00:00+01:00",
                "end": "2026-12-03T10:00:00+01:00",
                "location": "Here",
            },
        ]
    }
    assert agenda(read_events(outcome(data), SCENE), SCENE).splitlines() == [
        "Thursday 3 December:",
        "- 09:00 to 10:00: Before, Here",
        "Friday 4 December:",
        "- all day: Trip (until Sunday 6 December)",
        "- 09:00 to 10:00: Early",
        "- 15:00 to 16:00: Late",
    ]


def test_remarks_are_the_texts_among_what_is_there() -> None:
    assert remarks(outcome({"remarks": ["One.", 2, "Two."]})) == "One.\nTwo."
    assert remarks(outcome([])) == ""
