"""What a model call costs, in integer micro-dollars (1 USD = 1,000,000 micro-USD).

A dated table, no network. Source of every row: the vendor's price page (platform.claude.com/docs, "Pricing"), as it
stood on `PRICES_READ_ON`. List prices: taxes, regional surcharges, batch discounts and agreements are not in it, so
every sum made from it is an estimate. A model that is not in the table has no price, which is not the same as free.

Rates are micro-dollars per million tokens. `Usage.input_tokens` leaves cached tokens out, so the four counts of a
`Usage` are priced apart and added. Cache writes are those of the five-minute cache, the only one this host asks for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_host.providers.protocol import Usage

PRICES_READ_ON = "2026-11-10"

_PER_TOKENS = 1_000_000
_CACHE_WRITE_PERCENT = 125  # a token written to the five-minute cache costs 1.25 times an input token
_DATED = re.compile(r"-\d{8}$")


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
    """A model's rates; `long` holds for calls whose whole prompt, cached tokens included, passes `long_above`."""

    rates: Rates
    long_above: int | None = None
    long: Rates | None = None

    def rates_for(self, usage: Usage) -> Rates:
        """Returns the rates that hold for a prompt of this length."""
        prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        if self.long is not None and self.long_above is not None and prompt > self.long_above:
            return self.long
        return self.rates


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


def price_of(provider: str, model: str) -> Price | None:
    """Returns the price of a model, None when it is not known. A trailing date (`-20251001`) is a snapshot's name."""
    if provider == "offline":
        return Price(Rates(0, 0))
    if provider != "anthropic":
        return None
    return _ANTHROPIC.get(model) or _ANTHROPIC.get(_DATED.sub("", model))


def cost_micro_usd(provider: str, model: str, usage: Usage) -> int | None:
    """Returns what one call cost at list price: exactly 0 offline, None when the model's price is not known."""
    price = price_of(provider, model)
    return None if price is None else price.rates_for(usage).cost_micro_usd(usage)
