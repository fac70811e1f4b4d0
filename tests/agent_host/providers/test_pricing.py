from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent_host.providers.pricing import cost_micro_usd, has_price, price_of
from agent_host.providers.protocol import Identity, Usage

TOKENS = st.integers(min_value=0, max_value=2_000_000)
USAGES = st.builds(
    Usage, input_tokens=TOKENS, output_tokens=TOKENS, cache_read_tokens=TOKENS, cache_write_tokens=TOKENS
)


def test_the_worked_example_of_two_models_comes_to_the_micro_dollar() -> None:
    main = cost_micro_usd("anthropic", "claude-sonnet-4-6", Usage(input_tokens=12_000, output_tokens=1_850))
    small = cost_micro_usd("anthropic", "claude-haiku-4-5", Usage(input_tokens=410, output_tokens=52))
    assert (main, small) == (63_750, 670)


def test_the_default_model_has_a_price() -> None:
    assert cost_micro_usd("anthropic", "claude-sonnet-5-5", Usage(1_000_000, 1_000_000)) == 12_000_000


def test_cached_tokens_are_priced_apart_from_fresh_ones() -> None:
    assert cost_micro_usd("anthropic", "claude-haiku-4-5", Usage(cache_read_tokens=1_000_000)) == 100_000
    assert cost_micro_usd("anthropic", "claude-haiku-4-5", Usage(cache_write_tokens=1_000_000)) == 1_250_000
    assert cost_micro_usd("anthropic", "claude-sonnet-5-5", Usage(cache_read_tokens=1_000_000)) == 100_000


def test_a_long_prompt_takes_the_long_rates_for_every_token_of_the_call() -> None:
    assert cost_micro_usd("anthropic", "claude-haiku-5-5", Usage(100_000, 1_000)) == 10_500
    assert cost_micro_usd("anthropic", "claude-haiku-5-5", Usage(100_001, 1_000)) == 52_501
    assert cost_micro_usd("anthropic", "claude-haiku-5-5", Usage(1, 0, cache_read_tokens=100_000)) == 5_001


def test_a_snapshots_date_does_not_hide_its_price() -> None:
    assert price_of("anthropic", "claude-haiku-4-5-20251001") == price_of("anthropic", "claude-haiku-4-5")


def test_an_unknown_model_has_no_price_rather_than_a_price_of_nothing() -> None:
    assert cost_micro_usd("anthropic", "claude-sonnet-99", Usage(10, 10)) is None
    assert cost_micro_usd("openai-compatible", "claude-sonnet-5-5", Usage(10, 10)) is None
    assert cost_micro_usd("mock", "scripted", Usage(10, 10)) is None


def test_openais_models_are_priced_when_openai_itself_answers() -> None:
    assert cost_micro_usd("openai", "gpt-6-luna", Usage(1_000_000 // 4, 1_000_000)) == 25_000 + 500_000
    assert cost_micro_usd("openai", "gpt-4.1-2025-04-14", Usage(1_000_000, 1_000_000)) == 10_000_000
    assert cost_micro_usd("openai", "gpt-4.1", Usage(cache_read_tokens=1_000_000)) == 500_000
    assert cost_micro_usd("openai", "gpt-6.1-sol", Usage(cache_read_tokens=200_000)) == 20_000
    assert cost_micro_usd("openai", "gpt-6-sol", Usage(cache_write_tokens=200_000)) == 500_000
    assert cost_micro_usd("openai", "gpt-6-sol", Usage(272_001, 1_000_000)) == 1_088_004 + 15_000_000
    assert cost_micro_usd("openai-compatible", "gpt-4.1", Usage(10, 10)) is None
    assert cost_micro_usd("openai", "gpt-99", Usage(10, 10)) is None


def test_a_long_prompt_whose_rates_are_not_known_has_no_price() -> None:
    assert cost_micro_usd("openai", "gpt-6-astra", Usage(272_000)) == 2_720_000
    assert cost_micro_usd("openai", "gpt-6-astra", Usage(272_001)) is None


def test_whether_a_model_has_a_price_is_told_by_who_answers() -> None:
    assert has_price(Identity("openai", "gpt-6-luna", "x"))
    assert not has_price(Identity("openai-compatible", "gpt-6-luna", "x"))


def test_what_a_router_marks_as_free_costs_nothing() -> None:
    assert cost_micro_usd("openai-compatible", "meta/llama:free", Usage(10, 10)) == 0


@given(USAGES)
def test_offline_costs_nothing_whatever_it_counted(usage: Usage) -> None:
    assert cost_micro_usd("offline", "rules", usage) == 0


@given(USAGES, USAGES)
def test_two_calls_cost_what_their_sum_costs_but_for_rounding(one: Usage, two: Usage) -> None:
    both = Usage(
        one.input_tokens + two.input_tokens,
        one.output_tokens + two.output_tokens,
        one.cache_read_tokens + two.cache_read_tokens,
        one.cache_write_tokens + two.cache_write_tokens,
    )
    price = price_of("anthropic", "claude-sonnet-4-6")
    assert price is not None
    apart = price.rates.cost_micro_usd(one) + price.rates.cost_micro_usd(two)
    assert abs(apart - price.rates.cost_micro_usd(both)) <= 1
