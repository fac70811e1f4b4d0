"""The SDK's client and its failures. Importing this module imports the SDK (2-3 s of CPU): only `provider` does."""

from __future__ import annotations

import asyncio
import warnings
from http import HTTPStatus
from typing import Final

import httpx2
from anthropic import AnthropicError, APIStatusError, APITimeoutError, AsyncAnthropic

from agent_host.errors import ProviderError, ProviderRefusedError, ProviderUnavailableError
from agent_host.providers.anthropic.endpoint import Endpoint
from agent_host.providers.failing import asked_wait_s, hidden, quoted, refuses, silence, when
from agent_host.providers.protocol import Usage

# What a call can end in: the SDK's errors, the transport's while a stream is read, and what a malformed event raises.
# The SDK reads events without checking them: an attribute that is missing, or an event too early (its RuntimeError).
BREAKS: Final = (
    AnthropicError,
    httpx2.HTTPError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RuntimeError,
    TimeoutError,
)

_OVERLOADED: Final = 529
_STATUS_OF_KIND: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": _OVERLOADED,
}
_SCHEMA_WORDS: Final = ("output_config", "output_format", "json_schema", "structured output")
_REFUSALS: Final = {
    401: "{host} does not accept the API key (401); check PROMETHEUS_API_KEY (or ANTHROPIC_API_KEY).",
    402: "The Anthropic account has no credit for this request (402); add credit, then ask again.",
    403: "This API key may not use {model} (403); choose another PROMETHEUS_MODEL or another key.",
    404: "{host} offers no model named {model} (404); check PROMETHEUS_MODEL and PROMETHEUS_BASE_URL.",
    413: "This conversation is too large for one request (413); start a new session, or ask for less at once.",
}


def open_client(endpoint: Endpoint) -> AsyncAnthropic:
    """Returns a client that sends each request once, and no trace context to the API.

    Key and address are given, and the headers of ANTHROPIC_CUSTOM_HEADERS are kept out, so that no profile or variable
    meant for another program can redirect a conversation, replace the key or add to a request.
    """
    # The SDK copies events through pydantic, which would print a warning for each value of an unpromised type.
    warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
    with hidden("ANTHROPIC_CUSTOM_HEADERS"):
        return AsyncAnthropic(
            api_key=endpoint.api_key,
            base_url=endpoint.base_url,
            timeout=silence(endpoint.timeout_s),
            max_retries=0,  # all requests of a call come out of one allowance (`constrained.retrying`)
            open_telemetry={"propagation": False, "traces": False},  # the turn has a span for each call
        )


async def has_model(endpoint: Endpoint) -> bool:
    """Tells whether the API knows the model; asks it for no reply, which would cost.

    Raises:
        ProviderError: it cannot be reached, or refuses to tell.
    """
    client = open_client(endpoint)
    try:
        async with asyncio.timeout(endpoint.timeout_s):
            await client.models.retrieve(endpoint.model)
    except BREAKS as error:
        if _status(error) == HTTPStatus.NOT_FOUND:
            return False
        raise failure(error, endpoint) from error
    finally:
        await client.close()
    return True


class SchemaRefusedError(ProviderRefusedError):
    """The model, or what stands in for the API, takes no output schema; the same request without one may do."""


def failure(error: Exception, endpoint: Endpoint, usage: Usage | None = None, requests: int = 1) -> ProviderError:
    """Returns what a person should read when a call ended in `error`: what happened and what to do next."""
    if is_refusal(error):
        told = _reason(error, endpoint).lower()
        kind = SchemaRefusedError if any(word in told for word in _SCHEMA_WORDS) else ProviderRefusedError
        return kind(_refusal(error, endpoint), usage or _unbilled(error))
    return ProviderUnavailableError(_trouble(error, endpoint), usage, wait_s=_wait_s(error), requests=requests)


def is_refusal(error: Exception) -> bool:
    """Tells whether the API said no: a 4xx that asking again will not change."""
    return refuses(_status(error))


def _status(error: Exception) -> int | None:
    """The HTTP status, also of an error that was told inside a stream which had begun well (status 200)."""
    if not isinstance(error, APIStatusError):
        return None
    if error.status_code >= HTTPStatus.BAD_REQUEST:
        return error.status_code
    return _STATUS_OF_KIND.get(error.type or "", HTTPStatus.INTERNAL_SERVER_ERROR)


def _unbilled(error: Exception) -> Usage | None:
    """Returns what a request cost that was refused with a status of its own: nothing; None for any other end."""
    never_began = isinstance(error, APIStatusError) and error.status_code >= HTTPStatus.BAD_REQUEST
    return Usage() if never_began and is_refusal(error) else None


def _refusal(error: Exception, endpoint: Endpoint) -> str:
    status = _status(error) or HTTPStatus.BAD_REQUEST
    told = _REFUSALS.get(status, "Anthropic refused the request ({status}): {reason}")
    return told.format(host=endpoint.host, model=endpoint.model, status=status, reason=_reason(error, endpoint))


def _trouble(error: Exception, endpoint: Endpoint) -> str:
    status = _status(error)
    if status is None:
        return _no_answer(error, endpoint)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return f"Anthropic limits how often this account may ask (429); {when(_wait_s(error))}."
    trouble = "is overloaded" if status == _OVERLOADED else "has a fault of its own"
    return f"Anthropic {trouble} ({status}); {when(_wait_s(error))}."


def _no_answer(error: Exception, endpoint: Endpoint) -> str:
    if isinstance(error, APITimeoutError | TimeoutError | httpx2.TimeoutException):
        waited = f"{endpoint.timeout_s:g} s"
        return f"{endpoint.host} was silent for more than {waited}; ask again, or raise PROMETHEUS_LLM_TIMEOUT."
    if isinstance(error, AnthropicError | httpx2.HTTPError):
        return f"{endpoint.host} cannot be reached; check the network and PROMETHEUS_BASE_URL."
    return f"{endpoint.host} sent a reply that cannot be read; ask again."


def _reason(error: Exception, endpoint: Endpoint) -> str:
    """The API's own explanation on one line, without the key."""
    told = error.api_message if isinstance(error, APIStatusError) else None
    return quoted(told, endpoint.api_key)


def _wait_s(error: Exception) -> float | None:
    return asked_wait_s(error.response.headers) if isinstance(error, APIStatusError) else None
