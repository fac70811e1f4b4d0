"""Which clauses ask about a market without a phrase that anybody listed."""

from __future__ import annotations

import pytest

from agent_host.skills.markets import asks_about_a_market


@pytest.mark.parametrize(
    "clause",
    [
        "what are the trends in robotics",
        "which database should a small startup choose",
        "how fast is the vector database market growing",
        "do a quick competitor scan for our note app",
        "look up Zep's investors",
        "how does Zep differ from Mem0",
        "what do we know about the funding of Zep",
        "welche Alternativen gibt es zu Notion",
        "how did Nvidia get so big",
        "how is Spotify doing",
        "mach eine Wettbewerbsanalyse zu Zep",
    ],
)
def test_a_question_with_a_word_of_markets_asks_about_one(clause: str) -> None:
    assert asks_about_a_market(clause.split())


@pytest.mark.parametrize(
    "clause",
    [
        "",
        "competitors",
        "book a call with the investors of Zep",
        "is the farmers market open",
        "is the market open",
        "how is the company",
        "how much funding do we need",
        "what is our pricing",
        "what is my revenue this month",
        "what alternatives are there for dinner",
        "which startups meet on Friday",
        "what did Ana say about the market for batteries",
        "who is Sara's investors call with",
        "how is Lisbon in May",
        "how did Ana do",
        "how did it go",
        "how did Mem0 do in my meeting",
        "what is it worth",
        "how much money was raised",
        "who funds the party",
    ],
)
def test_what_is_ones_own_at_hand_or_no_question_does_not(clause: str) -> None:
    assert not asks_about_a_market(clause.split())
