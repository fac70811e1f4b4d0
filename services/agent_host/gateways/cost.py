"""`agent-host cost`: what models were asked and what it cost, by day and model, and what tools charged.

Prices of models are looked up now, not when the calls were made (agent.md row 90): those sums are estimates.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Final

from agent_host.app import open_usage
from agent_host.errors import UsageError
from agent_host.gateways.screen import printable
from agent_host.usage import TOOL_KIND, UsageRow
from service_runtime.settings import Settings

WINDOWS: Final = {"today": 1, "7d": 7, "all": None}
_MICRO: Final = 1_000_000
_TITLES: Final = ("day", "model", "calls", "in", "out", "cost")


@dataclass(frozen=True)
class CostLine:
    """The calls of one model on one local day, or of one tool that charges: `provider` is its server, `model` its name.

    `unpriced_calls` are those that `cost_micro_usd` leaves out. `input_tokens` counts cached ones too. `estimated`: by
    list prices, and not what was charged.
    """

    day: str
    provider: str
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_micro_usd: int
    unpriced_calls: int
    estimated: bool = True


def cost(settings: Settings, window: str, *, as_json: bool) -> int:
    """Prints what the calls of a window of local days cost; returns 0.

    Raises:
        UsageError: there is no such window.
    """
    if as_json:
        lines = _lines_of(settings, window)
        sys.stdout.write(json.dumps({"window": window, "lines": [asdict(line) for line in lines]}) + "\n")
    else:
        sys.stdout.write(printable(cost_text(settings, window)) + "\n")
    return 0


def cost_text(settings: Settings, window: str) -> str:
    """Returns what the calls of a window of local days cost, as lines.

    Raises:
        UsageError: there is no such window.
    """
    return "\n".join(_table(_lines_of(settings, window), window))


def _lines_of(settings: Settings, window: str) -> list[CostLine]:
    if window not in WINDOWS:
        raise UsageError(f"There is no window {window[:40]!r}; choose one of {', '.join(WINDOWS)}.")
    zone = settings.zone()
    return cost_lines(open_usage(settings).rows(), datetime.now(zone), zone, WINDOWS[window])


def cost_lines(rows: Iterable[UsageRow], now: datetime, zone: tzinfo, days: int | None) -> list[CostLine]:
    """Returns one line a day and model, oldest day first, of the last `days` local days, or of all."""
    first = now.date() - timedelta(days=days - 1) if days is not None else None
    groups: dict[tuple[str, bool, str, str], list[UsageRow]] = {}
    for row in rows:
        day = row.at.astimezone(zone).date()
        if first is None or day >= first:
            key = (day.isoformat(), row.kind == TOOL_KIND, row.provider, row.model)
            groups.setdefault(key, []).append(row)
    return [_line(*key, rows=groups[key]) for key in sorted(groups)]


def _line(day: str, is_tool: bool, provider: str, model: str, *, rows: list[UsageRow]) -> CostLine:
    counted = [row.usage for row in rows if row.usage is not None]
    costs = [row.cost_micro_usd for row in rows]
    return CostLine(
        day=day,
        provider=provider,
        model=model,
        calls=len(rows),
        input_tokens=sum(one.input_tokens + one.cache_read_tokens + one.cache_write_tokens for one in counted),
        output_tokens=sum(one.output_tokens for one in counted),
        cost_micro_usd=sum(one or 0 for one in costs),
        unpriced_calls=costs.count(None),
        estimated=not is_tool,
    )


def _table(lines: list[CostLine], window: str) -> Iterator[str]:
    if not lines:
        yield "No model was asked" + (" yet." if window == "all" else f" in this window ({window}).")
        return
    cells = [_TITLES, *(_cells(line) for line in lines)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(_TITLES))]
    for day, model, *rest in cells:
        numbers = "  ".join(cell.rjust(width) for cell, width in zip(rest, widths[2:], strict=True))
        yield f"{day:<{widths[0]}}  {model:<{widths[1]}}  {numbers}"
    unpriced = sum(line.unpriced_calls for line in lines)
    est = " est" if any(line.estimated for line in lines) else ""
    total = f"total {_dollars(sum(line.cost_micro_usd for line in lines))}{est}"
    calls = "1 call" if unpriced == 1 else f"{unpriced} calls"
    yield f"{total}, without {calls} whose price is not known" if unpriced else total


def _cells(line: CostLine) -> tuple[str, ...]:
    nothing_known = line.unpriced_calls == line.calls
    price = "no price known" if nothing_known else f"{_dollars(line.cost_micro_usd)}{' est' if line.estimated else ''}"
    if line.unpriced_calls and not nothing_known:
        price += f" + {line.unpriced_calls} unpriced"
    tokens = (f"{line.input_tokens:,}", f"{line.output_tokens:,}") if line.estimated else ("", "")
    name = line.model if line.estimated else f"{line.model} ({line.provider})"
    return (line.day, name, f"{line.calls:,}", *tokens, price)


def _dollars(micro_usd: int) -> str:
    return f"${micro_usd / _MICRO:,.4f}"
