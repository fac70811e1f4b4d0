"""The end of a login: its tokens are handed back where the server takes them back (RFC 7009), and forgotten."""

from __future__ import annotations

from typing import Final

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata
from pydantic import ValidationError

from agent_host.mcp_clients.oauth.client import InMemory, client_metadata, may_be_asked
from agent_host.mcp_clients.oauth.folder import LoginFolder
from agent_host.mcp_clients.oauth.record import Login

_TIMEOUT_S: Final = 10.0
_UNUSED_REDIRECT: Final = "http://127.0.0.1/callback"


async def log_out(folder: LoginFolder, url: str) -> bool:
    """Forgets the login to an address; returns whether its server took the tokens back, too.

    Raises:
        OSError: the disk refused.
    """
    async with folder.lock(url):
        login = folder.read(url)
        folder.forget(url)
    return login is not None and await revoke(login)


async def revoke(login: Login) -> bool:
    """Hands tokens back; returns whether that was taken. A server that takes none leaves them to run out."""
    if login.tokens is None or login.client is None or login.server is None:
        return False
    try:
        client = OAuthClientInformationFull.model_validate(login.client)
        endpoint = OAuthMetadata.model_validate(login.server).revocation_endpoint
    except ValidationError:
        return False
    if endpoint is None or not may_be_asked(str(endpoint), login.url):
        return False
    kind = "refresh_token" if "refresh_token" in login.tokens else "access_token"
    told = {"token": str(login.tokens[kind]), "token_type_hint": kind, "client_id": client.client_id}
    context = OAuthContext(login.url, client_metadata(_UNUSED_REDIRECT), InMemory(), None, None, client_info=client)
    try:
        data, headers = context.prepare_token_auth(told, {})
        async with httpx2.AsyncClient(transport=httpx2.AsyncHTTPTransport(), timeout=_TIMEOUT_S) as http:
            answer = await http.post(str(endpoint), data=data, headers=headers)
    except (OAuthFlowError, httpx2.HTTPError):
        return False
    return answer.is_success
