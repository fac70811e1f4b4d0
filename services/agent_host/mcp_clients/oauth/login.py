"""A person's login to a server: the SDK's whole flow, with their browser in the middle (RFC 9728, 8414, 7591, 7636).

It begins with nothing, whatever is kept, so that another account can be chosen; what is kept is replaced at the end.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeAlias
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.client.auth.utils import extract_resource_metadata_from_www_auth
from mcp.shared._httpx_utils import stream_within_origin
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from pydantic import AnyUrl

from agent_host.errors import LoginError
from agent_host.mcp_clients.oauth.client import InMemory, client_metadata, may_be_asked
from agent_host.mcp_clients.oauth.folder import LoginFolder
from agent_host.mcp_clients.oauth.logout import revoke
from agent_host.mcp_clients.oauth.record import Login, joined_scopes
from agent_host.mcp_clients.oauth.redirect import RedirectListener
from agent_host.mcp_clients.oauth.stored import expiry_ms
from agent_host.mcp_clients.remote import one_line
from agent_host.mcp_clients.server_config import OAuthSettings, ServerConfig

Show: TypeAlias = Callable[[str], Awaitable[None]]
"""Takes the address at which a person logs in."""

_TIMEOUT_S: Final = 30.0
_PING: Final = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
_HEADERS: Final = {
    "Accept": "application/json, text/event-stream",
    MCP_PROTOCOL_VERSION_HEADER: "2025-11-25",  # RFC 8707's `resource` goes along from 2025-06-18 on
}


async def log_in(config: ServerConfig, folder: LoginFolder, show: Show, *, timeout_s: float) -> Login | None:
    """Logs a person in and keeps that; `show` gets the address to open, and `timeout_s` is their time for it.

    Returns None when the server asks for no login.

    Raises:
        LoginError: nobody logged in, or no login can be had there; the message says which.
        OSError: the disk refused.
    """
    url, told = config.url or "", config.oauth or OAuthSettings()
    before = folder.read(url)
    async with RedirectListener(config.name, told.redirect_port) as listener:
        person = _Person(config.name, url, listener, show, timeout_s)
        flow = _Flow(told, person, _scope(told, before))
        status = await _knock(config, flow)
    if flow.context.current_tokens is None:
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise LoginError(f"{config.name} lets nobody in (HTTP {status}) and offers no login.")
        if folder.wants_login(url):
            folder.forget(url)  # it asked for one once
        return None
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        raise LoginError(f"{config.name} gave a login and then refused it (HTTP {status}); ask whoever runs it.")
    login = flow.login()
    async with folder.lock(url):  # a refresh of the login before would overwrite this one
        before = folder.read(url)
        folder.write(login)
    if before is not None:
        await revoke(before)
    return login


@dataclass
class _Person:
    """Who logs in, in the middle of the flow."""

    name: str
    server: str
    listener: RedirectListener
    show: Show
    timeout_s: float

    async def send(self, address: str) -> None:
        if not may_be_asked(address, self.server):
            raise LoginError(f"The login page of {self.name} is not HTTPS; nothing was opened.")
        self.listener.expect(parse_qs(urlsplit(address).query)["state"][0])
        await self.show(address)

    async def wait(self) -> AuthorizationCodeResult:
        try:
            told = await self.listener.answer(self.timeout_s)
        except TimeoutError:
            raise LoginError(
                f"Nobody logged in to {self.name} within {self.timeout_s:g} s; run the command again."
            ) from None
        if "error" in told:
            why = one_line(told.get("error_description") or told["error"])[:200]
            raise LoginError(f"The login to {self.name} was refused there: {why}.")
        return AuthorizationCodeResult(code=told["code"], state=told["state"], iss=told.get("iss"))


class _Flow(OAuthClientProvider):
    """The SDK's flow, asked for the scopes that a person or an earlier call wants, and kept to HTTPS."""

    def __init__(self, told: OAuthSettings, person: _Person, scope: str | None) -> None:
        redirect = person.listener.address
        super().__init__(
            person.server,
            client_metadata(redirect),
            InMemory(_registered(told, redirect)),
            redirect_handler=person.send,
            callback_handler=person.wait,
        )
        self._url = person.server
        self._scope = scope

    def login(self) -> Login:
        """Returns what is to be kept once the flow has ended well."""
        context, tokens = self.context, self.context.current_tokens
        if tokens is None:
            raise TypeError("nobody is logged in")
        parts = (context.client_info, context.oauth_metadata, context.protected_resource_metadata)
        client, server, resource = (
            None if part is None else part.model_dump(mode="json", exclude_none=True) for part in parts
        )
        kept = tokens.model_dump(mode="json", exclude_none=True)
        return Login(self._url, kept, expiry_ms(tokens), int(time.time() * 1000), client, server, resource)

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        flow = super()._auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                if outgoing is not request and not may_be_asked(str(outgoing.url), self._url):
                    host = urlsplit(str(outgoing.url)).netloc
                    raise LoginError(f"The login server at {host} is not reached over HTTPS; nothing was sent to it.")
                response = yield outgoing
                if outgoing is request and response.status_code == HTTPStatus.UNAUTHORIZED and self._scope:
                    response = _asking_for(self._scope, response)
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    async def _perform_authorization(self) -> httpx2.Request:
        """MCP's authorization: a server whose metadata names no S256 is not gone on with."""
        metadata = self.context.oauth_metadata
        if metadata is not None and "S256" not in (metadata.code_challenge_methods_supported or ()):
            raise OAuthFlowError("its login server does not offer PKCE with S256, without which no login is safe")
        return await super()._perform_authorization()


def _scope(told: OAuthSettings, before: Login | None) -> str | None:
    """Returns what to ask for in place of what the server names: a person's word, and what a call lacked before."""
    wider = None if before is None else before.wider_scope
    had = before.scope if before is not None and wider else None
    return joined_scopes(told.scope or had, wider)


def _registered(told: OAuthSettings, redirect: str) -> OAuthClientInformationFull | None:
    if told.client_id is None:
        return None
    return OAuthClientInformationFull(
        redirect_uris=[AnyUrl(redirect)],
        client_id=told.client_id,
        client_secret=told.client_secret,
        token_endpoint_auth_method="client_secret_basic" if told.client_secret else "none",
    )


def _asking_for(scope: str, response: httpx2.Response) -> httpx2.Response:
    """Returns the refusal as if it had named the scope, which is where the SDK takes it from first."""
    metadata = extract_resource_metadata_from_www_auth(response)
    where = f'resource_metadata="{metadata}", ' if metadata else ""
    headers = {"www-authenticate": f'Bearer {where}scope="{scope}"'}
    return httpx2.Response(response.status_code, headers=headers, request=response.request)


async def _knock(config: ServerConfig, flow: _Flow) -> int:
    """Sends a ping, which the flow takes as its occasion; returns the status it ends with.

    Raises:
        LoginError: no login came about.
    """
    headers = {**config.headers, **_HEADERS}
    try:
        with _sdk_silent():
            async with (
                httpx2.AsyncClient(transport=httpx2.AsyncHTTPTransport(), timeout=_TIMEOUT_S, auth=flow) as client,
                stream_within_origin(client, "POST", config.url or "", json=_PING, headers=headers) as response,
            ):
                return response.status_code
    except OAuthFlowError as error:
        raise LoginError(f"{config.name} could not be logged in to: {_why(error, flow)}.") from error
    except httpx2.HTTPError as error:
        raise LoginError(f"{config.name} could not be logged in to: nothing answers at {_asked(error)}.") from error
    except ValueError as error:
        raise LoginError(f"{config.name} could not be logged in to: its login server answers nonsense.") from error


def _why(error: OAuthFlowError, flow: _Flow) -> str:
    """Returns the rest of a sentence without what a server sent, which may hold a token."""
    match error:
        case OAuthRegistrationError() if flow.context.oauth_metadata is None:
            return "it wants a token and names no login server; give its token by `token_env` in mcp.json"
        case OAuthRegistrationError():
            return "its login server registers no program by itself; give `client_id` in `oauth` of mcp.json"
        case OAuthTokenError():
            return "its login server gave no token for the login"
        case _:
            return one_line(str(error))[:200]


def _asked(error: httpx2.HTTPError) -> str:
    try:
        return urlsplit(str(error.request.url)).netloc
    except RuntimeError:
        return "its address"


@contextmanager
def _sdk_silent() -> Iterator[None]:
    """Keeps the SDK's own log of the flow to itself while entered: it may quote what a login server sent."""
    logger = logging.getLogger("mcp.client.auth.oauth2")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before
