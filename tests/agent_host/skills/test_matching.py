"""Which everyday messages load a skill, and which do not."""

from __future__ import annotations

import pytest

from agent_host.skills.loading import SHIPPED, SkillFolder
from agent_host.skills.matching import Skill, matching, telling_words
from tests.agent_host.skills.everyday_messages import EVERYDAY
from tests.agent_host.skills.research_messages import RESEARCH

SHIPPED_SKILLS = SkillFolder((SHIPPED,)).skills()
MEETINGS = Skill("schedule-meeting", "Schedule a meeting with people at a time that suits all of them", "body")
SUITS = Skill(
    "schedule-meeting",
    "Schedule a meeting with people: find a time that suits everybody and send the invitation.",
    "body",
)
BUDGET_TRIP = Skill("trip-planner", "Plan a trip: book flights, hotels and trains within a budget.", "body")
TRAVEL = Skill("plan-trip", "Plan a trip: flights, hotels and an itinerary for travel abroad", "body")


def chosen(message: str) -> list[str]:
    return [skill.name for skill in matching(message, SHIPPED_SKILLS)]


def test_a_question_about_the_outside_world_is_research() -> None:
    assert [message for message in RESEARCH if chosen(message) != ["research-report"]] == []


@pytest.mark.parametrize(
    "message",
    [
        "From now on answer in German.",
        "from now on, call me Ada",
        "Please always answer in two sentences",
        "Never use emoji, please",
        "In future always sign with my full name",
        "In the future write dates as 3 May",
        "I'd like you to add this rule: no small talk",
        "Make it short. Remember this rule: no exclamation marks",
        "Can you create a skill for my weekly review?",
        "Could you write me a new skill about packing",
        "Turn this into a skill",
        "save that as a new skill",
        "Update your persona: be blunt",
        "Teach yourself to check the calendar first",
        "Ab jetzt bitte auf Deutsch",
        "Von nun an duze mich",
        "Antworte immer kurz",
        "Erstelle einen Skill für meine Wochenplanung",
    ],
)
def test_a_standing_wish_or_a_way_of_working_is_a_lesson(message: str) -> None:
    assert [skill.name for skill in matching(message, SHIPPED_SKILLS)] == ["lessons"]


@pytest.mark.parametrize(
    "message",
    [
        "In the future, will cars fly?",
        "I always answer late, sorry",
        "Remember that I like tea",
        "What skill do I need for that job?",
        "Add milk to the list",
        "Never mind",
        "Make a plan for tomorrow",
        "What is the golden rule?",
        "Remember my anniversary is on 3 May",
        "Keep the meeting on Friday",
    ],
)
def test_what_only_sounds_like_a_lesson_is_none(message: str) -> None:
    assert matching(message, SHIPPED_SKILLS) == ()


def test_an_everyday_message_loads_no_skill_but_the_one_it_is_about() -> None:
    found = {message: matching(message, [*SHIPPED_SKILLS, MEETINGS, TRAVEL]) for message in EVERYDAY}
    assert {message: [skill.name for skill in skills] for message, skills in found.items() if skills} == {
        "Book a meeting with Sam tomorrow at 10": ["schedule-meeting"],
    }


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("Schedule a meeting", ["schedule-meeting"]),
        ("hotels for my trip", ["plan-trip"]),
        ("schedule the meeting about our trip and flights", ["plan-trip", "schedule-meeting"]),
        ("Trips, flights; meetings, SCHEDULE", ["plan-trip", "schedule-meeting"]),
        ("a trip", []),
    ],
)
def test_a_skill_without_triggers_needs_two_words_that_tell(message: str, names: list[str]) -> None:
    assert [skill.name for skill in matching(message, [MEETINGS, TRAVEL])] == names


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("what suits you best, people say meeting is hard", []),
        ("book me a table, I'll plan the rest", []),
        ("is the hotel open? and what is my budget", []),
        ("Book a meeting", ["schedule-meeting"]),
        ("arrange the meeting, please", ["schedule-meeting"]),
        ("flights, hotels, and all within my budget", ["trip-planner"]),
        ("I plan a trip", ["trip-planner"]),
    ],
)
def test_the_words_that_tell_stand_in_one_clause(message: str, names: list[str]) -> None:
    assert [skill.name for skill in matching(message, [SUITS, BUDGET_TRIP])] == names


def test_a_word_that_few_skills_have_tells_more() -> None:
    skills = [Skill(name, f"Flights and hotels, {name}", "body") for name in ("aa", "bb", "cc")]
    found = matching("flights and hotels for a visa", [*skills, Skill("zz", "Flights with a visa", "body")])

    assert [skill.name for skill in found] == ["zz", "aa"]


def test_no_more_than_two_skills_join_a_prompt_and_a_trigger_comes_first() -> None:
    third = Skill("meeting-trip", "Schedule meeting trip flights hotels", "body")
    sure = Skill("asked", "anything", "body", triggers=("schedule *",))
    found = matching("schedule the meeting trip with flights", [MEETINGS, TRAVEL, third, sure])

    assert [skill.name for skill in found] == ["asked", "meeting-trip"]


def test_common_words_and_endings_tell_nothing() -> None:
    told = telling_words("What's Sam's bus like with the meetings of a news agency?")

    assert told == {"sam", "bus", "meeting", "agency"}
