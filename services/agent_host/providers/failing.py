"""What the vendors' SDKs have in common when a call fails, and how they are kept from acting by themselves.

Importing this module imports their transport: only the `sdk` modules do.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

from httpx2 import Timeout

_CONNECT_S: Final = 10.0
_QUOTED_CHARS: Final = 300
_TRANSIENT: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS})


@contextmanager
def hidden(prefix: str) -> Iterator[None]:
    """Keeps variables from an SDK, which has no option to leave them unread, while a client is made."""
    values = {name: os.environ.pop(name) for name in tuple(os.environ) if name.startswith(prefix)}
    try:
        yield
    finally:
        os.environ.update(values)


def silence(timeout_s: float) -> Timeout:
    """Returns how long a connection may be silent: pings and comments between two events count as life."""
    return Timeout(timeout_s, connect=min(_CONNECT_S, timeout_s))


def refuses(status: int | None) -> bool:
    """Tells whether a status says no: a 4xx that asking again will not change."""
    return status is not None and status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _TRANSIENT


def asked_wait_s(headers: Mapping[str, str]) -> float | None:
    """Returns how long a server wants to be left alone (RFC 9110, 10.2.3); infinite when it wants no other request.

    None when it did not say, or said what is no time. `retry-after-ms` and `x-should-retry` are the vendors' own.
    """
    if headers.get("x-should-retry") == "false":
        return math.inf
    told = _number(headers.get("retry-after-ms", ""))
    wait_s = _number(headers.get("retry-after", "")) if told is None else told / 1000
    if wait_s is not None:
        return wait_s
    try:
        return max(0.0, parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - time.time())
    except ValueError:
        return None


def when(wait_s: float | None) -> str:
    """Returns when to ask again, as the end of a sentence."""
    told = wait_s is not None and math.isfinite(wait_s) and wait_s >= 1
    return f"ask again in {wait_s:.0f} s" if told else "ask again in a moment"


def quoted(told: object, api_key: str) -> str:
    """Returns a server's own explanation on one line, cut, and without the key."""
    text = " ".join(str(told or "it gave no reason").split())
    if api_key:
        text = text.replace(api_key, "***")
    return text if len(text) <= _QUOTED_CHARS else f"{text[:_QUOTED_CHARS]}…"


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
