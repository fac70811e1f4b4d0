"""The tokens of a call that took several requests: counted together, and each still known."""

from __future__ import annotations

from agent_host.providers.pricing import cost_micro_usd
from agent_host.providers.protocol import Usage, added


def test_the_tokens_of_two_requests_add_up_and_each_is_kept_in_order() -> None:
    first, second, third = Usage(1, 2, 3, 4), Usage(10, 20, 30, 40), Usage(100)
    both = added(first, second)
    assert both == Usage(11, 22, 33, 44)
    assert both is not None
    assert both.each == (first, second)
    every = added(both, third)
    assert every is not None
    assert every.each == (first, second, third)


def test_what_nobody_counted_adds_nothing() -> None:
    assert added(None, Usage(1)) == added(Usage(1), None) == Usage(1)
    assert added(None, None) is None


def test_a_sum_is_priced_by_its_requests_where_a_price_depends_on_the_length_of_a_prompt() -> None:
    one = Usage(60_000, 100)
    both = added(one, one)
    assert both is not None
    assert cost_micro_usd("anthropic", "claude-haiku-5-5", both) == 2 * 6_050
    assert cost_micro_usd("anthropic", "claude-haiku-5-5", Usage(120_000, 200)) == 60_500


def test_a_call_has_no_price_when_one_of_its_requests_has_none() -> None:
    short, long = Usage(10, 10), Usage(300_000, 10)  # above 272,000 tokens no price is known for this model
    assert cost_micro_usd("openai", "gpt-6-astra", short) is not None
    both = added(short, long)
    assert both is not None
    assert cost_micro_usd("openai", "gpt-6-astra", both) is None
