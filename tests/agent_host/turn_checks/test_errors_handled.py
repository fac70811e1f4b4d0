"""A failed call is made good or said."""

from __future__ import annotations

import pytest

from agent_host.turn_checks.errors_handled import errors_handled
from tests.agent_host.turn_checks.turns import failing, tool, turn


def test_a_call_that_was_made_again_with_success_passes() -> None:
    assert errors_handled(turn("Booked.", failing("calendar_create"), tool("calendar_create"))).value == 1


def test_a_success_before_the_failure_or_of_another_tool_makes_nothing_good() -> None:
    assert errors_handled(turn("Booked.", tool("calendar_create"), failing("calendar_create"))).value == 0
    assert errors_handled(turn("Booked.", failing("calendar_create"), tool("calendar_list"))).value == 0


@pytest.mark.parametrize(
    "reply",
    [
        "I couldn't reach the page.",
        "I couldn\u2019t reach the page.",
        "The lookup failed, sorry.",
        "The site was not reachable.",
        "The request timed out.",
        "You have no permission for that.",
        "I ran into a problem there.",
        "Ich konnte die Seite leider nicht lesen.",
        "No se pudo abrir.",
        "La recherche a \u00e9chou\u00e9.",
        "About market find: try again later.",
        "Nothing from Acme Data today.",
        "The quotes are missing.",
    ],
)
def test_words_about_it_pass(reply: str) -> None:
    wrong = failing("market_find", provider="Acme Data", endpoint_id="api.quotes:v2")

    found = errors_handled(turn(reply, wrong))

    assert found.value == 1, found.note


@pytest.mark.parametrize(
    "reply",
    [
        "All done.",
        "Done without any errors.",
        "Nothing failed.",
        "It did not fail.",
        "Alles ging ohne Fehler.",
        "`error: it failed`",
        "I looked at the market and found tea.",
        "",
    ],
)
def test_silence_fails_and_the_tool_is_named(reply: str) -> None:
    found = errors_handled(turn(reply, failing("market_find"), failing("market_find")))

    assert (found.value, found.note) == (0, "market_find failed and the reply does not say so")


def test_each_of_several_failures_counts() -> None:
    found = errors_handled(turn("Done.", failing("a_one"), failing("b_two"), tool("b_two")))

    assert found.note.startswith("a_one failed")


def test_it_does_not_apply_where_nothing_failed_or_only_the_host_looked() -> None:
    assert errors_handled(turn("Done.", tool())).value is None
    assert errors_handled(turn("Done.", failing("memory_search", read_first=True))).value is None
    assert errors_handled(turn("Done.", {"type": "tool", "tool": "old", "output": "failed"}, version=1)).value is None
