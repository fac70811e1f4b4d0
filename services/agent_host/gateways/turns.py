"""`agent-host turns`: the turns of a window and what the five checks say of them; one turn whole, with the notes.

Reads trace files and nothing else, while a host may be writing them. Nothing is stored: every reading checks anew
(agent.md row 92).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Final

from agent_host.budget import limits
from agent_host.errors import UsageError
from agent_host.gateways.cost import WINDOWS
from agent_host.gateways.screen import printable
from agent_host.gateways.turn_view import overview_lines, turn_lines
from agent_host.identifiers import began_at_ms
from agent_host.tracing.reading import read_folder
from agent_host.tracing.traced_turn import TracedTurn, traced_turns
from agent_host.turn_checks.running import Check, checks, run_checks
from agent_host.turn_checks.verdict import Rate, Result, rates
from service_runtime.settings import Settings

_EARLIER: Final = timedelta(days=2)
"""A turn's file is named by a local day, its id by UTC; this is more than they can differ by."""


@dataclass(frozen=True)
class CheckedTurn:
    """A turn and what each check says of it."""

    turn: TracedTurn
    results: tuple[Result, ...]

    def as_json(self) -> dict[str, Any]:
        """Returns the turn's row of `--json`; a cost of None is not known."""
        costs = [call.cost_micro_usd for call in self.turn.calls] + [tool.cost_micro_usd for tool in self.turn.tools]
        known = [cost for cost in costs if cost is not None]
        return {
            "turn_id": self.turn.turn_id,
            "started_at": self.turn.started.isoformat() if self.turn.started else None,
            "gateway": self.turn.gateway,
            "outcome": self.turn.outcome or None,
            "message": self.turn.message,
            "cost_micro_usd": sum(known) if known else None,
            "entry_id": self.turn.entry_id,
            "as_receipted": self.turn.is_as_receipted,
            "trace_sha256": self.turn.sha256,
            "checks": {one.name: {"value": one.value, "note": one.note} for one in self.results},
        }


@dataclass(frozen=True)
class Reading:
    """The turns of a window, oldest first; how many lines were torn, and which files could not be read."""

    turns: tuple[CheckedTurn, ...]
    torn: int
    problems: tuple[str, ...]

    @property
    def rates(self) -> list[Rate]:
        """Returns how each check went."""
        return rates(result for checked in self.turns for result in checked.results)


def turns(settings: Settings, window: str, *, as_json: bool) -> int:
    """Prints the turns of a window; returns 0, or 1 when a trace file had to be left out.

    Raises:
        UsageError: there is no such window.
        ConfigurationError: the budget is no amount of dollars.
    """
    if window not in WINDOWS:
        raise UsageError(f"There is no window {window[:40]!r}; choose one of {', '.join(WINDOWS)}.")
    zone = settings.zone()
    reading = read_turns(trace_folder(settings), datetime.now(zone), zone, WINDOWS[window], _checks(settings))
    if as_json:
        document = {
            "window": window,
            "turns": [one.as_json() for one in reading.turns],
            "checks": {
                rate.name: {
                    "passed": rate.passed,
                    "failed": rate.failed,
                    "not_applicable": rate.not_applicable,
                    "percent": rate.percent,
                }
                for rate in reading.rates
            },
            "torn_lines": reading.torn,
            "problems": list(reading.problems),
        }
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
    else:
        checked = [(one.turn, one.results) for one in reading.turns]
        _print(overview_lines(checked, reading.rates, zone, window, torn=reading.torn))
    for problem in reading.problems:
        sys.stderr.write(f"agent-host: {printable(problem)}\n")
    return 1 if reading.problems else 0


def turn(settings: Settings, turn_id: str, *, as_json: bool) -> int:
    """Prints one turn, step by step, and the note of each check; returns 0, or 1 when a check failed.

    Raises:
        UsageError: no trace names this turn.
        ConfigurationError: the budget is no amount of dollars.
    """
    found = find_turn(trace_folder(settings), turn_id)
    checked = CheckedTurn(found, run_checks(found, _checks(settings)))
    if as_json:
        steps = [dict(row.members) for row in (*found.rows, *found.later)]
        sys.stdout.write(json.dumps({**checked.as_json(), "lines": steps}, ensure_ascii=False) + "\n")
    else:
        _print(turn_lines(found, checked.results, settings.zone()))
    return 1 if any(one.value == 0 for one in checked.results) else 0


def find_turn(folder: Path, turn_id: str) -> TracedTurn:
    """Returns one turn, with all that was traced of it later.

    Raises:
        UsageError: no trace names it.
    """
    began = began_at_ms(turn_id)
    first = (datetime.fromtimestamp(began / 1000, tz=UTC) - _EARLIER).date() if began else None
    text = read_folder(folder, first)
    found = next((one for one in traced_turns(text.rows) if one.turn_id == turn_id), None)
    if found is None:
        why = f" {text.problems[0]}" if text.problems else ""
        raise UsageError(f"No trace names a turn {turn_id[:40]!r}; `agent-host turns --window all` lists them.{why}")
    return found


def trace_folder(settings: Settings) -> Path:
    """Returns where the traces of a home are."""
    return settings.home.path / "host" / "traces"


def read_turns(folder: Path, now: datetime, zone: tzinfo, days: int | None, to_run: dict[str, Check]) -> Reading:
    """Returns the turns that began in the last `days` local days, or ever, checked."""
    first = now.date() - timedelta(days=days - 1) if days is not None else None
    text = read_folder(folder, first)
    found = [one for one in traced_turns(text.rows) if _is_within(one, first, zone)]
    return Reading(tuple(CheckedTurn(one, run_checks(one, to_run)) for one in found), text.torn, text.problems)


def _is_within(turn: TracedTurn, first: date | None, zone: tzinfo) -> bool:
    return first is None or turn.started is None or turn.started.astimezone(zone).date() >= first


def _checks(settings: Settings) -> dict[str, Check]:
    return dict(checks(limits(settings).turn_micro_usd))


def _print(lines: Iterable[str] | Sequence[str]) -> None:
    sys.stdout.write("".join(f"{printable(line)}\n" for line in lines))
