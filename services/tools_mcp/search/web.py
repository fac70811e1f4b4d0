"""The search service: the configured providers in order, within one time limit, and what happened last. No caching."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from service_runtime.errors import SetupError
from service_runtime.settings import Settings
from tools_mcp.search.ddgs_engine import DdgsEngine
from tools_mcp.search.protocol import Outcome, SearchEngine, SearchRequest
from tools_mcp.search.searxng import open_searxng

TIMEOUT_S = 20.0
_RESERVE_S = 1.0  # for the answer itself, so that the tool keeps the 20 s it promises
_LEAST_S = 1.0
_NAMES = ("searxng", "keyless")


@dataclass(frozen=True)
class Last:
    """How the last search through a provider went."""

    outcome: Outcome
    at: datetime


@dataclass
class WebSearch:
    """The providers, asked in order until one answers; an empty answer is an answer."""

    engines: Sequence[SearchEngine]
    timeout_s: float = TIMEOUT_S - _RESERVE_S
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    last: dict[str, Last] = field(default_factory=dict)

    async def search(self, request: SearchRequest) -> tuple[Outcome, str]:
        """Return the first answer and its provider's name; when all fail, the first failure with every reason."""
        deadline = self.clock() + self.timeout_s
        failures: list[tuple[Outcome, str]] = []
        for engine in self.engines:
            left = deadline - self.clock()
            if failures and left < _LEAST_S:
                break
            outcome = await engine.search(request, left)
            self.last[engine.name] = Last(outcome, self.now())
            if outcome.status in {"ok", "empty"}:
                return outcome, engine.name
            failures.append((outcome, engine.name))
        first, name = failures[0]
        return Outcome(first.status, reason=" ".join(outcome.reason for outcome, _ in failures)), name


def open_web_search(settings: Settings) -> WebSearch:
    """Return the providers of the settings.

    With `PROMETHEUS_SEARXNG_URL` set, that instance is the only one: whoever runs their own does not want their queries
    to go elsewhere. `PROMETHEUS_SEARCH_PROVIDERS` names others, such as `searxng,keyless`.

    Raises:
        SetupError: A provider is unknown, or SearXNG has no usable address.
    """
    address = settings.get("SEARXNG_URL")
    told = settings.get("SEARCH_PROVIDERS") or ("searxng" if address else "keyless")
    names = list(dict.fromkeys(name.strip().lower() for name in told.split(",") if name.strip()))
    unknown = [name for name in names if name not in _NAMES]
    if unknown or not names:
        raise SetupError(
            f"PROMETHEUS_SEARCH_PROVIDERS names {unknown[0] if unknown else 'no'!r} provider; "
            f"use a list of {' and '.join(_NAMES)}, separated by commas."
        )
    return WebSearch([open_searxng(address or "") if name == "searxng" else DdgsEngine() for name in names])


def check(settings: Settings) -> str:
    """Say in one sentence which providers would be asked; none is.

    Raises:
        SetupError: A provider is unknown, or SearXNG has no usable address.
    """
    names = [engine.name for engine in open_web_search(settings).engines]
    return f"search: would ask {', then '.join(names)}"
