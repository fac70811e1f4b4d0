"""The SDK's client and its failures. Importing this module imports the SDK (seconds of CPU): only `provider` does."""

from __future__ import annotations

import asyncio
import re
import warnings
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final

import httpx2
from openai import APIError, APIStatusError, APITimeoutError, AsyncOpenAI, OpenAIError

from agent_host.errors import ProviderError, ProviderRefusedError, ProviderUnavailableError
from agent_host.providers.failing import asked_wait_s, hidden, quoted, refuses, silence, when
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
    """Returns a client that sends each request once.

    Key and address are given, and every OPENAI_ variable is kept from the SDK meanwhile, so that none meant for another
    program can redirect a conversation or show an organisation's name to a server that is not OpenAI's.
    """
    # The SDK copies chunks through pydantic, which would print a warning for each value of an unpromised type.
    warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
    with hidden("OPENAI_"):
        return AsyncOpenAI(
            api_key=endpoint.api_key or "none",  # the SDK insists; a server that needs no key ignores it
            base_url=endpoint.base_url,
            timeout=silence(endpoint.timeout_s),
            max_retries=0,  # all requests of a call come out of one allowance (`constrained.retrying`)
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


class PartRefusedError(ProviderRefusedError):
    """The server refuses one of `parts` of the request; the same request without the first of them may do."""

    def __init__(self, message: str, usage: Usage | None, parts: Sequence[Part]) -> None:
        super().__init__(message, usage)
        self.parts = parts


def failure(error: Exception, endpoint: Endpoint, usage: Usage | None = None, requests: int = 1) -> ProviderError:
    """Returns what a person should read when a call ended in `error`: what happened and what to do next."""
    if not is_refusal(error):
        return ProviderUnavailableError(_trouble(error, endpoint), usage, wait_s=_wait_s(error), requests=requests)
    message = _refusal(error, endpoint)
    usage = usage or _unbilled(error)
    reason = _reason(error, endpoint).lower()
    parts = [part for part, words in _PART_WORDS.items() if any(word in reason for word in words)]
    return PartRefusedError(message, usage, parts) if parts else ProviderRefusedError(message, usage)


def is_refusal(error: Exception) -> bool:
    """Tells whether the server said no: a 4xx that asking again will not change."""
    return refuses(_status(error))


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
        return f"{endpoint.host} limits how often it may be asked (429); {when(_wait_s(error))}."
    return f"{endpoint.host} has a fault of its own ({status}): {_reason(error, endpoint)}; {when(_wait_s(error))}."


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
    return quoted(told, endpoint.api_key)


def _wait_s(error: Exception) -> float | None:
    return asked_wait_s(error.response.headers) if isinstance(error, APIStatusError) else None
