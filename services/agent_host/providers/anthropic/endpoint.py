"""Where and as whom the provider calls; checked once, before the first call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from agent_host.endpoint_rules import is_token, is_web_address
from agent_host.errors import ConfigurationError

DEFAULT_BASE_URL: Final = "https://api.anthropic.com"


@dataclass(frozen=True)
class Endpoint:
    """`timeout_s` is how long the API may send nothing at all in mid-stream, and how long a stream may take to begin.

    It bounds no whole call: the caller does. A stream may take one `timeout_s` to begin, be silent for another, and be
    replaced by a plain call of at most two, so a deadline below four times `timeout_s` may cut that plain call off.
    """

    model: str
    base_url: str
    timeout_s: float
    api_key: str = field(repr=False)

    @property
    def host(self) -> str:
        """The host and port, without any credentials the address may hold."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2]


def checked_endpoint(model: str, api_key: str, base_url: str | None, timeout_s: float) -> Endpoint:
    """Returns a usable endpoint. The SDK adds `/v1/messages` to the address, so a trailing `/v1` is taken off.

    Raises:
        ConfigurationError: no model, or a key or an address that cannot be used; the key is never quoted.
    """
    key = api_key.strip()
    if not key:
        raise ConfigurationError("The anthropic provider needs a key; set PROMETHEUS_API_KEY.")
    if not is_token(key):
        raise ConfigurationError("PROMETHEUS_API_KEY holds characters that no key has; copy the key again.")
    if not model.strip():
        raise ConfigurationError("PROMETHEUS_MODEL is empty; name a model, or leave it unset for the default.")
    address = (base_url or DEFAULT_BASE_URL).strip().rstrip("/").removesuffix("/v1")
    if not is_web_address(address):
        raise ConfigurationError("PROMETHEUS_BASE_URL is not a web address; it looks like https://api.anthropic.com.")
    return Endpoint(model.strip(), address, timeout_s, key)
