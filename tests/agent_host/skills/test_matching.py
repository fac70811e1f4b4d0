"""Which everyday messages load a skill, and which do not."""

from __future__ import annotations

import pytest

from agent_host.skills.loading import SHIPPED, SkillFolder
from agent_host.skills.matching import Skill, is_triggered, matching, telling_words

SHIPPED_SKILLS = SkillFolder((SHIPPED,)).skills()
MEETINGS = Skill("schedule-meeting", "Schedule a meeting with people at a time that suits all of them", "body")
TRAVEL = Skill("plan-trip", "Plan a trip: flights, hotels and an itinerary for travel abroad", "body")
RESEARCH = [
    "Research the competitors of mem0",
    "Please research Zep and Letta",
    "How much funding did Mem0 raise?",
    "Who competes with Zep?",
    "look into Zep and Letta for me",
    "look into Zep and Letta for the board",
    "Can you look into Zep?",
    "I need you to compare Mem0 with Zep.",
    "Compare Postgres vs SQLite for small teams",
    "Who are the investors of Mem0?",
    "who are mem0's competitors",
    "Write a report on vector databases",
    "Prepare me a short report about solid-state batteries",
    "Hi! Could you do some research on heat pumps?",
    "Find out more about the EU AI Act",
    "What is the market for home batteries?",
    "Thanks. Now dig into their pricing history",
    "Recherchiere die Konkurrenten von Mem0",
    "Kannst du bitte Mem0 recherchieren? Vergleiche Mem0 mit Zep.",
    "Wie viel Kapital hat Zep aufgenommen?",
    "Wer sind die Wettbewerber von Zep?",
    "Schreibe einen Bericht über Wärmepumpen",
]
EVERYDAY = [
    "",
    "Save a summary of this chat",
    "What time is it with you",
    "thanks for the help with that, and have a good day",
    "Thanks for the research",
    "Book a meeting with Sam tomorrow at 10",
    "look into my calendar for Friday",
    "Compare my notes with the meeting",
    "Report the bug to Sam by email",
    "Remember that I like window seats",
    "what did I say about the report?",
    "The report is due on Friday",
    "show the report on Zep",
    "list my reports",
    "Draft an email to Ana about the research",
    "I did the research on Monday",
    "What's the capital of France?",
    "Who is Sam?",
    "find out when my dentist appointment is",
    "How much did I spend on coffee?",
    "How much milk do I need?",
    "Who is coming to the meeting?",
    "What is the weather like?",
    "tell me a joke",
    "Guten Morgen",
    "Vergleiche meine Termine mit denen von Sam",
]


@pytest.mark.parametrize("message", RESEARCH)
def test_a_question_about_the_outside_world_is_research(message: str) -> None:
    assert [skill.name for skill in matching(message, SHIPPED_SKILLS)] == ["research-report"]


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


@pytest.mark.parametrize("message", EVERYDAY)
def test_an_everyday_message_loads_no_skill(message: str) -> None:
    assert matching(message, [*SHIPPED_SKILLS, MEETINGS, TRAVEL]) == ()


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("Schedule a meeting", ["schedule-meeting"]),
        ("hotels for my trip", ["plan-trip"]),
        ("schedule the meeting about our trip and flights", ["plan-trip", "schedule-meeting"]),
        ("Trips, flights; meetings: SCHEDULE", ["plan-trip", "schedule-meeting"]),
        ("a trip", []),
    ],
)
def test_a_skill_without_triggers_needs_two_words_that_tell(message: str, names: list[str]) -> None:
    assert [skill.name for skill in matching(message, [MEETINGS, TRAVEL])] == names


def test_no_more_than_two_skills_join_a_prompt_and_a_trigger_comes_first() -> None:
    third = Skill("meeting-trip", "Schedule meeting trip flights hotels", "body")
    sure = Skill("asked", "anything", "body", triggers=("schedule *",))
    found = matching("schedule the meeting trip with flights", [MEETINGS, TRAVEL, third, sure])

    assert [skill.name for skill in found] == ["asked", "meeting-trip"]


def test_a_star_stands_for_words_and_alternatives_for_one_of_them() -> None:
    skill = Skill("s", "d", "b", triggers=("who|what beats * in price",), never=("me",))

    assert is_triggered("Who beats Zep in price?", skill)
    assert is_triggered("Hello. Please, what beats the big three in price", skill)
    assert not is_triggered("who beats in price", skill)
    assert not is_triggered("who beats me in price", skill)
    assert not is_triggered("(.*) beats Zep in price", skill)
    assert not is_triggered("who beats " + "x " * 20 + "in price", skill)


def test_common_words_and_endings_tell_nothing() -> None:
    told = telling_words("What's Sam's bus like with the meetings of a news agency?")

    assert told == {"sam", "bus", "meeting", "agency"}
