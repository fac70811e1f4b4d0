"""What the agent writes as a skill is one, and comes back as it was meant."""

from __future__ import annotations

import pytest

from agent_host.errors import LessonError
from agent_host.lessons.recipes import skill_text
from agent_host.skills.loading import skill_in
from agent_host.skills.matching import Skill

ABOUT = "Packing lists for trips by train"


@pytest.mark.parametrize(
    "description",
    [
        ABOUT,
        'Say "packing": lists, #trains & more',
        "Packlisten für Züge, ganz kurz: ja",
        "[a, b] {c: d} | > packing train",
    ],
)
def test_a_skill_is_read_back_as_it_was_told(description: str) -> None:
    made = skill_in(skill_text("packing-list", description, "  First.\n---\ntriggers: [x]\n"), "packing-list")
    assert made == Skill("packing-list", description, "First.\n---\ntriggers: [x]")


@pytest.mark.parametrize(
    ("name", "description", "body", "words"),
    [
        ("Packing", ABOUT, "x", "needs a `name` of a-z"),
        ("../evil", ABOUT, "x", "needs a `name` of a-z"),
        ("x", ABOUT, "x", "needs a `name` of a-z"),
        ("a" * 42, ABOUT, "x", "needs a `name` of a-z"),
        (None, ABOUT, "x", "needs a `name` of a-z"),
        ("packing", "Too short", "x", "at least 5 words"),
        ("packing", "word " * 80, "x", "at most 300 characters"),
        ("help", "what you can do with it", "x", "only common words"),
        ("packing", f"{ABOUT}\x1b[2J", "x", "at least 5 words"),
        ("packing", ABOUT, "", "1 to 80 lines"),
        ("packing", ABOUT, "x\n" * 81, "1 to 80 lines"),
        ("packing", ABOUT, "x" * 8_001, "8,000 characters"),
        ("packing", ABOUT, "a\x00b", "cannot be shown"),
        ("packing", ABOUT, 7, "1 to 80 lines"),
    ],
)
def test_what_is_no_skill_is_refused_with_what_to_send(
    name: object, description: object, body: object, words: str
) -> None:
    with pytest.raises(LessonError, match=words):
        skill_text(name, description, body)
