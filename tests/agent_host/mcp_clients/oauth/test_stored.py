"""A kept login at work: refreshed without a word, shared by hosts, shown to nobody else, ended where it is refused."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from pathlib import Path

import pytest

from agent_host.mcp_clients.oauth.folder import LoginFolder
from agent_host.mcp_clients.server_config import ServerConfig
from tests.agent_host.mcp_clients.oauth.conftest import LogIn, Open
from tests.fakes.oauth_server import OAuthServer

pytestmark = pytest.mark.slow
NEEDS = "it needs a login; run `agent-host mcp login shop`"


def _expired(folder: LoginFolder, url: str, *, in_s: int = 0) -> None:
    login = folder.read(url)
    assert login is not None
    folder.write(replace(login, expires_at_ms=int(time.time() + in_s) * 1000 - 1))


async def test_without_a_login_the_server_is_left_out_with_the_command_and_nothing_is_registered(
    server: OAuthServer, opened: Open, folder: LoginFolder
) -> None:
    box = opened()
    assert await box.specs() == ()
    assert box.problems() == (f"The server 'shop' cannot be used: {NEEDS}.",)
    assert folder.wants_login(server.url)
    assert server.asked["/register"] == 0


async def test_a_login_made_meanwhile_is_used_by_the_next_turn_of_a_conversation(
    logged_in: LogIn, opened: Open
) -> None:
    box = opened()
    assert await box.specs() == ()
    await logged_in()
    assert [spec.name for spec in await box.specs()] == ["shop_look", "shop_meet", "shop_write"]
    assert box.problems() == ()
    assert (await box.call("shop_look", {}, {})).content == "seen"


@pytest.mark.parametrize("server", [False, True], indirect=True, ids=["modern", "legacy"])
async def test_calls_run_side_by_side_under_a_login_in_both_eras(logged_in: LogIn, opened: Open) -> None:
    await logged_in()
    box = opened()
    await box.specs()
    both = await asyncio.gather(box.call("shop_meet", {}, {}), box.call("shop_meet", {}, {}))
    assert [outcome.content for outcome in both] == ["met", "met"]


async def test_a_new_login_waits_for_a_refresh_of_the_one_before_and_is_not_overwritten(
    logged_in: LogIn, server: OAuthServer, folder: LoginFolder
) -> None:
    before = await logged_in()
    async with folder.lock(server.url):  # as a refresh holds it
        replacing = asyncio.create_task(logged_in())
        while len(server.keys.issued) < 2:  # noqa: ASYNC110 - in the server's thread
            await asyncio.sleep(0.01)
        folder.write(replace(before, tokens={**(before.tokens or {}), "access_token": "late"}))
        assert not replacing.done()
    login = await replacing
    assert folder.read(server.url) == login


async def test_a_disk_that_refuses_a_note_costs_the_note_alone(
    server: OAuthServer, opened: Open, tmp_path: Path
) -> None:
    (tmp_path / "logins").write_text("in the way")
    box = opened()
    assert await box.specs() == ()
    assert NEEDS in box.problems()[0]
    assert server.asked["/mcp"] > 0


@pytest.mark.parametrize("in_s", [0, 20], ids=["over", "over while a call takes its time"])
async def test_a_token_that_has_run_out_is_refreshed_at_the_login_server_without_a_word(
    logged_in: LogIn, server: OAuthServer, opened: Open, folder: LoginFolder, in_s: int
) -> None:
    await logged_in()
    _expired(folder, server.url, in_s=in_s)
    outcome = await opened().call("shop_look", {}, {})
    login = folder.read(server.url)
    assert (outcome.content, server.keys.refreshed) == ("seen", 1)
    assert login is not None
    assert login.tokens is not None
    assert login.tokens["refresh_token"] == server.keys.issued[-1].refresh_token
    assert (login.expires_at_ms or 0) > time.time() * 1000
    assert login.scope == "read"


async def test_a_token_that_the_server_refuses_early_is_refreshed_and_the_call_runs_once(
    logged_in: LogIn, server: OAuthServer, opened: Open
) -> None:
    await logged_in()
    box = opened()
    await box.specs()
    server.keys.revoke_access()
    assert (await box.call("shop_look", {}, {})).content == "seen"
    assert server.keys.refreshed == 1


async def test_a_refused_refresh_ends_the_login_and_the_call_names_the_command(
    logged_in: LogIn, server: OAuthServer, opened: Open, folder: LoginFolder
) -> None:
    await logged_in()
    box = opened()
    await box.specs()
    server.keys.revoke_all()
    outcome = await box.call("shop_look", {}, {})
    assert outcome.is_error
    assert outcome.content == f"look was not carried out: shop cannot be used, {NEEDS}."
    assert box.problems() == (f"The server 'shop' cannot be used: {NEEDS}.",)
    assert folder.wants_login(server.url)
    before = server.asked["/token"]
    assert (await box.call("shop_look", {}, {})).is_error
    assert server.asked["/token"] == before  # what was refused once is not asked again


@pytest.mark.parametrize("status", [503, 429, 408])
async def test_trouble_at_the_login_server_does_not_end_the_login(
    logged_in: LogIn, server: OAuthServer, opened: Open, folder: LoginFolder, status: int
) -> None:
    await logged_in()
    box = opened()
    await box.specs()
    _expired(folder, server.url)
    server.token_status = status
    down = await box.call("shop_look", {}, {})
    problems, ended = box.problems(), folder.wants_login(server.url)
    server.token_status = None
    up = await box.call("shop_look", {}, {})
    assert down.is_error
    assert f"shop cannot be used, its login server answers with HTTP {status}; try again later" in down.content
    assert len(problems) == 1
    assert not ended
    assert (up.content, box.problems()) == ("seen", ())


async def test_many_calls_of_two_hosts_refresh_once(
    logged_in: LogIn, server: OAuthServer, opened: Open, folder: LoginFolder
) -> None:
    await logged_in()
    one, other = opened(), opened()
    await asyncio.gather(one.specs(), other.specs())
    _expired(folder, server.url)
    calls = [box.call("shop_look", {}, {}) for box in (one, other) for _ in range(4)]
    assert {outcome.content for outcome in await asyncio.gather(*calls)} == {"seen"}
    assert server.keys.refreshed == 1


async def test_a_call_beyond_the_login_says_so_and_the_next_login_asks_for_more(logged_in: LogIn, opened: Open) -> None:
    await logged_in()
    box = opened()
    narrow = await box.call("shop_write", {}, {})
    still = await box.call("shop_look", {}, {})
    login = await logged_in()
    wide = await box.call("shop_write", {}, {})
    assert narrow.is_error
    assert "the login does not reach so far; run `agent-host mcp login shop` to widen it" in narrow.content
    assert still.content == "seen"
    assert login.scope == "read write"
    assert wide.content == "written 1"


async def test_a_token_goes_to_no_other_host_by_a_redirect(logged_in: LogIn, server: OAuthServer, opened: Open) -> None:
    await logged_in()
    elsewhere = OAuthServer().start()
    server.moved_to = elsewhere.url
    outcome = await opened().call("shop_look", {}, {})
    elsewhere.stop()
    assert outcome.is_error
    assert elsewhere.shown == set()
    assert elsewhere.asked.total() == 0


async def test_a_server_put_in_anothers_place_gets_no_token_of_it(
    logged_in: LogIn, folder: LoginFolder, shop: ServerConfig
) -> None:
    await logged_in()
    elsewhere = OAuthServer().start()
    assert folder.read(elsewhere.url) is None
    assert folder.read(shop.url or "") is not None
    elsewhere.stop()


async def test_tokens_are_in_no_log(
    logged_in: LogIn, server: OAuthServer, opened: Open, folder: LoginFolder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await logged_in()
    _expired(folder, server.url)
    await opened().call("shop_look", {}, {})
    secrets = [word for token in server.keys.issued for word in (token.access_token, token.refresh_token or "-")]
    assert len(secrets) == 4
    assert not [word for word in secrets if word in caplog.text]


async def test_a_record_that_was_edited_into_nonsense_is_no_login(
    logged_in: LogIn, server: OAuthServer, opened: Open, folder: LoginFolder, tmp_path: Path
) -> None:
    login = await logged_in()
    folder.write(replace(login, tokens={"access_token": 7}))
    box = opened()
    assert await box.specs() == ()
    assert NEEDS in box.problems()[0]
    (file,) = (tmp_path / "logins").glob("*.json")
    file.write_text("{")
    assert folder.read(server.url) is None
