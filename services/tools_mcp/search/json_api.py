"""Asking a provider that answers JSON over HTTP: one request, bounded in time and size, its troubles put in words.

A provider's own error text is never repeated: it may hold the key it was sent.
"""

import asyncio
import functools
import json
import ssl
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from service_runtime.errors import SetupError
from tools_mcp.search.protocol import Hit, Outcome

_MOST_BYTES = 5_000_000
_MOST_WAIT = 5  # digits
_MOST_COST = 1_000_000
OK, ACCEPTED, TOO_MANY = 200, 202, 429
NO_ACCESS = frozenset((401, 402, 403))


@dataclass(frozen=True)
class Question:
    """A GET with parameters, or a POST of a JSON body; headers may hold a key, so they are not shown."""

    url: str = field(repr=False)
    parameters: Mapping[str, str] | None = None
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Answer:
    """What came back; `data` is None when the body is no JSON object."""

    status: int
    headers: Mapping[str, str]
    data: Mapping[str, Any] | None


async def ask(question: Question, provider: str, timeout_s: float, unreachable: str) -> Answer | Outcome:
    """Return the provider's answer, or the outcome when none came; no redirect is followed."""
    import httpx2  # imported late, although the MCP library has it loaded already

    try:
        async with (
            asyncio.timeout(timeout_s),
            httpx2.AsyncClient(verify=_trusted(), timeout=timeout_s, trust_env=False) as client,
            client.stream(
                "GET" if question.body is None else "POST",
                question.url,
                params=question.parameters,
                json=question.body,
                headers=dict(question.headers),
            ) as response,
        ):
            return Answer(response.status_code, response.headers, _object(await _body(response)))
    except (TimeoutError, httpx2.TimeoutException):
        return Outcome("timed_out", reason=f"{provider} did not answer within {timeout_s:.0f} s; try again later.")
    except (httpx2.HTTPError, httpx2.InvalidURL):
        return Outcome("failed", reason=unreachable)


def rate_limited(provider: str, headers: Mapping[str, str], *names: str) -> Outcome:
    """Return the outcome of too many requests; the wait is the first number in one of the headers named."""
    told = (headers.get(name, "").partition(",")[0].strip() for name in ("retry-after", *names))
    wait = next((value for value in told if value.isascii() and value.isdecimal() and len(value) <= _MOST_WAIT), "")
    when = f"in {int(wait)} seconds" if wait and int(wait) else "in a minute"
    return Outcome("rate_limited", reason=f"{provider} had too many requests; try again {when}.")


def trouble_with_key(answer: Answer, provider: str, setting: str, no_access: Collection[int]) -> Outcome | None:
    """Return what is wrong with the answer of a provider that takes a key, by its HTTP status; None when it is 200."""
    if answer.status == TOO_MANY:
        return rate_limited(provider, answer.headers, "x-ratelimit-reset")
    if answer.status in no_access:
        told = f"{provider} does not accept the key or its plan (HTTP {answer.status}); check {setting}."
        return Outcome("blocked", reason=told)
    if answer.status == ACCEPTED:
        return Outcome("blocked", reason=f"{provider} answered with a challenge instead of results; try again later.")
    if answer.status != OK:
        return Outcome("failed", reason=f"{provider} answered with HTTP {answer.status}; try again later.")
    return None


def unreadable(provider: str) -> Outcome:
    """Return the outcome of an answer in another form than the documented one."""
    return Outcome("failed", reason=f"{provider}'s answer cannot be read; it may have changed its format.")


def found(hits: tuple[Hit, ...], provider: str, data: Mapping[str, Any]) -> Outcome:
    """Return the outcome of an answer that was read."""
    cost = cost_of(data)
    if hits:
        return Outcome("ok", hits, cost_usd=cost)
    return Outcome("empty", reason=f"{provider} found nothing for this query; try other words.", cost_usd=cost)


def key_from(value: str | None, setting: str) -> str:
    """Return a key from the settings.

    Raises:
        SetupError: It is not there or no key; the value is never repeated.
    """
    key = (value or "").strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise SetupError(f"{setting} holds no key; set it to the one from your account with the provider.")
    return key


def cost_of(data: Mapping[str, Any]) -> float | None:
    """Return what the answer says it cost in dollars (`cost_usd`), where it does."""
    cost = data.get("cost_usd")
    if not isinstance(cost, int | float) or isinstance(cost, bool) or not 0 <= cost < _MOST_COST:
        return None  # NaN too: it is not at least 0
    return float(cost)


def hits_from(results: Any, snippet: str, published: str) -> Iterator[Hit]:
    """Yield the results in a list of objects, by the provider's names for a snippet and a date; junk is passed over."""
    for item in results if isinstance(results, list) else ():
        if isinstance(item, dict):
            texts = {name: value for name, value in item.items() if isinstance(value, str)}
            yield Hit(texts.get("title", ""), texts.get("url", ""), texts.get(snippet, ""), texts.get(published))


@functools.cache
def _trusted() -> ssl.SSLContext:
    """Return the certificates this system trusts; reading them takes longer than a search on this machine."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=False)


async def _body(response: Any) -> bytes:
    """Return the body; nothing of one that is too large, because a part of an answer is none."""
    body = bytearray()
    async for chunk in response.aiter_bytes(65_536):
        body += chunk
        if len(body) > _MOST_BYTES:
            return b""
    return bytes(body)


def _object(body: bytes) -> Mapping[str, Any] | None:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
