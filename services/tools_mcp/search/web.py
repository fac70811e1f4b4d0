"""The search service: the configured providers in order, within one time limit, and what happened last."""

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from service_runtime.errors import SetupError
from service_runtime.settings import Settings
from tools_mcp.search.brave import SETTING as BRAVE_SETTING
from tools_mcp.search.brave import BraveEngine
from tools_mcp.search.cache import Cache
from tools_mcp.search.ddgs_engine import DdgsEngine
from tools_mcp.search.json_api import key_from
from tools_mcp.search.protocol import Outcome, SearchEngine, SearchRequest
from tools_mcp.search.searxng import open_searxng
from tools_mcp.search.tavily import SETTING as TAVILY_SETTING
from tools_mcp.search.tavily import TavilyEngine

TIMEOUT_S = 20.0
_RESERVE_S = 1.0  # for the answer itself, so that the tool keeps the 20 s it promises
_LEAST_S = 1.0
_KEPT_S = 300.0
_OPENERS: dict[str, Callable[[Settings], SearchEngine]] = {
    "keyless": lambda _: DdgsEngine(),
    "searxng": lambda settings: open_searxng(settings.get("SEARXNG_URL") or ""),
    "brave": lambda settings: BraveEngine(key_from(settings.get("BRAVE_API_KEY"), BRAVE_SETTING)),
    "tavily": lambda settings: TavilyEngine(key_from(settings.get("TAVILY_API_KEY"), TAVILY_SETTING)),
}


@dataclass(frozen=True)
class Last:
    """How the last search through a provider went."""

    outcome: Outcome
    at: datetime


@dataclass(frozen=True)
class Found:
    """What a search came to, and through which provider; `is_kept` when it is the answer of a moment ago."""

    outcome: Outcome
    provider: str
    is_kept: bool = False


@dataclass
class WebSearch:
    """The providers, asked in order until one answers; an empty answer is an answer.

    Results are kept for five minutes, failures and empty answers are not.
    """

    engines: Sequence[SearchEngine]
    timeout_s: float = TIMEOUT_S - _RESERVE_S
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    last: dict[str, Last] = field(default_factory=dict)
    kept: Cache[Found] = field(default_factory=lambda: Cache(_KEPT_S, 100))

    async def search(self, request: SearchRequest) -> Found:
        """Return the first answer, its reason telling who was asked before; when all fail, the first failure."""
        if kept := self.kept.get(request):
            return dataclasses.replace(kept, is_kept=True)
        deadline = self.clock() + self.timeout_s
        failures: list[tuple[Outcome, str]] = []
        for engine in self.engines:
            left = deadline - self.clock()
            if failures and left < _LEAST_S:
                break
            outcome = await engine.search(request, left)
            self.last[engine.name] = Last(outcome, self.now())
            if outcome.status in {"ok", "empty"}:
                found = Found(_after(failures, outcome, engine.name), engine.name)
                if outcome.status == "ok":
                    self.kept.put(request, found)
                return found
            failures.append((outcome, engine.name))
        first, name = failures[0]
        return Found(Outcome(first.status, reason=" ".join(outcome.reason for outcome, _ in failures)), name)


def _after(failures: Sequence[tuple[Outcome, str]], outcome: Outcome, provider: str) -> Outcome:
    """Return an answer that tells which providers gave none before it."""
    if not failures:
        return outcome
    told = "; ".join(f"{name} {failed.status.replace('_', ' ')}" for failed, name in failures)
    said = f"Answered by {provider}, after others gave no answer ({told})."
    return dataclasses.replace(outcome, reason=f"{outcome.reason} {said}".strip())


def open_web_search(settings: Settings) -> WebSearch:
    """Return the providers of the settings, in the order of `PROMETHEUS_SEARCH_PROVIDERS`, such as `brave,keyless`.

    Without that, `PROMETHEUS_SEARXNG_URL` makes that instance the only one: whoever runs their own does not want their
    queries to go elsewhere. Otherwise the providers that a key is set for come first, and the keyless one last.

    Raises:
        SetupError: A provider is unknown, or has no usable address or key.
    """
    keyed = [name for name in ("brave", "tavily") if settings.get(f"{name.upper()}_API_KEY")]
    standard = "searxng" if settings.get("SEARXNG_URL") else ",".join([*keyed, "keyless"])
    told = settings.get("SEARCH_PROVIDERS") or standard
    names = list(dict.fromkeys(name.strip().lower() for name in told.split(",") if name.strip()))
    unknown = [name for name in names if name not in _OPENERS]
    if unknown or not names:
        raise SetupError(
            f"PROMETHEUS_SEARCH_PROVIDERS names {repr(unknown[0][:40]) if unknown else 'no'} provider; "
            f"use a list of {', '.join(_OPENERS)}, separated by commas."
        )
    return WebSearch([_OPENERS[name](settings) for name in names])


def check(settings: Settings) -> str:
    """Say in one sentence which providers would be asked; none is.

    Raises:
        SetupError: A provider is unknown, or has no usable address or key.
    """
    names = [engine.name for engine in open_web_search(settings).engines]
    return f"search: would ask {', then '.join(names)}"
