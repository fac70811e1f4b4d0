"""What a tool's result says about the call itself: its cost, where it went, and whether it failed (agent.md 2.1).

A JSON result may carry `cost_usd` (0 or more), `endpoint_id` or `endpoint`, `provider`, `status` (a number of 400 or
more is a failure) and `error` or `message`. Nothing is ever guessed from words. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agent_host.mcp_clients.protocol import ToolOutcome
from agent_host.providers.protocol import JsonValue

PRICE_LIMIT_USD: Final = 1_000_000
_MICRO: Final = 1_000_000
_FAILURE_STATUS: Final = 400
_ENDPOINT: Final = re.compile(r"[A-Za-z0-9_.:-]{1,80}", re.ASCII)
_PROVIDER: Final = re.compile(r"[A-Za-z][A-Za-z0-9 _.-]{0,23}", re.ASCII)
_WRAPPER: Final = "result"  # the member that some MCP servers wrap a text result in


@dataclass(frozen=True)
class Stated:
    """What one result says of its call; None for what it does not say, or not in a form that may be kept."""

    cost_micro_usd: int | None
    endpoint_id: str | None
    provider: str | None
    ok: bool
    reason: str | None


def stated(outcome: ToolOutcome) -> Stated:
    """Returns what a result says; one that is no JSON object says nothing beyond the protocol's error flag."""
    members = members_of(outcome)
    status = members.get("status")
    refused = isinstance(status, int) and not isinstance(status, bool) and status >= _FAILURE_STATUS
    told = (members.get(name) for name in ("error", "message"))
    return Stated(
        cost_micro_usd=_price(members.get("cost_usd")),
        endpoint_id=_matching(_ENDPOINT, members.get("endpoint_id"), members.get("endpoint")),
        provider=_matching(_PROVIDER, members.get("provider")),
        ok=not (outcome.is_error or refused),
        reason=next((text for text in told if isinstance(text, str) and text), None),
    )


def members_of(outcome: ToolOutcome) -> Mapping[str, JsonValue]:
    """Returns a result as a JSON object, be it structured, or JSON as text, or that in a wrapper; else an empty one."""
    value = outcome.structured
    if isinstance(value, Mapping) and set(value) == {_WRAPPER}:
        value = value[_WRAPPER]
    elif value is None:
        value = outcome.content
    if isinstance(value, str):
        value = parsed(value)
    return value if isinstance(value, Mapping) else {}


def parsed(text: str) -> JsonValue:
    """Returns the JSON object or list that a text is, None for any other text."""
    if text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _price(value: JsonValue) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < PRICE_LIMIT_USD:
        return None
    return round(value * _MICRO)


def _matching(pattern: re.Pattern[str], *values: JsonValue) -> str | None:
    return next((value for value in values if isinstance(value, str) and pattern.fullmatch(value)), None)
