import pytest

from agent_host.providers.offline.planner import plan
from agent_host.providers.offline.routine import ReplyStep, ToolStep
from agent_host.providers.protocol import Message, ToolResult, ToolUse
from evals.deterministic.scripted_tools import TOOLS, ScriptedTools
from tests.agent_host.providers.offline.scenes import NOW, ZONE, said

CALL = {"id": "e1", "title": "Call", "start": "2027-06-05T09:00:00+02:00", "end": "2027-06-05T10:00:00+02:00"}


def answer(*texts: str) -> str:
    """Plays a conversation to its reply, over tools that echo."""
    tools = ScriptedTools({"calendar_list_events": {"events": [CALL]}}, ZONE)
    messages = list(said(*texts))
    while isinstance(step := plan(messages, frozenset(TOOLS), NOW, ZONE), ToolStep):
        uses = tuple(ToolUse(f"u{len(messages)}-{at}", call.tool, call.arguments) for at, call in enumerate(step.calls))
        results = tuple(ToolResult(use.id, *tools.call(use.name, use.arguments)) for use in uses)
        messages += [Message("assistant", uses), Message("user", results)]
    assert isinstance(step, ReplyStep)
    return step.text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Book a call on 5/6 at 9am", "“5/6” as 5 June"),
        ("Book a call on 05/06/2027 at 9am", "“5/6/2027” as 5 June"),
        ("Book a call on 5-6-2027 at 9am", "“5-6-2027” as 5 June"),
        ("What's on my calendar on 5/6?", "“5/6” as 5 June"),
        ("Am I free on 5/6 at 3pm?", "“5/6” as 5 June"),
        ("Cancel the call on 5/6", "“5/6” as 5 June"),
        ("Move the call on 5/6 to 7/6", "“5/6” as 5 June and “7/6” as 7 June"),
        ("Book a holiday from 5/6 to 7/6", "“5/6” as 5 June and “7/6” as 7 June"),
    ],
)
def test_a_date_that_can_be_read_in_two_ways_is_named_as_it_was_read(text: str, read: str) -> None:
    first = answer(text).splitlines()[0]
    assert first == f"I read {read} (the day first); name the month if you meant another day."


@pytest.mark.parametrize(
    "text",
    [
        "Book a call on 5 June at 9am",
        "Book a call on 25/6 at 9am",
        "Book a call on 6/6 at 9am",
        "Book a call on 2027-06-05 at 9am",
        "Book a call on 5.6.2027 at 9am",
        "What is 5/6?",
        "Remember that the flight is on 5/6",
    ],
)
def test_a_date_that_can_be_read_in_one_way_is_not_explained(text: str) -> None:
    assert "the day first" not in answer(text)


def test_a_question_back_stays_the_last_line_so_that_its_answer_is_understood() -> None:
    asked = answer("Book a call on 5/6")
    assert asked.startswith("I read “5/6” as 5 June")
    booked = answer("Book a call on 5/6", asked, "9am").splitlines()
    assert booked[0].startswith("I read “5/6” as 5 June")
    assert booked[1].startswith("Booked. Call: Saturday 5 June 2027, 09:00")
