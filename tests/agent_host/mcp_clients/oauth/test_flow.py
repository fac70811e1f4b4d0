"""A person logs in: the whole flow against a real authorization server, with a scripted browser in the middle."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from agent_host.mcp_clients.oauth.client import may_be_asked
from agent_host.mcp_clients.oauth.folder import LoginFolder
from agent_host.mcp_clients.oauth.login import log_in
from agent_host.mcp_clients.oauth.record import Login, joined_scopes, login_of
from agent_host.mcp_clients.server_config import ServerConfig
from tests.agent_host.mcp_clients.oauth.conftest import LogIn
from tests.fakes.oauth_server import Browser, OAuthServer


async def test_a_login_asks_with_pkce_for_this_server_and_comes_back_to_this_computer(
    logged_in: LogIn, server: OAuthServer, browser: Browser
) -> None:
    login = await logged_in()
    asked = {name: values[0] for name, values in parse_qs(urlsplit(browser.address).query).items()}
    assert asked["code_challenge_method"] == "S256"
    assert asked["resource"] == server.url
    assert asked["redirect_uri"].startswith("http://127.0.0.1:")
    assert len(asked["state"]) >= 32
    assert (login.scope, login.issuer) == ("read", f"{server.base}/")
    assert browser.pages[-1].status_code == 200
    assert "The login to shop is done." in browser.pages[-1].text


async def test_an_answer_with_another_state_is_not_listened_to(shop: ServerConfig, folder: LoginFolder) -> None:
    strange: list[httpx.Response] = []

    async def attacked(address: str) -> None:
        back = parse_qs(urlsplit(address).query)["redirect_uri"][0]
        async with httpx.AsyncClient() as client:
            strange.append(await client.get(back, params={"code": "mine", "state": "guessed"}))
            strange.append(await client.get(back, params={"error": "access_denied"}))
            strange.append(await client.get(back.replace("/callback", "/favicon.ico")))
            strange.append(await client.get(back, params={"code": "x"}, headers={"Host": "evil.example"}))
        await Browser()(address)

    login = await log_in(shop, folder, attacked, timeout_s=20)
    assert [answer.status_code for answer in strange] == [400, 400, 404, 404]
    assert login is not None


@pytest.mark.parametrize(
    ("address", "server", "allowed"),
    [
        ("https://login.example.org/token", "https://tools.example.org/mcp", True),
        ("http://127.0.0.1:9/token", "http://localhost:8/mcp", True),
        ("http://[::1]:9/token", "http://127.0.0.1:8/mcp", True),
        ("http://login.example.org/token", "https://tools.example.org/mcp", False),
        ("http://127.0.0.1:9/token", "https://tools.example.org/mcp", False),
        ("http://127.0.0.1.example.org/token", "http://127.0.0.1/mcp", False),
        ("file:///etc/passwd", "http://127.0.0.1/mcp", False),
        ("javascript:alert(1)", "https://tools.example.org/mcp", False),
    ],
)
def test_a_login_goes_over_https_or_stays_on_this_computer(address: str, server: str, *, allowed: bool) -> None:
    assert may_be_asked(address, server) == allowed


def test_a_record_comes_back_as_it_was_kept() -> None:
    login = Login("https://a.b/mcp", {"access_token": "x", "scope": "a"}, 2, 1, {"client_id": "c"}, None, None, "b")
    assert login_of(login.to_json()) == login


def test_a_record_that_was_put_in_anothers_place_is_not_its_login(folder: LoginFolder, tmp_path: Path) -> None:
    ours, theirs = "https://a.b/mcp", "https://evil.example/mcp"
    folder.write(Login(theirs, {"access_token": "y"}))
    (place,) = (tmp_path / "logins").glob("*.json")
    folder.write(Login(ours, {"access_token": "x"}))
    kept = next(path for path in (tmp_path / "logins").glob("*.json") if path != place)
    place.write_bytes(kept.read_bytes())

    assert folder.holds(ours)
    assert folder.read(theirs) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"url": 7}', "nonsense"])
def test_what_is_no_record_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        login_of(text)


def test_a_login_that_ended_asks_next_for_what_it_had_and_what_it_lacked() -> None:
    login = Login("https://a.b/mcp", {"access_token": "x", "scope": "read list"}, wider_scope="write read")
    assert login.ended() == Login("https://a.b/mcp", wider_scope="read list write")
    assert Login("https://a.b/mcp", {"scope": "read"}).ended() == Login("https://a.b/mcp")
    assert joined_scopes(None, "") is None
