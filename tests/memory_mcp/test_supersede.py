from __future__ import annotations

import pytest

from memory_mcp.supersede import closest, likeness
from memory_mcp.terms import content_terms
from tests.memory_mcp.world import World, content


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("The team prefers mornings.", "the TEAM prefers mornings", 1.0),
        ("The team prefers mornings.", "The team prefers evenings.", 2 / 3),
        ("The team prefers mornings.", "Olives are bad.", 0.0),
        ("用户身份", "用户身份", 1.0),
        ("…", "Olives", 0.0),
    ],
)
def test_likeness_is_the_shared_part_of_the_content_words(one: str, other: str, expected: float) -> None:
    first, second = content_terms(one), content_terms(other)

    assert likeness(first, second) == pytest.approx(expected)
    assert likeness(second, first) == pytest.approx(expected)


def test_the_closest_memory_is_found_among_others(world: World) -> None:
    others = [
        world.stored("Dana likes green tea"),
        world.stored("Dana likes green tea in the morning"),
        world.stored("Bo likes coffee"),
    ]

    found = closest(content("Dana likes black tea"), others)

    assert found is not None
    assert found.memory == others[0]
    assert not found.conflicts


def test_nothing_is_close_when_few_words_are_shared(world: World) -> None:
    assert closest(content("Dana plays chess"), [world.stored("Dana likes green tea")]) is None


def test_the_same_subject_with_other_words_is_a_conflict(world: World) -> None:
    other = world.stored("Device A is red", subject="device a")

    found = closest(content("Device A is blue", subject="Device  A"), [other])

    assert found is not None
    assert found.conflicts


def test_the_only_memory_of_a_subject_is_close_whatever_its_words(world: World) -> None:
    tea = world.stored("She likes tea.", subject="Dana")
    world.stored("She likes tea.", subject="Dana", scope="project:x")
    for number in range(20):
        world.stored(f"Note {number} about Dana.", subject=f"note {number}")

    done = world.remember("Prefers coffee now.", subject="dana")

    assert done.similar is not None
    assert (done.similar.memory.id, done.similar.conflicts, done.similar.likeness) == (tea.id, True, 0)
    assert world.remember("Lives in Oslo.", subject="Dana").similar is None  # two are a collection, to which this adds


def test_another_subject_is_no_conflict(world: World) -> None:
    other = world.stored("The lamp is very red", subject="lamp")

    found = closest(content("The lamp is very dark red", subject="desk"), [other])

    assert found is not None
    assert not found.conflicts
