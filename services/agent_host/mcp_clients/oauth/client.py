"""What both users of the SDK's OAuth client have in common: how we register, which addresses may be asked."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

CLIENT_NAME: Final = "prometheus-agent"


class InMemory:
    """The SDK's `TokenStorage` for one flow; what is to be kept is taken out of its context at the end."""

    def __init__(self, client: OAuthClientInformationFull | None = None) -> None:
        self._client = client
        self._tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """Returns the tokens of this flow."""
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Takes them in."""
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Returns the client of this flow."""
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Takes it in."""
        self._client = client_info


def client_metadata(redirect: str) -> OAuthClientMetadata:
    """Returns how this product registers where a server lets it (RFC 7591)."""
    return OAuthClientMetadata(redirect_uris=[AnyUrl(redirect)], client_name=CLIENT_NAME)


def may_be_asked(url: str, server: str) -> bool:
    """Tells whether an address may see what belongs to a login: HTTPS, or all of it on this computer.

    MCP asks for HTTPS at every endpoint; a server elsewhere must not make this host call at its own loopback.
    """
    scheme = urlsplit(url).scheme
    return scheme == "https" or (scheme == "http" and _is_here(url) and _is_here(server))


def _is_here(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
