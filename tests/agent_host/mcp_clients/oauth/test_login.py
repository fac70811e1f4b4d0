"""Logins that end in another way, or replace one another, against a real authorization server."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from mcp.shared.auth import OAuthClientInformationFull
from pydantic import AnyUrl

from agent_host.errors import LoginError
from agent_host.mcp_clients.oauth.folder import LoginFolder
from agent_host.mcp_clients.oauth.login import log_in
from agent_host.mcp_clients.oauth.logout import log_out
from agent_host.mcp_clients.oauth.record import Login
from agent_host.mcp_clients.oauth.redirect import RedirectListener
from agent_host.mcp_clients.server_config import OAuthSettings, ServerConfig
from tests.agent_host.mcp_clients.oauth.conftest import LogIn
from tests.agent_host.mcp_clients.servers.lab import LabOverHttp
from tests.fakes.oauth_server import Browser, OAuthServer, nobody

pytestmark = pytest.mark.slow


async def test_what_is_kept_is_readable_by_its_owner_only_and_has_no_repr(
    logged_in: LogIn, server: OAuthServer, tmp_path: Path
) -> None:
    login = await logged_in()
    (file,) = (tmp_path / "logins").glob("*.json")
    assert file.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "logins").stat().st_mode & 0o777 == 0o700
    token = server.keys.issued[0].access_token
    assert token in file.read_text()
    assert token not in repr(login)


async def test_a_person_who_says_no_is_told_so_and_nothing_is_kept(
    shop: ServerConfig, folder: LoginFolder, server: OAuthServer, browser: Browser
) -> None:
    server.keys.denies = True
    with pytest.raises(LoginError, match=r"The login to shop was refused there: you said no\."):
        await log_in(shop, folder, browser, timeout_s=20)
    assert "was refused" in browser.pages[-1].text
    assert folder.read(server.url) is None


async def test_nobody_in_time_ends_the_wait_and_keeps_what_was_there(
    logged_in: LogIn, shop: ServerConfig, folder: LoginFolder
) -> None:
    before = await logged_in()
    with pytest.raises(LoginError, match=r"Nobody logged in to shop within 0\.05 s; run the command again\."):
        await log_in(shop, folder, nobody, timeout_s=0.05)
    assert folder.read(before.url) == before


async def test_a_new_login_replaces_the_one_before_and_hands_its_tokens_back(
    logged_in: LogIn, server: OAuthServer, folder: LoginFolder
) -> None:
    await logged_in()
    second = await logged_in()
    assert folder.read(server.url) == second
    assert await server.keys.load_access_token(server.keys.issued[0].access_token) is None
    assert await server.keys.load_access_token(server.keys.issued[1].access_token) is not None


async def test_logging_out_hands_the_tokens_back_and_forgets_them(
    logged_in: LogIn, server: OAuthServer, folder: LoginFolder
) -> None:
    await logged_in()
    assert await log_out(folder, server.url)
    assert folder.read(server.url) is None
    assert not server.keys.refresh_tokens
    assert not await log_out(folder, server.url)


@pytest.mark.parametrize("secret", ["hush", None])
async def test_a_client_that_the_person_registered_is_used_and_none_is_made(
    shop: ServerConfig, folder: LoginFolder, server: OAuthServer, browser: Browser, secret: str | None
) -> None:
    async with RedirectListener("shop") as listener:
        way_back = listener.address  # a port that is free
    server.keys.clients["me"] = OAuthClientInformationFull(
        client_id="me",
        client_secret=secret,
        redirect_uris=[AnyUrl(way_back)],
        token_endpoint_auth_method="client_secret_basic" if secret else "none",
        scope="read write",
    )
    own = OAuthSettings(
        client_id="me", client_secret=secret, scope="read write", redirect_port=int(urlsplit(way_back).port or 0)
    )
    login = await log_in(replace(shop, oauth=own), folder, browser, timeout_s=20)
    assert login is not None
    assert (login.scope, (login.client or {})["client_id"], server.asked["/register"]) == ("read write", "me", 0)
    if secret is None:
        return
    with pytest.raises(LoginError, match=r"shop could not be logged in to: its login server gave no token"):
        await log_in(replace(shop, oauth=replace(own, client_secret="wrong")), folder, browser, timeout_s=20)
    assert folder.read(server.url) == login


async def test_a_server_that_registers_nobody_names_the_setting(folder: LoginFolder) -> None:
    server = OAuthServer(registers=False).start()
    shop = ServerConfig("shop", url=server.url, oauth=OAuthSettings())
    with pytest.raises(LoginError, match=r"registers no program by itself; give `client_id` in `oauth` of mcp\.json"):
        await log_in(shop, folder, nobody, timeout_s=20)
    server.stop()


async def test_a_server_that_takes_a_token_and_knows_no_login_is_told_from_one_that_does(folder: LoginFolder) -> None:
    lab = LabOverHttp(token="right").start()
    with pytest.raises(LoginError, match=r"it wants a token and names no login server; give its token by `token_env`"):
        await log_in(ServerConfig("lab", url=lab.url, oauth=OAuthSettings()), folder, nobody, timeout_s=20)
    lab.stop()


async def test_a_server_that_lets_everybody_in_needs_no_login(folder: LoginFolder) -> None:
    lab = LabOverHttp().start()
    folder.write(Login(lab.url))  # it wanted one once
    assert await log_in(ServerConfig("lab", url=lab.url, oauth=OAuthSettings()), folder, nobody, timeout_s=20) is None
    lab.stop()
    assert not folder.wants_login(lab.url)


async def test_a_login_server_without_pkce_is_not_gone_on_with(folder: LoginFolder, browser: Browser) -> None:
    server = OAuthServer(offers_pkce=False).start()
    with pytest.raises(LoginError, match=r"its login server does not offer PKCE with S256"):
        await log_in(ServerConfig("shop", url=server.url, oauth=OAuthSettings()), folder, browser, timeout_s=20)
    server.stop()
    assert browser.address == ""


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        (
            "registration_endpoint",
            r"The login server at login\.example\.org is not reached over HTTPS; nothing was sent",
        ),
        ("authorization_endpoint", r"The login page of shop is not HTTPS; nothing was opened\."),
        ("token_endpoint", r"The login server at login\.example\.org is not reached over HTTPS; nothing was sent"),
    ],
)
async def test_a_login_server_that_is_not_reached_over_https_gets_nothing(
    folder: LoginFolder, browser: Browser, endpoint: str, words: str
) -> None:
    server = OAuthServer(endpoints={endpoint: "http://login.example.org/here"}).start()
    with pytest.raises(LoginError, match=words):
        await log_in(ServerConfig("shop", url=server.url, oauth=OAuthSettings()), folder, browser, timeout_s=20)
    server.stop()
    assert bool(browser.pages) == (endpoint == "token_endpoint")
    assert folder.read(server.url) is None


async def test_what_a_login_server_answers_is_in_no_log(
    shop: ServerConfig, folder: LoginFolder, server: OAuthServer, browser: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    server.token_status = 400
    with (
        caplog.at_level(logging.DEBUG),
        pytest.raises(LoginError, match=r"its login server gave no token for the login"),
    ):
        await log_in(shop, folder, browser, timeout_s=20)
    assert [record for record in caplog.records if record.name.startswith("mcp.client.auth")] == []


async def test_a_port_that_is_taken_is_named(shop: ServerConfig, folder: LoginFolder, server: OAuthServer) -> None:
    port = int(urlsplit(server.base).port or 0)
    with pytest.raises(
        LoginError, match=rf"Port {port} of this computer cannot be listened at \(address al[a-z ]+\); free it,"
    ):
        await log_in(replace(shop, oauth=OAuthSettings(redirect_port=port)), folder, nobody, timeout_s=20)


async def test_a_screen_that_is_gone_is_not_taken_for_a_port(shop: ServerConfig, folder: LoginFolder) -> None:
    async def gone(_: str) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        await log_in(shop, folder, gone, timeout_s=20)


async def test_nobody_at_the_address_is_said(folder: LoginFolder) -> None:
    server = OAuthServer().start()
    server.stop()
    shop = ServerConfig("shop", url=server.url, oauth=OAuthSettings())
    with pytest.raises(LoginError, match=r"nothing answers at 127\.0\.0\.1"):
        await log_in(shop, folder, nobody, timeout_s=20)


async def test_a_login_can_be_given_up(shop: ServerConfig, folder: LoginFolder) -> None:
    shown = asyncio.Event()

    async def shows(_: str) -> None:
        shown.set()

    waiting = asyncio.create_task(log_in(shop, folder, shows, timeout_s=60))
    await shown.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert folder.read(shop.url or "") is None
