import pytest

from agent_host.providers.offline.talk.clock import clock_question
from tests.agent_host.providers.offline.scenes import perform


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("What day is it?", "Today is Tuesday 1 December 2026, week 49."),
        ("what's today's date", "Today is Tuesday 1 December 2026, week 49."),
        ("what is the date today?", "Today is Tuesday 1 December 2026, week 49."),
        ("what year is it?", "Today is Tuesday 1 December 2026, week 49."),
        ("What time is it?", "It is 10:00 on Tuesday 1 December (Europe/Berlin)."),
        ("what's the time right now", "It is 10:00 on Tuesday 1 December (Europe/Berlin)."),
        ("what time is it in Tokyo?", "It is 18:00 on Tuesday 1 December (Asia/Tokyo)."),
        ("what time is it in Auckland now?", "It is 22:00 on Tuesday 1 December (Pacific/Auckland)."),
        ("what time is it in Atlantis?", "I know no time zone called “Atlantis”. Here it is 10:00 (Europe/Berlin)."),
        (
            "what time is 3pm Berlin in New York?",
            "15:00 (Europe/Berlin) is 09:00 on Tuesday 1 December (America/New_York).",
        ),
        ("what time is 15:00 UTC here?", "15:00 (UTC) is 16:00 on Tuesday 1 December (Europe/Berlin)."),
        ("what time is 9am EST here?", "09:00 (America/New_York) is 15:00 on Tuesday 1 December (Europe/Berlin)."),
        (
            "what time is 9am in Tokyo tomorrow for me?",
            "09:00 (Asia/Tokyo) is 01:00 on Wednesday 2 December (Europe/Berlin).",
        ),
        ("what time is 3pm in Atlantis?", "I know no time zone called “Atlantis”."),
        ("what day is 24 December 2026?", "That is Thursday 24 December 2026."),
        ("what date is tomorrow", "That is Wednesday 2 December 2026."),
        ("what's the date next Friday?", "That is Friday 11 December 2026."),
        ("when is Christmas?", "That is Friday 25 December 2026."),
        ("which day is 30 February?", "There is no such date: 30 February."),
        ("how many days until Christmas?", "24 days until Friday 25 December 2026."),
        ("how long is it until tomorrow?", "1 day until Wednesday 2 December 2026."),
        ("how many days until 31 November", "There is no such date: 31 November."),
    ],
)
def test_questions_about_the_clock_are_answered_without_a_tool(text: str, reply: str) -> None:
    request = clock_question(text)
    assert request is not None
    assert perform(request, {}) == (reply, [])


@pytest.mark.parametrize(
    "text",
    [
        "when is lunch in Rome?",
        "what time is my call at 9 here?",
        "when is my birthday?",
        "what time is the meeting?",
        "how long is the Nile?",
        "day",
        "",
    ],
)
def test_other_questions_are_none(text: str) -> None:
    assert clock_question(text) is None
