"""The keyless provider: public search engines through `ddgs`, one after the other until one has results.

The library turns a challenge page, a rate limit and an empty page into the same "no results". Its engines are asked
one by one here, with an eye on the HTTP status, so that the five failures stay five.
"""

import asyncio
import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tools_mcp.search.cleaning import clean_hits
from tools_mcp.search.protocol import Hit, Outcome, SearchRequest, Status

_ENGINES = ("duckduckgo", "brave", "mojeek")
_IGNORE_SAFE, _IGNORE_FRESHNESS = frozenset(("duckduckgo",)), frozenset(("mojeek",))  # as the library asks them
_ENGINE_TIMEOUT_S = 6
_FRESHNESS = {"day": "d", "week": "w", "month": "m", "year": "y"}
_SAFETY = {"off": "off", "moderate": "moderate", "strict": "on"}
_BLOCKED_STATUSES = frozenset({202, 401, 403, 418, 451})
_OK, _TOO_MANY = 200, 429
_CHALLENGES = ("captcha", "unusual traffic", "anomaly-modal", "are you a robot", "not a robot")
_UNREACHABLE = ("dnserror", "connecterror", "connection", "resolv", "unreachable")
_GRAVEST: tuple[Status, ...] = ("rate_limited", "blocked", "timed_out", "failed", "empty")
_ADVICE = {
    "empty": "try other words",
    "blocked": "wait some minutes, or set up another provider such as SearXNG (PROMETHEUS_SEARXNG_URL)",
    "rate_limited": "wait some minutes, or set up another provider such as SearXNG (PROMETHEUS_SEARXNG_URL)",
    "timed_out": "try again later",
    "failed": "check that this machine is online, or set PROMETHEUS_SEARXNG_URL",
}


def _new_engine(name: str, timeout_s: int) -> Any:
    from ddgs.engines import ENGINES  # imported late: it loads an HTML parser and an HTTP client

    return ENGINES["text"][name](timeout=timeout_s)


@dataclass(frozen=True)
class DdgsEngine:
    """Public engines without a key; `new_engine` makes one of `ddgs`' engines by name, with a timeout in seconds."""

    engines: Sequence[str] = _ENGINES
    new_engine: Callable[[str, int], Any] = _new_engine
    clock: Callable[[], float] = time.monotonic

    @property
    def name(self) -> str:
        """The provider's name."""
        return "keyless"

    async def search(self, request: SearchRequest, timeout_s: float) -> Outcome:
        """Ask one engine after the other, off the event loop, until one has results or the time is over."""
        work = asyncio.to_thread(self._search, request, self.clock() + timeout_s)
        try:
            return await asyncio.wait_for(work, timeout_s)
        except TimeoutError:
            return Outcome("timed_out", reason=f"No engine answered within {timeout_s:.0f} s; try again later.")

    def _search(self, request: SearchRequest, deadline: float) -> Outcome:
        answers: list[tuple[str, Outcome]] = []
        able = [name for name in self.engines if _can(name, request)]
        if not able:
            return Outcome("failed", reason="No keyless engine filters as asked; leave out safe or freshness.")
        for name in able:
            left = int(min(_ENGINE_TIMEOUT_S, deadline - self.clock()))
            if left < 1:
                break
            outcome = _ask(functools.partial(self.new_engine, name, left), request)
            if outcome.status == "ok":
                return outcome
            answers.append((name, outcome))
        return _summary(answers)


def _can(name: str, request: SearchRequest) -> bool:
    """Whether an engine does what is asked: one that ignores a filter would give what was to be left out."""
    return not (request.safe == "strict" and name in _IGNORE_SAFE) and not (
        request.freshness and name in _IGNORE_FRESHNESS
    )


def _ask(new_engine: Callable[[], Any], request: SearchRequest) -> Outcome:
    from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException
    from lxml.etree import LxmlError  # type: ignore[import-untyped] # lxml publishes no types

    responses: list[Any] = []
    try:
        engine = new_engine()
        _watch(engine.http_client, responses)
        found = engine.search(
            request.words,
            region=_region(request.region),
            safesearch=_SAFETY[request.safe],
            timelimit=_FRESHNESS[request.freshness] if request.freshness else None,
        )
    except RatelimitException:
        return Outcome("rate_limited", reason="too many requests")
    except TimeoutException:
        return Outcome("timed_out", reason="no answer in time")
    except DDGSException as error:
        unreachable = any(word in str(error).casefold() for word in _UNREACHABLE)
        return Outcome("failed", reason="not reachable" if unreachable else "an error")
    except (LxmlError, ValueError, TypeError, KeyError, IndexError, AttributeError):  # the page is not what it was
        return Outcome("failed", reason="an answer that cannot be read")
    hits = clean_hits(
        (Hit(item.title, item.href, item.body) for item in found or ()), request.max_results, request.site
    )
    return Outcome("ok", hits) if hits else _without_results(responses)


def _watch(client: Any, responses: list[Any]) -> None:
    """Keep every response the engine gets; the library itself only tells 200 from the rest."""
    send = client.request

    def watched(*arguments: Any, **options: Any) -> Any:
        response = send(*arguments, **options)
        responses.append(response)
        return response

    client.request = watched


def _without_results(responses: Sequence[Any]) -> Outcome:
    statuses = {response.status_code for response in responses}
    challenged = any(word in response.text[:200_000].casefold() for response in responses for word in _CHALLENGES)
    if _TOO_MANY in statuses:
        return Outcome("rate_limited", reason="too many requests")
    if challenged or statuses & _BLOCKED_STATUSES:
        return Outcome("blocked", reason="blocked as a robot")
    if statuses - {_OK}:
        return Outcome("failed", reason=f"HTTP {max(statuses)}")
    if not all(response.text.strip() for response in responses):
        return Outcome("failed", reason="a blank page")
    return Outcome("empty", reason="no results")


def _summary(answers: Sequence[tuple[str, Outcome]]) -> Outcome:
    """Nothing was found: the gravest answer names the failure, so `empty` means that every engine said so."""
    if not answers:
        return Outcome("timed_out", reason="There was no time left to ask a search engine; try again.")
    status = next(status for status in _GRAVEST if any(outcome.status == status for _, outcome in answers))
    told = ", ".join(f"{name}: {outcome.reason}" for name, outcome in answers)
    return Outcome(status, reason=f"No search engine gave results ({told}); {_ADVICE[status]}.")


def _region(region: str | None) -> str:
    """Return the library's form, country first: `en-US` becomes `us-en`."""
    language, _, country = (region or "en-US").casefold().partition("-")
    return f"{country}-{language}"
