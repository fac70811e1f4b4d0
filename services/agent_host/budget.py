"""What a turn and a day may cost (agent.md 2.9 and 2.10). Asked before each call of a turn; stops politely.

Models count at their list prices, tools with what they say they charged. Only calls whose price is known count: a sum
with a guess in it would stop a turn for nothing, or too late.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Final

from agent_host.errors import BudgetSpentError, ConfigurationError
from agent_host.mcp_clients.protocol import ToolBox, ToolOutcome
from agent_host.providers.pricing import has_price
from agent_host.providers.protocol import Identity, JsonValue, ModelReply, ModelRequest, ToolSpec
from agent_host.tracing.events import CallKind, Emit, ModelCalled, Notice, ToolCalled, TurnEvent
from agent_host.tracing.results import stated
from service_runtime.settings import Settings

if TYPE_CHECKING:
    from agent_host.loop import Model

TURN: Final = "TURN_BUDGET_USD"
DAY: Final = "DAY_BUDGET_USD"
_DEFAULT_TURN: Final = "1.00"
_MICRO: Final = 1_000_000


@dataclass(frozen=True)
class Limits:
    """Micro-dollars, None for no limit. `asked_for`: the person set one, rather than living with the default."""

    turn_micro_usd: int | None
    day_micro_usd: int | None
    asked_for: bool


def limits(settings: Settings) -> Limits:
    """Reads the budgets in dollars; 0 is no limit.

    Raises:
        ConfigurationError: a value is no amount of dollars.
    """
    asked_for = settings.get(TURN) is not None or settings.get(DAY) is not None
    return Limits(_micro_usd(settings, TURN, _DEFAULT_TURN), _micro_usd(settings, DAY, "0"), asked_for)


@dataclass
class Budget:
    """The limits of a host, and what was spent today.

    Whoever set a limit hears once that it cannot hold for the `unpriced` models among those that answer here.
    """

    limits: Limits
    spent_today_micro_usd: Callable[[], int] = lambda: 0
    unpriced: tuple[str, ...] = ()
    _said: bool = field(default=False, init=False)

    def check(self, events: Sequence[TurnEvent], emit: Emit) -> None:
        """Checks what the turn so far, given as its events, and the day have cost.

        Raises:
            BudgetSpentError: one of them has passed its limit; no further call should be made.
        """
        calls = [event for event in events if isinstance(event, ModelCalled)]
        charged = sum(stated(event.outcome).cost_micro_usd or 0 for event in events if isinstance(event, ToolCalled))
        uncounted = len([call for call in calls if call.cost_micro_usd is None])
        if self.unpriced and self.limits.asked_for and not self._said:
            self._said = True
            whose = "its" if len(self.unpriced) == 1 else "their"
            emit(Notice(f"No price is known for {' and '.join(self.unpriced)}: {whose} calls count towards no budget."))
        turn_limit = self.limits.turn_micro_usd
        spent = charged + sum(call.cost_micro_usd or 0 for call in calls)
        if turn_limit is not None and spent > turn_limit:
            raise BudgetSpentError(_sentence("this turn", TURN, spent, turn_limit, uncounted))
        self.check_day(uncounted)

    def check_day(self, uncounted: int = 0) -> None:
        """Checks what the day has cost; `uncounted` calls of the present turn are told of.

        Raises:
            BudgetSpentError: it has passed its limit; no further call should be made, of whatever kind.
        """
        if self.day_is_spent():
            limit, today = self.limits.day_micro_usd or 0, self.spent_today_micro_usd()
            raise BudgetSpentError(_sentence("today", DAY, today, limit, uncounted))

    def day_is_spent(self) -> bool:
        """Tells whether today has cost more than a day may, so that what can wait for tomorrow should."""
        limit = self.limits.day_micro_usd
        return limit is not None and self.spent_today_micro_usd() > limit


@dataclass(frozen=True)
class BudgetedModel:
    """A `Model` that asks before each call whether it may be made; `check` raises when it may not."""

    model: Model
    check: Callable[[], None]

    async def reply(self, request: ModelRequest, kind: CallKind, on_text: Callable[[str], None]) -> ModelReply:
        """Answers one request, unless the budget is spent.

        Raises:
            BudgetSpentError: no call was made.
            ProviderError: no usable answer came.
        """
        self.check()
        return await self.model.reply(request, kind, on_text)


@dataclass(frozen=True)
class BudgetedTools:
    """A `ToolBox` that asks before each call whether it may be made; `check` raises when it may not."""

    inner: ToolBox
    check: Callable[[], None]

    async def specs(self) -> tuple[ToolSpec, ...]:
        """Returns the tools there are."""
        return await self.inner.specs()

    async def call(self, name: str, arguments: Mapping[str, JsonValue], meta: Mapping[str, str]) -> ToolOutcome:
        """Calls a tool, unless the budget is spent: one that costs nothing then waits too, as nobody can know."""
        try:
            self.check()
        except BudgetSpentError:
            words = f"{name} was not called: what this turn or this day may cost is spent."
            return ToolOutcome("", name, words, None, is_error=True, duration_ms=0)
        return await self.inner.call(name, arguments, meta)

    def problems(self) -> tuple[str, ...]:
        """Returns which servers cannot be used."""
        return self.inner.problems()

    async def close(self) -> None:
        """Closes the tool box."""
        await self.inner.close()


def unpriced(*identities: Identity) -> tuple[str, ...]:
    """Returns the models among these whose calls cannot be priced, each once."""
    return tuple(dict.fromkeys(who.model for who in identities if not has_price(who)))


def _sentence(what: str, name: str, spent: int, limit: int, uncounted: int) -> str:
    rest = "the receipt" if name == TURN else "`agent-host cost`"
    calls = "1 call" if uncounted == 1 else f"{uncounted} calls"
    left_out = f" ({calls} without a known price not counted)" if uncounted else ""
    return (
        f"I stopped before the next model call: {what} has cost about ${spent / _MICRO:.2f}{left_out}, more than "
        f"PROMETHEUS_{name} allows (${limit / _MICRO:.2f}); {rest} has the rest."
    )


def _micro_usd(settings: Settings, name: str, default: str) -> int | None:
    told = settings.get(name) or default
    try:
        dollars = Decimal(told.strip().removeprefix("$"))
    except InvalidOperation:
        dollars = Decimal("NaN")
    if not dollars.is_finite() or not 0 <= dollars <= _MICRO:
        raise ConfigurationError(f"PROMETHEUS_{name} is {told!r}; set dollars, such as 1.50, or 0 for no limit.")
    return int(dollars * _MICRO) if dollars > 0 else None
