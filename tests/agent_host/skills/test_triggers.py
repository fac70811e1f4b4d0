"""What counts as the beginning of a message, and what a trigger's signs stand for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_host.skills.loading import SHIPPED, SkillFolder
from agent_host.skills.triggers import is_triggered


def test_a_star_stands_for_words_and_alternatives_for_one_of_them() -> None:
    triggers, never = ("who|what beats * in price",), ("me",)

    assert is_triggered("Who beats Zep in price?", triggers, never)
    assert is_triggered("Hello. Please, what beats the big three in price", triggers, never)
    assert not is_triggered("who beats in price", triggers, never)
    assert not is_triggered("who beats me in price", triggers, never)
    assert not is_triggered("(.*) beats Zep in price", triggers, never)
    assert not is_triggered("who beats " + "x " * 20 + "in price", triggers, never)


@pytest.mark.parametrize(
    ("trigger", "message", "found"),
    [
        ("? vs ? $", "tea vs coffee", True),
        ("? vs ? $", "tea vs coffee today", False),
        ("? vs ? $", "green tea vs coffee", False),
        ("do ... research on *", "Do research on Zep", True),
        ("do ... research on *", "do me some quick research on Zep", True),
        ("do ... research on *", "do as much of your own research on Zep", False),
        ("* bitte $", "Zep bitte", True),
        ("* bitte $", "bitte", False),
        ("c++ or *", "C++ or Rust", True),
        ("what is *", "What\u2019s new", True),
        ("", "anything", False),
    ],
)
def test_each_sign_of_a_trigger_stands_for_so_many_words(trigger: str, message: str, found: bool) -> None:
    assert is_triggered(message, (trigger,)) == found


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("pack for Rome", True),
        ("Hey Prometheus, pack for Rome", True),
        ("I'd like you to pack for Rome", True),
        ("remember that I like tea, and pack for Rome", True),
        ("Book a flight and then pack for Rome", True),
        ("Thanks - pack for Rome", True),
        ("Say: pack for Rome", True),
        ("I pack for Rome", False),
        ("Remind me to pack for Rome", False),
        ("Remind me to buy milk, pack for Rome and call Bob", False),
        ("add to my list: pack for Rome", False),
        ("add to my list: trips: pack for Rome", False),
        ("Remind me of the list. Now pack for Rome: two days", True),
        ("x. " * 100 + "Pack for Rome", False),
        ("x, " * 500 + "pack for Rome", False),  # too far down to be what the message is about
    ],
)
def test_a_sentence_or_a_clause_may_begin_as_a_trigger_unless_it_is_for_later(message: str, found: bool) -> None:
    assert is_triggered(message, ("pack for *",)) == found


def test_the_subjects_of_some_skills_are_of_the_outside_world_each_up_to_a_comma() -> None:
    triggers = ("compare * and *",)

    assert is_triggered("Compare Zep and Letta", triggers, outside=True)
    assert is_triggered("Compare Zep, Letta and my notes", triggers, outside=True) is False
    assert not is_triggered("Compare Tuesday and Zep", triggers, outside=True)
    assert not is_triggered("compare Zep and me, Letta", triggers, outside=True)
    assert is_triggered("Compare Tuesday and me", triggers)


@given(st.text(max_size=400))
def test_no_message_breaks_the_shipped_triggers(message: str) -> None:
    for skill in SkillFolder((SHIPPED,)).skills():
        assert is_triggered(message, skill.triggers, skill.never, outside=skill.outside) in {True, False}
