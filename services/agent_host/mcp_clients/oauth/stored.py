"""A kept login at work: sends the token, refreshes it silently, and never asks anybody anything.

It stands below the transport that turns failures into errors of ours, so that calls at the login's own server are not
taken for MCP. Unlike the SDK's own flow it holds no lock while a request waits for its answer: calls run side by side,
and a cancellation gets through.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator
from dataclasses import replace
from http import HTTPStatus
from typing import Final

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.utils import extract_field_from_www_auth, extract_scope_from_www_auth
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken, ProtectedResourceMetadata
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from pydantic import ValidationError

from agent_host.mcp_clients.oauth.client import InMemory, client_metadata, may_be_asked
from agent_host.mcp_clients.oauth.folder import LoginFolder
from agent_host.mcp_clients.oauth.record import Login, joined_scopes

_EARLY_S: Final = 30.0  # a token is refreshed so long before it ends, as a call takes its time
_TIMES: Final = {"connect": 10.0, "read": 30.0, "write": 30.0, "pool": 30.0}
_PASSING: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})
_UNUSED_REDIRECT: Final = "http://127.0.0.1/callback"


logger = logging.getLogger(__name__)


class LoginServerError(httpx2.TransportError):
    """A token could not be refreshed for now; the message is the rest of a sentence."""


class StoredLogin(OAuthClientProvider):
    """The SDK's client over the login kept for one address."""

    def __init__(self, url: str, folder: LoginFolder) -> None:
        super().__init__(url, client_metadata(_UNUSED_REDIRECT), InMemory())
        self._url = url
        self._folder = folder
        self._login: Login | None = None

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        self.context.protocol_version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER)
        refused: str | None = None
        while True:
            self._take_in()
            if self._may_refresh(refused):
                async with self._folder.lock(self._url):
                    self._take_in()  # somebody else may have done it meanwhile
                    if self._may_refresh(refused):
                        answer = yield await self._refreshing()
                        await self._take_refreshed(answer)
            token = self._token()
            if refused is not None and token in {None, refused}:
                break  # nothing better to show than what was refused
            if token is not None:
                self._add_auth_header(request)
            response = yield request
            if response.status_code != HTTPStatus.UNAUTHORIZED or token is None or refused is not None:
                break
            refused = token
        await self._take_note(response)

    def _take_in(self) -> None:
        """Puts what is kept into the SDK's context, times and endpoints too, which the SDK itself forgets."""
        login = self._folder.read(self._url)
        if login == self._login:
            return
        self._login, context = login, self.context
        context.clear_tokens()
        if login is None or login.tokens is None:
            return
        try:
            context.current_tokens = OAuthToken.model_validate(login.tokens)
            context.client_info = OAuthClientInformationFull.model_validate(login.client) if login.client else None
            context.oauth_metadata = OAuthMetadata.model_validate(login.server) if login.server else None
            resource = login.resource
            context.protected_resource_metadata = (
                ProtectedResourceMetadata.model_validate(resource) if resource else None
            )
        except ValidationError:  # edited into nonsense: a login that is none
            context.clear_tokens()
            return
        if login.expires_at_ms is not None:
            context.token_expiry_time = login.expires_at_ms / 1000 - _EARLY_S

    def _token(self) -> str | None:
        return self.context.current_tokens.access_token if self.context.current_tokens else None

    def _may_refresh(self, refused: str | None) -> bool:
        is_over = not self.context.is_token_valid() or self._token() == refused
        return is_over and self.context.can_refresh_token()

    async def _refreshing(self) -> httpx2.Request:
        request = await self._refresh_token()
        if not may_be_asked(str(request.url), self._url):
            raise LoginServerError("the address of its login server is not HTTPS")
        request.extensions.setdefault("timeout", _TIMES)
        return request

    async def _take_refreshed(self, answer: httpx2.Response) -> None:
        """Keeps a new token; a refusal ends the login, trouble over there does not (RFC 6749, 5.2)."""
        login, status = self._login, answer.status_code
        if login is None or login.tokens is None:
            return
        if answer.is_client_error and status not in _PASSING:
            self._keep(login.ended())
            return
        if status != HTTPStatus.OK:
            raise LoginServerError(f"its login server answers with HTTP {status}")
        try:
            fresh = OAuthToken.model_validate_json(await answer.aread())
        except ValidationError as error:
            raise LoginServerError("its login server gives no token that can be read") from error
        tokens = {**login.tokens, **fresh.model_dump(mode="json", exclude_none=True)}
        self._keep(replace(login, tokens=tokens, expires_at_ms=expiry_ms(fresh)))

    async def _take_note(self, response: httpx2.Response) -> None:
        """Notes what a person has to do: log in, or log in for more; unless somebody logged in meanwhile."""
        noted = self._noted(response)
        if noted == self._login or noted is None:
            return
        try:
            async with self._folder.lock(self._url):
                if self._folder.read(self._url) == self._login:
                    self._keep(noted)
        except OSError as error:
            logger.warning("a login cannot be noted (%s); the person is told all the same", error.strerror)

    def _noted(self, response: httpx2.Response) -> Login | None:
        login = self._login
        if response.status_code == HTTPStatus.UNAUTHORIZED:
            return Login(self._url) if login is None else login.ended()
        lacks_scope = extract_field_from_www_auth(response, "error") == "insufficient_scope"
        if response.status_code == HTTPStatus.FORBIDDEN and lacks_scope and login is not None:
            return replace(login, wider_scope=joined_scopes(login.wider_scope, extract_scope_from_www_auth(response)))
        return login

    def _keep(self, login: Login) -> None:
        self._folder.write(login)
        self._take_in()


class LoggedInTransport(httpx2.AsyncBaseTransport):
    """Sends each request with the login of its address, and whatever the login needs beside it."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, login: httpx2.Auth) -> None:
        self._inner = inner
        self._login = login

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Returns the answer to `request`; its last one, when it had to be sent twice.

        Raises:
            LoginServerError: the request was not sent, as its token could not be refreshed.
            httpx2.TransportError: the connection to the server failed.
        """
        flow = self._login.async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                response = await self._sent(outgoing, own=outgoing is not request)
                try:
                    following = await flow.asend(response)
                except StopAsyncIteration:
                    return response
                await response.aclose()
                outgoing = following
        except OSError as error:  # of the folder of logins: the network's own are TransportErrors here
            raise LoginServerError(f"its login cannot be kept ({error.strerror})") from error
        finally:
            await flow.aclose()

    async def aclose(self) -> None:
        """Closes the transport below."""
        await self._inner.aclose()

    async def _sent(self, request: httpx2.Request, *, own: bool) -> httpx2.Response:
        try:
            response = await self._inner.handle_async_request(request)
            response.request = request
            if own:
                await response.aread()
        except httpx2.TransportError as error:
            if own:
                raise LoginServerError("its login server does not answer") from error
            raise
        return response


def expiry_ms(tokens: OAuthToken) -> int | None:
    """Returns when tokens that were issued just now end, None when that was not said."""
    return None if tokens.expires_in is None else int((time.time() + tokens.expires_in) * 1000)
