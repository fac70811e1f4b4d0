"""What a model call costs, in integer micro-dollars (1 USD = 1,000,000 micro-USD).

Dated tables, no network. Source of Anthropic's rows: the vendor's price page (platform.claude.com/docs, "Pricing"), as
it stood on `PRICES_READ_ON`. Source of OpenAI's rows: the standard tier of developers.openai.com/api/docs/pricing, as
at least two public pages of the autumn of 2026 quote it alike (GPT-4 and GPT-5: of the spring), compared on
`OPENAI_PRICES_READ_ON`; models for which no two were found are left out. List prices: taxes, regional surcharges, batch
discounts and agreements are not in it, so every sum made from it is an estimate. A model that is not in the tables has
no price, which is not the same as free.

Rates are micro-dollars per million tokens. `Usage.input_tokens` leaves cached tokens out, so the four counts of a
`Usage` are priced apart and added. Cache writes are those of the shortest cache, the only one this host asks for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_host.providers.protocol import Identity, Usage

PRICES_READ_ON = "2026-11-10"
OPENAI_PRICES_READ_ON = "2026-11-30"

_PER_TOKENS = 1_000_000
_CACHE_WRITE_PERCENT = 125  # a token written to the five-minute cache costs 1.25 times an input token
_DATED = re.compile(r"-\d{8}$|-\d{4}-\d{2}-\d{2}$")


@dataclass(frozen=True)
class Rates:
    """Micro-dollars per million tokens. `cache_read_permille` is a cached token's part of the input rate."""

    input: int
    output: int
    cache_read_permille: int = 100

    def cost_micro_usd(self, usage: Usage) -> int:
        """Returns the cost of one call, rounded half up once, over the whole sum."""
        thousandths = 1000 * (self.input * usage.input_tokens + self.output * usage.output_tokens)
        thousandths += 10 * _CACHE_WRITE_PERCENT * self.input * usage.cache_write_tokens
        thousandths += self.cache_read_permille * self.input * usage.cache_read_tokens
        unit = 1000 * _PER_TOKENS
        return (2 * thousandths + unit) // (2 * unit)


@dataclass(frozen=True)
class Price:
    """A model's rates; `long` holds for calls whose whole prompt, cached tokens included, passes `long_above`.

    With a `long_above` and no `long`, such calls cost more by an amount that is not known here.
    """

    rates: Rates
    long_above: int | None = None
    long: Rates | None = None

    def rates_for(self, usage: Usage) -> Rates | None:
        """Returns the rates that hold for a prompt of this length, None when they are not known."""
        prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        return self.long if self.long_above is not None and prompt > self.long_above else self.rates


_OPUS = Price(Rates(5_000_000, 25_000_000))
_SONNET_4 = Price(Rates(3_000_000, 15_000_000))
_ANTHROPIC: dict[str, Price] = {
    "claude-fable-5-2": Price(Rates(8_000_000, 40_000_000, cache_read_permille=25)),
    "claude-fable-5-1": Price(Rates(10_000_000, 50_000_000, cache_read_permille=25)),
    "claude-fable-5": Price(Rates(10_000_000, 50_000_000)),
    "claude-opus-5-5": Price(Rates(4_000_000, 20_000_000, cache_read_permille=50)),
    "claude-opus-5": _OPUS,
    "claude-opus-4-8": _OPUS,
    "claude-opus-4-7": _OPUS,
    "claude-opus-4-6": _OPUS,
    "claude-opus-4-5": _OPUS,
    "claude-sonnet-5-5": Price(Rates(2_000_000, 10_000_000, cache_read_permille=50)),
    "claude-sonnet-5": Price(Rates(2_000_000, 10_000_000)),
    "claude-sonnet-4-6": _SONNET_4,
    "claude-sonnet-4-5": _SONNET_4,
    "claude-haiku-5-5": Price(Rates(100_000, 500_000), long_above=100_000, long=Rates(500_000, 2_500_000)),
    "claude-haiku-4-5": Price(Rates(1_000_000, 5_000_000)),
}


def _gpt_6(input_rate: int, output_rate: int, cache_read_permille: int) -> Price:
    """A model that costs twice as much to read and half as much again to write, above 272,000 tokens of prompt."""
    return Price(
        Rates(input_rate, output_rate, cache_read_permille),
        long_above=272_000,
        long=Rates(2 * input_rate, output_rate * 3 // 2, cache_read_permille),
    )


_OPENAI: dict[str, Price] = {
    "gpt-6.2-astra": _gpt_6(8_000_000, 40_000_000, 50),
    "gpt-6.2-sol": _gpt_6(2_000_000, 10_000_000, 50),
    "gpt-6.1-sol": _gpt_6(2_000_000, 10_000_000, 50),
    "gpt-6-astra": Price(Rates(10_000_000, 50_000_000), long_above=272_000),
    "gpt-6-sol": _gpt_6(2_000_000, 10_000_000, 100),
    "gpt-6-luna": _gpt_6(100_000, 500_000, 100),
    "gpt-5": Price(Rates(1_250_000, 10_000_000)),
    "gpt-5-mini": Price(Rates(250_000, 2_000_000)),
    "gpt-5-nano": Price(Rates(50_000, 400_000)),
    "gpt-4.1": Price(Rates(2_000_000, 8_000_000, cache_read_permille=250)),
    "gpt-4.1-mini": Price(Rates(400_000, 1_600_000, cache_read_permille=250)),
    "gpt-4.1-nano": Price(Rates(100_000, 400_000, cache_read_permille=250)),
    "gpt-4o": Price(Rates(2_500_000, 10_000_000, cache_read_permille=500)),
    "gpt-4o-mini": Price(Rates(150_000, 600_000, cache_read_permille=500)),
}
_TABLES: dict[str, dict[str, Price]] = {"anthropic": _ANTHROPIC, "openai": _OPENAI}
_FREE = Price(Rates(0, 0))


def price_of(provider: str, model: str) -> Price | None:
    """Returns the price of a model, None when it is not known.

    A trailing date (`-20251001`, `-2025-04-14`) is a snapshot's name. `:free` is how OpenRouter marks what it gives
    away (agent.md row 90); whatever else an OpenAI-compatible server calls a model is a name of its own, and no price.
    """
    if provider == "offline" or (provider == "openai-compatible" and model.endswith(":free")):
        return _FREE
    table = _TABLES.get(provider, {})
    return table.get(model) or table.get(_DATED.sub("", model))


def priced_models(provider: str) -> tuple[str, ...]:
    """Returns the models of a provider that the tables name."""
    return tuple(_TABLES.get(provider, {}))


def has_price(who: Identity) -> bool:
    """Tells whether the calls of a model can be priced, but for prompts longer than its rates are known for."""
    return price_of(who.provider, who.model) is not None


def cost_micro_usd(provider: str, model: str, usage: Usage) -> int | None:
    """Returns what one call cost at list price: exactly 0 offline, None when the model's price is not known.

    Each request of the call is priced by itself.
    """
    price = price_of(provider, model)
    if price is None:
        return None
    known = [rates.cost_micro_usd(one) for one in usage.each if (rates := price.rates_for(one)) is not None]
    return sum(known) if len(known) == len(usage.each) else None
