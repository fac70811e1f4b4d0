"""The SDK's client and its failures. Importing this module imports the SDK (seconds of CPU): only `provider` does."""

from __future__ import annotations

import asyncio
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final

import httpx2
from openai import APIError, APIStatusError, APITimeoutError, AsyncOpenAI, DefaultAsyncHttpxClient, OpenAIError, Timeout

from agent_host.errors import ProviderError, ProviderRefusedError, ProviderUnavailableError
from agent_host.providers.openai_compatible.endpoint import Endpoint
from agent_host.providers.openai_compatible.wire import Part
from agent_host.providers.protocol import Usage

# What a call can end in: the SDK's errors, the transport's while a stream is read, and what a malformed chunk raises.
BREAKS: Final = (
    OpenAIError,
    httpx2.HTTPError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RuntimeError,
    TimeoutError,
)

_CONNECT_S: Final = 10.0
_LONGEST_WAIT_S: Final = 20.0
_QUOTED_CHARS: Final = 300
_TRANSIENT: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS})
_NO_CREDIT: Final = "insufficient_quota"
_TOO_LARGE: Final = frozenset({"context_length_exceeded", "exceed_context_size_error"})  # OpenAI's word, llama.cpp's
_STATUS_OF_KIND: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    _NO_CREDIT: 402,
    "rate_limit_exceeded": 429,
}
_NO_MODEL: Final = re.compile(r"\bmodel\b.* (not found|does not exist)", re.IGNORECASE)
_TOLD_STATUS: Final = re.compile("[45][0-9]{2}")
_PART_WORDS: Final[Mapping[Part, tuple[str, ...]]] = {
    "stream_options": ("stream_options", "include_usage"),
    "max_tokens": ("max_completion_tokens",),
    # llama.cpp turns a schema into a grammar; one that it cannot make is told so, or as samplers that cannot start.
    "lengths": ("minlength", "maxlength", "grammar", "initialize samplers"),
    "response_format": ("response_format", "json_schema", "structured output", "grammar", "initialize samplers"),
}
_REFUSALS: Final = {
    401: "{host} does not accept the API key (401); check PROMETHEUS_API_KEY.",
    402: "The account at {host} has no credit for this request (402); add credit, then ask again.",
    403: "{host} does not let this API key use {model} (403): {reason}",
    404: "{host} offers no model named {model} ({status}); check PROMETHEUS_MODEL and PROMETHEUS_BASE_URL: {reason}",
    413: "This conversation is too large for {model} ({status}): {reason}; start a new session or widen its context.",
}
_NO_KEY: Final = "{host} wants an API key (401); set PROMETHEUS_API_KEY."


def open_client(endpoint: Endpoint) -> AsyncOpenAI:
    """Returns a client that retries a bounded number of times.

    Key and address are given, and every OPENAI_ variable is kept from the SDK meanwhile, so that none meant for another
    program can redirect a conversation or show an organisation's name to a server that is not OpenAI's.
    """
    # The SDK copies chunks through pydantic, which would print a warning for each value of an unpromised type.
    warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
    limit = silence(endpoint.timeout_s)
    with _hidden("OPENAI_"):
        return AsyncOpenAI(
            api_key=endpoint.api_key or "none",  # the SDK insists; a server that needs no key ignores it
            base_url=endpoint.base_url,
            timeout=limit,
            max_retries=endpoint.max_retries,
            http_client=DefaultAsyncHttpxClient(timeout=limit, event_hooks={"response": [_no_long_waits]}),
        )


async def listed_models(endpoint: Endpoint) -> tuple[str, ...] | None:
    """Returns the names of the models that a server lists, None where it lists none at all (404).

    Raises:
        ProviderError: it cannot be reached, or refuses to tell.
    """
    client = open_client(endpoint)
    try:
        async with asyncio.timeout(endpoint.timeout_s):
            return tuple(str(model.id) for model in (await client.models.list()).data)
    except BREAKS as error:
        if _status(error) == HTTPStatus.NOT_FOUND:
            return None
        raise failure(error, endpoint) from error
    finally:
        await client.close()


@contextmanager
def _hidden(prefix: str) -> Iterator[None]:
    """Keeps variables from the SDK, which has no option to leave them unread, while a client is made."""
    values = {name: os.environ.pop(name) for name in tuple(os.environ) if name.startswith(prefix)}
    try:
        yield
    finally:
        os.environ.update(values)


def silence(timeout_s: float) -> Timeout:
    """Returns how long a connection may be silent; comments between two events count as life."""
    return Timeout(timeout_s, connect=min(_CONNECT_S, timeout_s))


class PartRefusedError(ProviderRefusedError):
    """The server refuses one of `parts` of the request; the same request without the first of them may do."""

    def __init__(self, message: str, usage: Usage | None, parts: Sequence[Part]) -> None:
        super().__init__(message, usage)
        self.parts = parts


def failure(error: Exception, endpoint: Endpoint, usage: Usage | None = None) -> ProviderError:
    """Returns what a person should read when a call ended in `error`: what happened and what to do next."""
    if not is_refusal(error):
        return ProviderUnavailableError(_trouble(error, endpoint), usage)
    message = _refusal(error, endpoint)
    usage = usage or _unbilled(error)
    reason = _reason(error, endpoint).lower()
    parts = [part for part, words in _PART_WORDS.items() if any(word in reason for word in words)]
    return PartRefusedError(message, usage, parts) if parts else ProviderRefusedError(message, usage)


def is_refusal(error: Exception) -> bool:
    """Tells whether the server said no: a 4xx that asking again will not change."""
    status = _status(error)
    return status is not None and status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _TRANSIENT


def _status(error: Exception) -> int | None:
    """The HTTP status, also of an error that was told inside a stream which had begun well."""
    if not isinstance(error, APIError) or isinstance(error, APITimeoutError):
        return None
    kinds = (str(error.code), str(error.type))
    if _NO_CREDIT in kinds:
        return HTTPStatus.PAYMENT_REQUIRED
    if isinstance(error, APIStatusError):
        return error.status_code
    if error.body is None:  # no connection, or no reply of this API
        return None
    told = [int(kind) for kind in kinds if _TOLD_STATUS.fullmatch(kind)]  # OpenRouter gives a status as the code
    told += [_STATUS_OF_KIND[kind] for kind in kinds if kind in _STATUS_OF_KIND]
    return told[0] if told else HTTPStatus.INTERNAL_SERVER_ERROR


def _unbilled(error: Exception) -> Usage | None:
    """Returns what a request cost that was refused with a status of its own: nothing; None for any other end."""
    never_began = isinstance(error, APIStatusError) and error.status_code >= HTTPStatus.BAD_REQUEST
    return Usage() if never_began and is_refusal(error) else None


def _refusal(error: Exception, endpoint: Endpoint) -> str:
    status = _status(error) or HTTPStatus.BAD_REQUEST
    too_large = isinstance(error, APIError) and not _TOO_LARGE.isdisjoint({str(error.code), str(error.type)})
    reason = _reason(error, endpoint)
    no_model = status == HTTPStatus.BAD_REQUEST and _NO_MODEL.search(reason)  # a llama.cpp server of several models
    kind = 413 if too_large else 404 if no_model else status
    told = _REFUSALS.get(kind, "{host} refused the request ({status}): {reason}")
    if status == HTTPStatus.UNAUTHORIZED and not endpoint.api_key:
        told = _NO_KEY
    return told.format(host=endpoint.host, model=endpoint.model, status=int(status), reason=reason)


def _trouble(error: Exception, endpoint: Endpoint) -> str:
    status = _status(error)
    if status is None:
        return _no_answer(error, endpoint)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return f"{endpoint.host} limits how often it may be asked (429); {_when(error)}."
    return f"{endpoint.host} has a fault of its own ({status}): {_reason(error, endpoint)}; {_when(error)}."


def _no_answer(error: Exception, endpoint: Endpoint) -> str:
    if isinstance(error, APITimeoutError | TimeoutError | httpx2.TimeoutException):
        waited = f"{endpoint.timeout_s:g} s"
        return f"{endpoint.host} was silent for more than {waited}; ask again, or raise PROMETHEUS_LLM_TIMEOUT."
    if isinstance(error, OpenAIError | httpx2.HTTPError):
        return f"{endpoint.host} cannot be reached; see that the server runs, and check PROMETHEUS_BASE_URL."
    return f"{endpoint.host} sent a reply that cannot be read; ask again, or check PROMETHEUS_BASE_URL."


def _reason(error: Exception, endpoint: Endpoint) -> str:
    """The server's own explanation on one line, without the key."""
    body = error.body if isinstance(error, APIError) else None
    told = body.get("message") or body.get("error") if isinstance(body, Mapping) else body
    text = " ".join(str(told or "it gave no reason").split())
    if endpoint.api_key:
        text = text.replace(endpoint.api_key, "***")
    return text if len(text) <= _QUOTED_CHARS else f"{text[:_QUOTED_CHARS]}…"


def _when(error: Exception) -> str:
    wait_s = _asked_wait_s(error.response.headers) if isinstance(error, APIStatusError) else None
    return "ask again in a moment" if wait_s is None else f"ask again in {wait_s:.0f} s"


def _asked_wait_s(headers: Mapping[str, Any]) -> float | None:
    try:
        return float(headers["retry-after"])
    except (KeyError, ValueError):
        return None


async def _no_long_waits(response: httpx2.Response) -> None:
    """Keeps the SDK from sleeping as long as the server asks for: a person would rather be told."""
    if (_asked_wait_s(response.headers) or 0) > _LONGEST_WAIT_S:
        response.headers["x-should-retry"] = "false"
