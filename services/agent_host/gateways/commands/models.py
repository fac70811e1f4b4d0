"""`/model` and `/cost`: who answers, and for how much."""

from __future__ import annotations

from agent_host.errors import UsageError
from agent_host.gateways.commands.command import Answer, Choice, Desk
from agent_host.gateways.cost import WINDOWS, cost_text
from agent_host.providers.pricing import price_of, priced_models
from agent_host.providers.protocol import Identity
from agent_host.receipts.line import dollars
from agent_host.settings import host_settings

_MOST = 200
_MICRO = 1_000_000


async def model(desk: Desk, name: str) -> Answer:
    """Says who answers, or has another model of the same provider answer from now on.

    Raises:
        UsageError: it is no name of a model, or this provider has no other.
    """
    if not name:
        return Answer(f"{_who(await desk.host.model())}.")
    if len(name) > _MOST or len(name.split()) > 1 or not name.isprintable():
        raise UsageError("A model's name is one word; /model alone says which one answers now.")
    who = await desk.host.use_model(name)
    return Answer(f"From the next message on {_who(who)}. The next conversation starts with the one that is set.")


def model_choices(desk: Desk, _: str) -> list[Choice]:
    """Offers the models of this provider whose price is known."""
    provider = host_settings(desk.settings).priced_as
    return [Choice(name, _price(Identity(provider, name, name))) for name in priced_models(provider)]


async def cost(desk: Desk, window: str) -> Answer:
    """Says what the turns since this program began cost, and then what the models of a window of days did.

    Raises:
        UsageError: there is no such window.
    """
    told = cost_text(desk.settings, window or "today")
    unpriced = sum(not one.receipt.model.priced for one in desk.turns)
    here = f"Since this program began: {dollars(sum(one.receipt.total_micro_usd for one in desk.turns))} est"
    turns = "1 turn" if unpriced == 1 else f"{unpriced} turns"
    here += f", without {turns} whose price is not known" if unpriced else ""
    return Answer(f"{here}.\n{told}")


def windows(_: Desk, __: str) -> list[Choice]:
    """Offers the windows."""
    return [Choice(one) for one in WINDOWS]


def _who(who: Identity) -> str:
    return f"{who.model} by {who.provider} answers, {_price(who)}"


def _price(who: Identity) -> str:
    price = price_of(who.provider, who.model)
    if price is None:
        return "no price known"
    rates = price.rates
    if not rates.input and not rates.output:
        return "free"
    above = f", more above {price.long_above:,} tokens of prompt" if price.long_above is not None else ""
    return f"${rates.input / _MICRO:.2f} in / ${rates.output / _MICRO:.2f} out per million tokens{above}"
