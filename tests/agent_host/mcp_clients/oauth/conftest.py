"""A server behind OAuth, a home's folder of logins, and a person who logs in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from agent_host.mcp_clients.manager import McpToolBox, ToolRules
from agent_host.mcp_clients.oauth.folder import LoginFolder
from agent_host.mcp_clients.oauth.login import log_in
from agent_host.mcp_clients.oauth.record import Login
from agent_host.mcp_clients.server_config import OAuthSettings, ServerConfig
from tests.fakes.oauth_server import Browser, OAuthServer

LogIn: TypeAlias = Callable[[], Coroutine[None, None, Login]]
Open: TypeAlias = Callable[[], McpToolBox]


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[OAuthServer]:
    """A running server; a test may ask for one of the older era with an indirect parameter."""
    running = OAuthServer(legacy=getattr(request, "param", False)).start()
    yield running
    running.stop()


@pytest.fixture
def folder(tmp_path: Path) -> LoginFolder:
    return LoginFolder(tmp_path / "logins")


@pytest.fixture
def shop(server: OAuthServer) -> ServerConfig:
    return ServerConfig("shop", url=server.url, oauth=OAuthSettings())


@pytest.fixture
def browser() -> Browser:
    return Browser()


@pytest.fixture
def logged_in(shop: ServerConfig, folder: LoginFolder, browser: Browser) -> LogIn:
    async def once() -> Login:
        login = await log_in(shop, folder, browser, timeout_s=20)
        assert login is not None
        return login

    return once


@pytest.fixture
async def opened(shop: ServerConfig, folder: LoginFolder) -> AsyncIterator[Open]:
    boxes: list[McpToolBox] = []

    def one_more() -> McpToolBox:
        boxes.append(McpToolBox([shop], "0.1.0", rules=ToolRules(logins=folder), call_timeout_s=20.0))
        return boxes[-1]

    yield one_more
    for box in boxes:
        await box.close()
