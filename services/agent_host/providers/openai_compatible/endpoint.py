"""Where and as whom the provider calls; checked once, before the first call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from agent_host.endpoint_rules import is_token, is_web_address
from agent_host.errors import ConfigurationError

DEFAULT_BASE_URL: Final = "https://api.openai.com/v1"
_OPENAI_HOSTS: Final = (".openai.com", ".openai.azure.com")


@dataclass(frozen=True)
class Endpoint:
    """`timeout_s` bounds the server's silences as it does for Anthropic's; `api_key` is empty for a server without."""

    model: str
    base_url: str
    timeout_s: float
    api_key: str = field(repr=False)

    @property
    def host(self) -> str:
        """The host and port, without any credentials the address may hold."""
        return shown_host(self.base_url)

    @property
    def is_openai(self) -> bool:
        """Whether OpenAI itself answers there, rather than somebody who speaks as it does."""
        return takes_openai_key(self.base_url)


def shown_host(base_url: str | None) -> str:
    """Returns the host and port of an address, without any credentials it may hold."""
    return urlsplit(base_url or DEFAULT_BASE_URL).netloc.rpartition("@")[2]


def takes_openai_key(base_url: str | None) -> bool:
    """Tells whether an address is OpenAI's own, which alone may be shown a key that is meant for OpenAI."""
    try:
        name = urlsplit(base_url or DEFAULT_BASE_URL).hostname or ""
    except ValueError:
        return False
    return f".{name}".endswith(_OPENAI_HOSTS)


def checked_endpoint(model: str, api_key: str, base_url: str | None, timeout_s: float) -> Endpoint:
    """Returns a usable endpoint. An address that is a host alone gets the `/v1` which every such server has.

    Raises:
        ConfigurationError: no model, or a key or an address that cannot be used; the key is never quoted.
    """
    key, name = api_key.strip(), model.strip()
    if not name:
        raise ConfigurationError(
            "PROMETHEUS_PROVIDER=openai-compatible needs a model; set PROMETHEUS_MODEL to a name the server knows."
        )
    if key and not is_token(key):
        raise ConfigurationError("PROMETHEUS_API_KEY holds characters that no key has; copy the key again.")
    address = (base_url or DEFAULT_BASE_URL).strip().rstrip("/")
    if not is_web_address(address):
        raise ConfigurationError("PROMETHEUS_BASE_URL is not a web address; it looks like http://localhost:11434/v1.")
    if not key and takes_openai_key(address):
        raise ConfigurationError(
            "OpenAI needs a key: set PROMETHEUS_API_KEY (or OPENAI_API_KEY). For a server of your own, "
            "set PROMETHEUS_BASE_URL, such as http://localhost:11434/v1."
        )
    if not urlsplit(address).path:
        address += "/v1"
    return Endpoint(name, address, timeout_s, key)
