"""Which messages plainly need no memory, by rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_host.gates.rules import LONGEST_CHARACTERS, needless


@pytest.mark.parametrize(
    "message",
    ["hi", "Hello there!", "Good morning, Prometheus.", "thanks a lot", "thank you very much!", "OK, great", "bye."],
)
def test_a_greeting_needs_no_memory(message: str) -> None:
    assert needless(message, calendar=False) == "a greeting"


@pytest.mark.parametrize(
    "message", ["what is 17 * 23?", "12+5", "How much is 15% of 80", "(3 + 4) / 2 =", "7 times 8", "12 - 5"]
)
def test_arithmetic_needs_no_memory(message: str) -> None:
    assert needless(message, calendar=False) == "arithmetic"


@pytest.mark.parametrize(
    "message",
    [
        "Book a meeting tomorrow at 3pm",
        "please cancel the dentist appointment",
        "can you move the standup to friday",
        "what's on my calendar next week?",
        "list my appointments",
        "Schedule a call every Monday at 9:30 for half an hour",
        "move the meeting to 4 pm",
        "Could you please delete the yoga class on Sunday",
        "add an event on 3 May from 10 to 11",
        "What's on the agenda today?",
    ],
)
def test_a_calendar_command_needs_none_where_rules_alone_decide(message: str) -> None:
    assert needless(message, calendar=True) == "a calendar command"
    assert needless(message, calendar=False) is None


@pytest.mark.parametrize(
    "message",
    [
        "",
        "   ",
        "What is 2024-05-01?",
        "What did I say about 2024?",
        "hi, what does Ana like?",
        "thanks, and when is my flight?",
        "Book my usual table tomorrow at 7pm",
        "Schedule a call with Ana on friday, at the time she prefers",
        "hihi",
        "book dinner for my wife's birthday on friday 19:00",
        "schedule a call with my dentist tomorrow",
        "book a table at that Italian place on friday 8pm",
        "add the event I mentioned on Friday",
        "book a meeting with the design team on Friday at 9",
        "book a meeting with Ben tomorrow at 9",
        "Book lunch with ana at luigi's tomorrow at noon",
        "book dinner tomorrow at 7pm",
        "book the yoga class on Sunday",
        "book a dentist appointment on Friday at 9",
        "cancel our meeting on Friday",
        "cancel Ben's call tomorrow",
        "show the events with Ana",
        "list what is on my wishlist for Friday",
        "book",
        "book me",
        "Buche den Termin am Freitag",
        "What is 0800-123456",
        "What is 555-1234?",
        "what is +49 170 1234567",
        "how much is 030 12345 plus",
        "the 4 of us",
        "12",
        "Who is my dentist?",
        f"hi {'there ' * LONGEST_CHARACTERS}",
    ],
)
def test_anything_that_may_need_memory_is_left_to_others(message: str) -> None:
    assert needless(message, calendar=True) is None


@given(st.text(max_size=300), st.booleans())
def test_no_message_breaks_the_rules(message: str, calendar: bool) -> None:
    assert needless(message, calendar=calendar) in {None, "a greeting", "arithmetic", "a calendar command"}
