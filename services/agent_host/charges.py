"""What tools say they charged, kept for the day's budget and for `agent-host cost` (agent.md 2.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from agent_host.mcp_clients.protocol import ToolBox, ToolOutcome
from agent_host.providers.protocol import JsonValue, ToolSpec
from agent_host.receipts.turn_receipt import ledger_name
from agent_host.tracing.results import stated

Charge: TypeAlias = Callable[[str, str, int, str | None], None]
"""Takes server, tool, micro-dollars and the turn's id, once for each call that said its price."""


@dataclass(frozen=True)
class ChargedTools:
    """A tool box that passes on what its calls charged, those made in the background too; a failed call may charge."""

    inner: ToolBox
    charge: Charge

    async def specs(self) -> tuple[ToolSpec, ...]:
        """Returns the tools there are."""
        return await self.inner.specs()

    async def call(self, name: str, arguments: Mapping[str, JsonValue], meta: Mapping[str, str]) -> ToolOutcome:
        """Calls a tool."""
        outcome = await self.inner.call(name, arguments, meta)
        price = stated(outcome).cost_micro_usd
        if price is not None:
            self.charge(ledger_name(outcome.server), ledger_name(outcome.tool), price, meta.get("turn_id"))
        return outcome

    def problems(self) -> tuple[str, ...]:
        """Returns which servers cannot be used."""
        return self.inner.problems()

    async def close(self) -> None:
        """Closes the tool box."""
        await self.inner.close()
