"""What a reply says it cost, against what the trace has."""

from __future__ import annotations

import pytest

from agent_host.turn_checks.spend_claim import spend_claim
from tests.agent_host.turn_checks.turns import llm, tool, turn

PRICED = (
    tool("market_find", cost_micro_usd=30_000, provider="Acme Data", endpoint_id="quotes:v2"),
    tool("mail_send", cost_micro_usd=200_000, provider="Postfix"),
)


@pytest.mark.parametrize(
    "reply",
    [
        "This research cost $0.23.",
        "I spent 23 cents on this.",
        "Total cost: **$0.23**",
        "The two searches cost me about $0.20 in all.",  # a fifth off is still right
        "It cost 0.23 USD in total.",
        "The Acme Data search cost $0.03.",
        "The run cost $1.23.",  # with the model
        "The model calls of this turn cost $1.00.",
        "Die Recherche hat $0.23 gekostet.",
    ],
)
def test_a_cost_that_the_trace_has_passes(reply: str) -> None:
    found = spend_claim(turn(reply, *PRICED, llm(1_000_000)))

    assert found.value == 1, found.note


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("This research cost $0.90.", "$0.90"),
        ("I spent nothing on this research.", "spent nothing"),
        ("This search was free.", "was free"),
        ("These searches came at no cost.", "at no cost"),
        ("The Acme Data search cost $0.23.", "$0.23"),  # its own calls cost 3 cents
        ("This turn cost $0.23. The Postfix call cost you $2.", "$2"),
        ("Die Suche war kostenlos.", "kostenlos"),
    ],
)
def test_a_cost_that_the_trace_has_not_fails_and_is_quoted(reply: str, said: str) -> None:
    found = spend_claim(turn(reply, *PRICED, llm(1_000_000)))

    assert (found.value, said in found.note) == (0, True), found.note


def test_free_is_right_where_no_tool_charged_anything() -> None:
    assert spend_claim(turn("This search was free.", tool(), llm(0))).value == 1


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Zep raised $24M in 2025.",
        "The Pro plan costs $25 a month.",
        "A further search would cost $0.10.",
        "Each search costs $5.",
        "If you ask again, this search will cost $3.",
        "You are free on Friday at 10:00.",
        "The report is free until Friday.",
        "The 3pm call is free on Friday.",
        "`this run cost $9`",
        "```\nTotal cost: $9\n```",
        "See [the bill](https://example.org/this-run-cost-$9).",
        "Mem0 spent $4M on marketing.",
        "Acme Data costs $25.",
        "The research says that rents cost 900 euros.",
    ],
)
def test_what_is_no_claim_about_this_turn_is_left_alone(reply: str) -> None:
    found = spend_claim(turn(reply, *PRICED))

    assert found.value is None, found.note


def test_a_claim_is_within_a_cent_or_a_fifth() -> None:
    cheap = tool(cost_micro_usd=1_000)

    assert spend_claim(turn("This search cost $0.011.", cheap)).value == 1
    assert spend_claim(turn("This search cost $0.012.", cheap)).value == 0
    assert spend_claim(turn("This search cost $1.20.", tool(cost_micro_usd=1_000_000))).value == 1
    assert spend_claim(turn("This search cost $1.21.", tool(cost_micro_usd=1_000_000))).value == 0
