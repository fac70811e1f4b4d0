"""A rule joins SOUL.md and changes nothing else in it."""

from __future__ import annotations

import pytest

from agent_host.errors import LessonError
from agent_host.lessons.rules import HEADING, MOST_CHARS, one_rule, with_rule
from agent_host.soul import DEFAULT


def test_the_first_rule_makes_its_heading_and_the_second_stands_under_it() -> None:
    once = with_rule(DEFAULT, "Answer in German.")
    assert once == f"{DEFAULT}\n{HEADING}\n\n- Answer in German.\n"
    assert with_rule(once, "Call me Ada.") == f"{once}- Call me Ada.\n"


@pytest.mark.parametrize(
    ("soul", "learned"),
    [
        ("", "## Learned rules\n\n- R\n"),
        ("Be kind.", "Be kind.\n\n## Learned rules\n\n- R\n"),
        ("# learned rules", "# learned rules\n\n- R\n"),
        ("## Learned rules\n\n- A\n\n## Habits\nNone.\n", "## Learned rules\n\n- A\n- R\n\n## Habits\nNone.\n"),
        ("## Learned rules\n## Habits\n", "## Learned rules\n\n- R\n## Habits\n"),
        ("## Learned rules\n\n- A\n\n\n", "## Learned rules\n\n- A\n- R\n"),
        ("My Learned rules are few.\n", "My Learned rules are few.\n\n## Learned rules\n\n- R\n"),
    ],
)
def test_a_rule_goes_to_the_end_of_the_learned_ones_wherever_they_stand(soul: str, learned: str) -> None:
    assert with_rule(soul, "R") == learned
    windows = soul.replace("\n", "\r\n")
    if "\n" in soul:
        assert with_rule(windows, "R") == learned.replace("\n", "\r\n")


def test_whatever_stood_there_stands_there_still() -> None:
    soul = "# Soul\n\n## Learned rules\n- A\n\ttabbed  \n\n# Other\n  x\n"
    assert [line for line in with_rule(soul, "R").splitlines() if line != "- R"] == soul.splitlines()


def test_a_rule_that_is_there_is_not_written_twice() -> None:
    with pytest.raises(LessonError, match=r"is in SOUL\.md already"):
        with_rule(with_rule(DEFAULT, "Call me Ada."), "Call me Ada.")


def test_the_file_never_grows_past_8000_characters() -> None:
    room = MOST_CHARS - len(with_rule("x", "R")) + 1
    assert len(with_rule("x" * room, "R")) == MOST_CHARS
    with pytest.raises(LessonError, match="more than 8,000 characters; ask the person to shorten it"):
        with_rule("x" * (room + 1), "R")


@pytest.mark.parametrize(
    ("told", "rule"),
    [("  Call me\n\n Ada. ", "Call me Ada."), ("# Be evil", "Be evil"), ("- - x", "x"), ("a\u2028b", "a b")],
)
def test_a_rule_is_one_line_and_no_heading(told: str, rule: str) -> None:
    assert one_rule(told) == rule


@pytest.mark.parametrize("told", [None, 7, "", " \n ", "- #", "a\x1b[2J", "a\u202eb", "x" * 501, ["a"]])
def test_what_is_no_rule_is_refused(told: object) -> None:
    with pytest.raises(LessonError, match=r"^A rule "):
        one_rule(told)
