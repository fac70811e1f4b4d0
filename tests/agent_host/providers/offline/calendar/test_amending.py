import pytest

from agent_host.providers.offline.calendar.amending import amendment
from agent_host.providers.offline.calendar.changing import Cancel, Move
from agent_host.providers.offline.calendar.replies import Event
from tests.agent_host.providers.offline.scenes import NOW

CALL = Event("e1", "Call with Ben", NOW, NOW, all_day=False, zone_name="", repeats=False, rule="", location="")


@pytest.mark.parametrize(
    ("text", "to"),
    [
        ("actually, make it 10", "at 10"),
        ("make it ten", "at ten"),
        ("no, make that 13:00", "13:00"),
        ("Actually the call with Ben is at 11", "at 11"),
        ("no, I meant Tuesday", "Tuesday"),
        ("sorry, half past two", "half past two"),
        ("oh wait, 11", "at 11"),
        ("that's wrong, Friday at 9", "Friday at 9"),
        ("make it an hour and a half", "an hour and a half"),
        ("it should be at 4pm instead", "at 4pm"),
        ("the call should start at 10", "at 10"),
        ("book it at 5pm", "at 5pm"),
    ],
)
def test_a_correction_names_a_time_and_the_event_at_most(text: str, to: str) -> None:
    assert amendment(text, CALL) == Move("it", to)


@pytest.mark.parametrize("text", ["delete it", "no, remove that again", "drop it please."])
def test_what_was_just_stored_is_taken_out_again(text: str) -> None:
    assert amendment(text, CALL) == Cancel("it")


@pytest.mark.parametrize(
    "text",
    [
        "the call is at 11",
        "Friday",
        "actually, lunch is at 11",
        "actually, Ana arrives on Friday",
        "no, Friday is fine",
        "what if we make it 10",
        "no, it was at 10",
        "don't make it 10",
        "no, not Friday",
        "make it 9 or 10",
        "make it Monday and Friday",
        "make it weekly",
        "book it again on Friday",
        "put it on Friday too",
        "actually, that's wrong",
        "make it in two hours",
        "I would make it 10",
        "make it 10 and invite Tom",
        "",
    ],
)
def test_what_may_mean_something_else_corrects_nothing(text: str) -> None:
    assert amendment(text, CALL) is None
