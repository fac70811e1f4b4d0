import pytest

from agent_host.providers.offline.calendar.booking import Book
from agent_host.providers.offline.calendar.changing import Cancel, Move
from agent_host.providers.offline.calendar.intents import (
    book,
    cancel,
    find_free,
    list_events,
    move,
    same_for_another_day,
)
from agent_host.providers.offline.calendar.looking import FindFree, ListEvents, NextEvent


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("book lunch", "lunch"),
        ("schedule a call on Friday", "a call on Friday"),
        ("block off Friday at 9", "Friday at 9"),
        ("set up a call", "a call"),
        ("book me a room", "a room"),
        ("add lunch tomorrow at noon", "lunch tomorrow at noon"),
        ("put dinner on my calendar", "dinner on my calendar"),
        ("remind me to call Ana at 6pm", "call Ana at 6pm"),
        ("set a reminder for the bank tomorrow", "the bank tomorrow"),
        ("remember to call Ana tomorrow", "call Ana tomorrow"),
        ("book", ""),
    ],
)
def test_a_booking_is_what_follows_its_verb(text: str, what: str) -> None:
    assert book(text) == Book(what)


@pytest.mark.parametrize(
    "text",
    [
        "add milk",
        "make tea",
        "plan a party",
        "create a poem",
        "put it down",
        "remember to buy milk",
        "booking",
        "add a note tomorrow",
    ],
)
def test_verbs_that_mean_other_things_need_a_time_or_the_calendar(text: str) -> None:
    assert book(text) is None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("book a call on Friday at 9 if I'm free", "a call on Friday at 9"),
        ("If I am free on Friday at 9, book a call", "a call on Friday at 9"),
        ("book a call on Friday at 9, but only if there's nothing else", "a call on Friday at 9"),
    ],
)
def test_a_booking_may_depend_on_being_free(text: str, what: str) -> None:
    found = book(text)
    assert isinstance(found, Book)
    assert found.if_free
    assert " ".join(found.text.split()) == what


@pytest.mark.parametrize(
    "text",
    [
        "what's on my calendar",
        "what do I have tomorrow",
        "show me my agenda",
        "any meetings on Friday?",
        "my schedule",
        "how does my week look?",
        "have I got anything on Friday",
        "how many meetings do I have today?",
        "list my appointments",
        "what is planned for tomorrow?",
        "how's tomorrow?",
        "is there anything on this weekend?",
    ],
)
def test_the_calendar_is_asked_for_in_many_ways(text: str) -> None:
    assert isinstance(list_events(text), ListEvents)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("when is my next meeting?", "meeting"),
        ("when's the dentist?", "dentist"),
        ("what time is lunch with Ana", "lunch with Ana"),
        ("what's next?", ""),
    ],
)
def test_the_next_event_is_asked_for_by_its_name(text: str, target: str) -> None:
    assert list_events(text) == NextEvent(target)


@pytest.mark.parametrize(
    "text", ["what's your name", "when is Ana's birthday", "show me my notes", "what do I have", "is it on?"]
)
def test_other_questions_do_not_list_events(text: str) -> None:
    assert list_events(text) is None


@pytest.mark.parametrize(
    "text", ["what about Friday?", "and tomorrow", "how about next week?", "on Friday?", "tomorrow?"]
)
def test_another_day_can_be_asked_about_in_two_words(text: str) -> None:
    assert isinstance(same_for_another_day(text), ListEvents)


@pytest.mark.parametrize("text", ["what about Ana?", "and lunch on Friday", "Friday", "what about"])
def test_a_question_about_something_else_is_not_about_another_day(text: str) -> None:
    assert same_for_another_day(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "when am I free tomorrow?",
        "am I free at 3pm?",
        "find a free slot",
        "find me an hour on Friday",
        "do I have time today?",
        "when can we meet?",
        "free slots tomorrow",
        "is there a gap on Friday?",
        "look for a 30 minute slot",
    ],
)
def test_free_time_is_asked_for_in_many_ways(text: str) -> None:
    assert isinstance(find_free(text), FindFree)


def test_freedom_is_no_free_time() -> None:
    assert find_free("set me free") is None


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("cancel lunch", "lunch"),
        ("call off the party", "the party"),
        ("delete the meeting with Ana", "the meeting with Ana"),
        ("remove lunch on Friday", "lunch on Friday"),
        ("clear my calendar on Friday", "my calendar on Friday"),
    ],
)
def test_an_event_is_cancelled_by_what_follows(text: str, target: str) -> None:
    assert cancel(text) == Cancel(target)


@pytest.mark.parametrize(
    "text", ["cancel", "delete my note", "remove that file", "drop the ball", "clear the list", "delete the memory"]
)
def test_other_things_are_not_cancelled(text: str) -> None:
    assert cancel(text) is None


@pytest.mark.parametrize(
    ("text", "target", "to"),
    [
        ("move lunch to 1pm", "lunch", "1pm"),
        ("reschedule the call on Friday to Monday at 9", "the call on Friday", "Monday at 9"),
        ("push back the call to 4", "the call", "4"),
        ("postpone lunch until tomorrow", "lunch", "tomorrow"),
    ],
)
def test_an_event_is_moved_to_what_follows(text: str, target: str, to: str) -> None:
    assert move(text) == Move(target, to)


@pytest.mark.parametrize("text", ["move to Porto", "change the song to jazz", "move lunch", "push to main"])
def test_other_things_are_not_moved(text: str) -> None:
    assert move(text) is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("push the call back 30 minutes", Move("the call", shift=30)),
        ("move lunch tomorrow one hour later", Move("lunch tomorrow", shift=60)),
        ("bring the call forward by an hour", Move("the call", shift=-60)),
        ("move it 15 minutes earlier", Move("it", shift=-15)),
        ("postpone the call by 2 hours", Move("the call", shift=120)),
        ("rename lunch to Brunch with Ana", Move("lunch", title="Brunch with Ana")),
        ("change the title of the call to “Sync”", Move("the call", title="Sync")),
    ],
)
def test_an_event_is_shifted_or_renamed(text: str, wanted: Move) -> None:
    assert move(text) == wanted


@pytest.mark.parametrize("text", ["move the call back an hour", "move it forward 30 minutes", "rename my note to Milk"])
def test_what_means_either_way_moves_nothing(text: str) -> None:
    assert move(text) is None
