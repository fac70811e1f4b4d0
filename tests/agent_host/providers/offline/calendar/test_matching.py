import pytest

from agent_host.providers.offline.calendar.matching import matching, title_words
from agent_host.providers.offline.calendar.replies import read_events
from agent_host.providers.offline.times.pieces import find_time_words
from tests.agent_host.providers.offline.scenes import SCENE, outcome

EVENTS = read_events(
    outcome(
        {
            "events": [
                {"id": "1", "title": "Catch-up with the design team", "start": "2026-12-04T09:00:00+01:00"},
                {"id": "2", "title": "Lunch", "start": "2026-12-04T12:00:00+01:00", "location": "Luigi's"},
                {"id": "3", "title": "Holiday", "start": "2026-12-04"},
            ]
        }
    ),
    SCENE,
)


@pytest.mark.parametrize(
    ("target", "ids"),
    [
        ("the catch-up", ["1"]),
        ("catch up with design", ["1"]),
        ("lunch at Luigi's", ["2"]),
        ("the holiday", ["3"]),
        ("everything", ["1", "2", "3"]),
        ("the dentist", []),
        ("lunch with Bob and Sue and Tim", []),
        ("the noon meeting", ["2"]),
        ("my meeting at midnight", []),
        ("catchup", ["1"]),
        ("the catchups", ["1"]),
        ("only the holi day", ["3"]),
        ("atch", []),
    ],
)
def test_events_are_matched_by_the_words_of_their_title(target: str, ids: list[str]) -> None:
    assert [event.id for event in matching(EVENTS, find_time_words(target), SCENE)] == ids


def test_small_words_and_names_for_any_event_are_no_title_words() -> None:
    assert title_words("the whole meeting with Ana from my calendar") == "with Ana"
    assert title_words("that meeting") == ""
    assert title_words("only the next stand-up onwards") == "stand-up"
    assert title_words("'s stand-up") == "stand-up"
