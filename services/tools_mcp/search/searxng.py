"""The SearXNG provider: a metasearch instance of the person's own, asked for JSON over HTTP."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from service_runtime.errors import SetupError
from tools_mcp.search.cleaning import clean_hits, plain
from tools_mcp.search.protocol import Hit, Outcome, SearchRequest, Status

_SAFETY = {"off": "0", "moderate": "1", "strict": "2"}
_MOST_BYTES = 5_000_000
_OK, _FORBIDDEN, _TOO_MANY, _REDIRECTS = 200, 403, 429, range(300, 400)
_ENGINE_TROUBLE: tuple[tuple[str, Status], ...] = (  # SearXNG's words for why one of its engines gave nothing
    ("too many requests", "rate_limited"),
    ("captcha", "blocked"),
    ("access denied", "blocked"),
    ("timeout", "timed_out"),
)


@dataclass(frozen=True)
class SearxngEngine:
    """One instance; `base_url` is where its front page is."""

    base_url: str

    @property
    def name(self) -> str:
        """The provider's name."""
        return "searxng"

    async def search(self, request: SearchRequest, timeout_s: float) -> Outcome:
        """Ask the instance; the request follows no redirect and reads at most 5 MB."""
        import httpx  # imported late: it takes longer than the rest of this server

        try:
            async with httpx.AsyncClient(timeout=timeout_s, trust_env=False) as client:
                url = f"{self.base_url.rstrip('/')}/search"
                async with client.stream("GET", url, params=_parameters(request)) as response:
                    return _outcome(response.status_code, response.headers, await _body(response), request.max_results)
        except httpx.TimeoutException:
            return Outcome("timed_out", reason=f"SearXNG did not answer within {timeout_s:.0f} s; try again later.")
        except httpx.HTTPError:
            return Outcome("failed", reason="SearXNG cannot be reached; check that it runs and PROMETHEUS_SEARXNG_URL.")


def open_searxng(base_url: str) -> SearxngEngine:
    """Return the provider for the address in the settings.

    Raises:
        SetupError: It is no http or https address.
    """
    try:
        parts = urlsplit(base_url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SetupError("PROMETHEUS_SEARXNG_URL is no web address; set it to one such as http://127.0.0.1:8080.")
    return SearxngEngine(base_url)


def _parameters(request: SearchRequest) -> dict[str, str]:
    parameters = {"q": request.query, "format": "json", "safesearch": _SAFETY[request.safe]}
    if request.freshness:
        parameters["time_range"] = request.freshness
    if request.region:
        parameters["language"] = request.region
    return parameters


async def _body(response: Any) -> bytes:
    """Return the body; nothing of one that is too large, because a part of an answer is none."""
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _MOST_BYTES:
            return b""
    return body


def _outcome(status: int, headers: Mapping[str, str], body: bytes, most: int) -> Outcome:
    if status == _TOO_MANY:
        later = headers.get("retry-after", "")
        wait = f"in {int(later)} seconds" if later.isdecimal() and len(later) < 6 else "in a minute"  # noqa: PLR2004
        return Outcome("rate_limited", reason=f"SearXNG had too many requests; try again {wait}.")
    if status == _FORBIDDEN:
        return Outcome(
            "blocked",
            reason="SearXNG refused the request (HTTP 403); allow json in its settings, under search.formats.",
        )
    if status in _REDIRECTS:
        return Outcome(
            "failed", reason="SearXNG answered with a redirect; set PROMETHEUS_SEARXNG_URL to where it leads."
        )
    if status != _OK:
        return Outcome("failed", reason=f"SearXNG answered with HTTP {status}; look at its log.")
    return _results(body, most)


def _results(body: bytes, most: int) -> Outcome:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict) or not isinstance(answer.get("results"), list):
        return Outcome(
            "failed", reason="SearXNG's answer is not its JSON; check that PROMETHEUS_SEARXNG_URL is SearXNG."
        )
    hits = clean_hits((_hit(item) for item in answer["results"] if isinstance(item, dict)), most)
    return Outcome("ok", hits) if hits else _nothing(answer.get("unresponsive_engines"))


def _hit(item: Mapping[str, Any]) -> Hit:
    texts = {key: value for key, value in item.items() if isinstance(value, str)}
    url, published = texts.get("url", ""), texts.get("publishedDate")
    return Hit(texts.get("title", ""), url, texts.get("content", ""), published)


def _nothing(unresponsive: Any) -> Outcome:
    """No results: because there are none, or because the engines behind SearXNG gave none."""
    troubles = [item for item in unresponsive or () if isinstance(item, list) and len(item) > 1]
    if not troubles:
        return Outcome("empty", reason="SearXNG found nothing for this query; try other words.")
    said = " ".join(str(item[1]).casefold() for item in troubles)
    status: Status = next((status for words, status in _ENGINE_TROUBLE if words in said), "failed")
    return Outcome(status, reason=f"SearXNG found nothing because its engines did not answer: {_named(troubles)}.")


def _named(troubles: Iterable[list[Any]]) -> str:
    return plain(", ".join(f"{item[0]} ({item[1]})" for item in troubles), 200)
