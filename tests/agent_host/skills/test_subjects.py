"""Which subjects are of the outside world."""

from __future__ import annotations

import pytest

from agent_host.skills.subjects import is_outside


@pytest.mark.parametrize(
    "subject",
    [
        "Zep",
        "zep",
        "mem0 please",
        "vector databases",
        "memory layers for agents",
        "the competitors of mem0",
        "the memory products Mem0 and Zep",
        "the impact of tariffs",
        "the EU AI Act",
        "our competitor Zep",
        "my industry",
        "their pricing history",
        "how heat pumps work",
        "how Zep prices its product",
        "calendar apps",
        "the chips for the iPhone",
        "was Palantir macht",
        "den Markt für Vektordatenbanken",
        "W\u00e4rmepumpen",
    ],
)
def test_companies_products_technologies_and_markets_are(subject: str) -> None:
    assert is_outside(subject.split())


@pytest.mark.parametrize(
    "subject",
    [
        "",
        "it",
        "this file",
        "the fridge and",
        "why the build fails",
        "how to reset it",
        "booking a table for two",
        "moving the dentist",
        "Tuesday",
        "Friday's standup",
        "Friday's Zep demo",
        "3",
        "page 3 of the file",
        "the error in line 3",
        "the party on Friday",
        "the salad recipe",
        "the day",
        "the cost of the party",
        "my notes",
        "our meeting with Zep",
        "Ana",
        "Ana's birthday",
        "Ana and Tom",
        "Sara's investors call with",
        "team meeting",
        "email",
        "shows that tea is healthy",
        "has shown",
        "for me",
        "please",
        "meine Termine",
        "Dienstag",
        "das",
    ],
)
def test_what_is_ones_own_or_at_hand_is_not(subject: str) -> None:
    assert not is_outside(subject.split())
