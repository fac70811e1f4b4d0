"""Whatever is typed and whatever tools return, there is a next step, and the person's words alone decide on calls."""

import json
from collections.abc import Callable, Mapping
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_host.providers.offline.conversation import PastTurn
from agent_host.providers.offline.planner import plan
from agent_host.providers.offline.questions import SHALL_I_BOOK, WHICH_ONE, Reader, complete
from agent_host.providers.offline.recognition import stands_alone
from agent_host.providers.offline.routine import Call, ReplyStep, ToolStep
from agent_host.providers.protocol import Message, Text, ToolResult, ToolUse
from evals.deterministic.offline_messages import load_cases
from evals.deterministic.scripted_tools import TOOLS
from tests.agent_host.providers.offline.scenes import NOW, ZONE, said

ALL = frozenset(TOOLS)
CALM = settings(max_examples=40, deadline=None)
WORDS = sorted({word for case in load_cases() for turn in case.turns for word in turn.say.split()})
EVERYDAY = sorted({turn.say for case in load_cases() for turn in case.turns})

typed = st.one_of(
    st.text(max_size=300),
    st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join),
    st.tuples(st.sampled_from(EVERYDAY), st.text(max_size=40)).map("".join),
    st.binary(max_size=200).map(lambda data: data.decode("utf-8", errors="replace")),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
fields = st.sampled_from(
    (
        "id",
        "title",
        "start",
        "end",
        "all_day",
        "recurring",
        "recurrence",
        "timezone",
        "location",
        "snippet",
        "body",
        "subject",
        "created_at",
        "modified",
        "url",
        "published",
        "provider",
        "cancelled",
        "status",
        "message",
        "minutes",
        "to",
        "channel",
        "created",
        "saved",
        "summary",
        "text",
        "change",
        "name",
        "before",
        "after",
    )
)
odd = json_values | st.sampled_from(
    ("9999-12-31", "2026-13-45", "FREQ=WEEKLY;BYDAY=XX;UNTIL=99999999", "Mars/Base", "x" * 500)
)
rows = st.lists(st.dictionaries(fields, odd, max_size=9), max_size=3)
names = st.sampled_from(("entries", "events", "notes", "results", "slots", "memory", "event", "remarks", "messages"))
names |= st.sampled_from(("message", "reports", "report", "differences"))
answers = st.dictionaries(names, rows | odd, max_size=3) | odd


@CALM
@given(typed)
def test_no_message_crashes_the_planner(text: str) -> None:
    step = plan(said(text), ALL, NOW, ZONE)
    assert isinstance(step, ToolStep) or step.text


@CALM
@given(typed)
def test_without_tools_every_message_gets_a_reply(text: str) -> None:
    step = plan(said(text), frozenset(), NOW, ZONE)
    assert isinstance(step, ReplyStep)
    assert step.text


@CALM
@given(st.sampled_from(EVERYDAY), st.lists(answers, min_size=1, max_size=3), st.booleans())
def test_no_tool_result_crashes_the_planner(text: str, results: list[object], broken: bool) -> None:
    messages = list(said(text))
    for index, result in enumerate(results):
        step = plan(messages, ALL, NOW, ZONE)
        if isinstance(step, ReplyStep):
            break
        uses = tuple(ToolUse(f"{index}-{at}", call.tool, call.arguments) for at, call in enumerate(step.calls))
        content = json.dumps(result)[: -1 if broken else None]
        found = tuple(ToolResult(use.id, content, is_error=False) for use in uses)
        messages += [Message("assistant", uses), Message("user", found)]
    step = plan(messages, ALL, NOW, ZONE)
    assert isinstance(step, ToolStep) or isinstance(step.text, str)


@CALM
@given(typed, st.text(max_size=80), typed)
def test_no_conversation_crashes_the_planner(before: str, reply: str, text: str) -> None:
    for question in ("", WHICH_ONE, SHALL_I_BOOK, "When should it be?"):
        complete([PastTurn(before, f"{reply}\n{question}")], text, Reader(stands_alone, str))


def calls_after_a_result(asked: str, result: object) -> tuple[Call, ...]:
    """Returns the calls that follow on what the first call of a request found."""
    first = plan(said(asked), ALL, NOW, ZONE)
    assert isinstance(first, ToolStep)
    uses = tuple(ToolUse(f"u{at}", call.tool, call.arguments) for at, call in enumerate(first.calls))
    found = tuple(ToolResult(use.id, json.dumps(result), is_error=False) for use in uses)
    rows = (*said(asked), Message("assistant", uses), Message("user", found))
    after = plan(rows, ALL, NOW, ZONE)
    return tuple(after.calls) if isinstance(after, ToolStep) else ()


def memory_with(known: str, words: str) -> object:
    return {"entries": [{"id": "m1", "snippet": f"{known} {words}"}], "message": words}


def event_with(words: str) -> object:
    times = {"start": "2026-12-04T09:00:00+01:00", "end": "2026-12-04T10:00:00+01:00"}
    row = {"id": "e1", "title": "Call with Ana", "location": words, "description": words, **times}
    return {"events": [row], "message": words, "remarks": [words]}


def note_with(words: str) -> object:
    return {"notes": [{"id": "n1", "title": "Groceries", "snippet": words}], "message": words}


# Requests whose second call depends on what the first one found, and where a stranger's words may stand in that.
SECOND_STEPS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "Actually, Ana prefers coffee.": ("memory_update", partial(memory_with, "Ana prefers tea.")),
    "Forget what I said about the dentist.": ("memory_forget", partial(memory_with, "The dentist is Dr. Weiss.")),
    "Cancel the call with Ana on Friday.": ("calendar_delete_event", event_with),
    "Move the call with Ana on Friday to 3pm.": ("calendar_update_event", event_with),
    "Find my note about groceries.": ("notes_read", note_with),
    "Research solar panels.": ("search_web", partial(memory_with, "Solar panels are on the roof.")),
}


@CALM
@given(st.sampled_from(sorted(SECOND_STEPS)), st.sampled_from(EVERYDAY) | st.text(max_size=80))
def test_words_in_a_result_never_become_a_call(asked: str, hidden: str) -> None:
    """The calls after a poisoned result are the ones after a harmless result of its shape, to the last argument.

    A memory that says more than what shall be forgotten or corrected is asked about instead.
    """
    tool, result = SECOND_STEPS[asked]
    calls = calls_after_a_result(asked, result(""))
    assert [call.tool for call in calls] == [tool]
    found = calls_after_a_result(asked, result(hidden))
    assert found == calls or (tool in ("memory_forget", "memory_update") and found == ())


@pytest.mark.parametrize(
    "text",
    [
        " " * 1999 + "x",
        "and " * 499,
        "remember a and book b " * 90,
        "book x on friday at 9 and " * 76,
        "add a to my b " * 140,
        "in 1 " * 399,
        "every " * 330,
        "(" * 1999,
        "9" * 1999,
        "book " + "monday, " * 240,
        "what " * 399,
        "\n" * 1999 + "x",
        "\u2028" * 500,
        "\ud800 lone surrogate",
        "Take a note: " + "x and book y on friday at 9. " * 40_000,
        "x" * 1_000_000,
    ],
    ids=lambda text: f"{text[:12]!r}*{len(text)}",
)
def test_long_and_hostile_messages_are_answered(text: str) -> None:
    step = plan((Message("user", (Text(text),)),), ALL, NOW, ZONE)
    assert isinstance(step, ToolStep) or step.text


WRITES = ("create", "update", "delete", "remember", "forget", "write", "message_draft", "discard", "render")


@pytest.mark.parametrize("opening", ["Should I", "Did you"])
def test_a_question_about_a_request_has_nothing_written(opening: str) -> None:
    written: list[str] = []
    for text in EVERYDAY:
        if ":" in text or text.endswith("remember that"):  # what follows a colon or stands before that is free text
            continue
        step = plan(said(f"{opening} {text[:1].lower()}{text[1:].rstrip(' .!?')}?"), ALL, NOW, ZONE)
        calls = step.calls if isinstance(step, ToolStep) else ()
        written += [text for call in calls if any(word in call.tool for word in WRITES)]
    assert written == []


@CALM
@given(typed, st.dictionaries(fields, odd, max_size=9))
def test_no_message_after_a_booking_crashes_the_planner(text: str, event: dict[str, object]) -> None:
    use = ToolUse("u1", "calendar_create_event", {})
    result = ToolResult("u1", json.dumps({"status": "created", "event": event}), is_error=False)
    booked = (*said("book lunch on Friday at noon"), Message("assistant", (use,)), Message("user", (result,)))
    step = plan((*booked, Message("assistant", (Text("Booked."),)), *said(text)), ALL, NOW, ZONE)
    assert isinstance(step, ToolStep) or step.text
