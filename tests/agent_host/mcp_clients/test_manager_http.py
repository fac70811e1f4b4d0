"""The toolbox over HTTP, in both protocol eras, against servers that restart, vanish, hang up and refuse."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TypeAlias

import pytest

from agent_host.mcp_clients.config import ServerConfig
from agent_host.mcp_clients.manager import McpToolBox
from tests.agent_host.mcp_clients.servers.lab import LabOverHttp

Open: TypeAlias = Callable[..., McpToolBox]


@pytest.fixture(params=[False, True], ids=["modern", "legacy"])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[LabOverHttp]:
    running = LabOverHttp(legacy=request.param).start()
    yield running
    running.lab.released.set()
    running.stop(at_once=True)


@pytest.fixture
async def box(server: LabOverHttp) -> AsyncIterator[McpToolBox]:
    made = McpToolBox([ServerConfig("lab", url=server.url)], "0.1.0", call_timeout_s=20.0)
    await made.specs()
    yield made
    await made.close()


async def _until(happened: Callable[[], bool]) -> None:
    while not happened():  # noqa: ASYNC110 - in the server's thread
        await asyncio.sleep(0.01)


async def test_a_call_after_a_restart_succeeds_and_runs_once(server: LabOverHttp, box: McpToolBox) -> None:
    assert (await box.call("lab_write", {}, {})).content == "written 1"
    await asyncio.to_thread(server.stop)
    await asyncio.to_thread(server.start)
    assert (await box.call("lab_write", {}, {})).content == "written 2"
    assert server.lab.written == 2


async def test_a_call_while_the_server_is_down_says_so_and_the_next_one_works(
    server: LabOverHttp, box: McpToolBox
) -> None:
    await asyncio.to_thread(server.stop)
    down = await box.call("lab_write", {}, {})
    problems = box.problems()
    await asyncio.to_thread(server.start)
    up = await box.call("lab_write", {}, {})
    assert down.is_error
    assert down.content.startswith("write was not carried out: lab cannot be used, nothing answers at")
    assert len(problems) == 1
    assert (up.content, server.lab.written) == ("written 1", 1)
    assert box.problems() == ()


async def test_a_write_cut_off_by_a_restart_is_not_sent_again(server: LabOverHttp, box: McpToolBox) -> None:
    call = asyncio.create_task(box.call("lab_wait", {}, {}))
    await _until(lambda: server.lab.waiting == 1)
    await asyncio.to_thread(server.stop, at_once=True)
    await asyncio.to_thread(server.start)
    outcome = await call
    assert outcome.is_error
    assert "may or may not have been carried out, so it was not sent again" in outcome.content
    assert server.lab.waiting == 1
    assert not (await box.call("lab_echo", {"text": "x"}, {})).is_error


async def test_cancelling_stops_the_work_in_the_server_and_leaves_it_usable(
    server: LabOverHttp, box: McpToolBox
) -> None:
    call = asyncio.create_task(box.call("lab_wait", {}, {}))
    await _until(lambda: server.lab.waiting == 1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await _until(lambda: server.lab.cancelled == 1)
    assert not (await box.call("lab_echo", {"text": "x"}, {})).is_error


async def test_no_answer_in_time_stops_the_work_in_the_server(server: LabOverHttp) -> None:
    box = McpToolBox([ServerConfig("lab", url=server.url)], "0.1.0", call_timeout_s=0.8)
    outcome = await box.call("lab_wait", {}, {})
    await _until(lambda: server.lab.cancelled == 1)
    alive = await box.call("lab_write", {}, {})
    await box.close()
    assert "may still finish, and a paid call may still be charged" in outcome.content
    assert not alive.is_error


async def test_a_slow_call_is_not_cut_off_when_another_one_finds_the_server_gone(
    server: LabOverHttp, box: McpToolBox
) -> None:
    slow = asyncio.create_task(box.call("lab_wait", {}, {}))
    await _until(lambda: server.lab.waiting == 1)
    link = box._connections[0]._link if box._connections else None
    assert link is not None
    link.retire()
    assert not (await box.call("lab_echo", {"text": "x"}, {})).is_error
    server.lab.released.set()
    assert (await slow).content == '{"result":"released"}'


async def test_closing_does_not_need_the_server(server: LabOverHttp, box: McpToolBox) -> None:
    await asyncio.to_thread(server.stop)
    await asyncio.wait_for(box.close(), 10)
    await asyncio.to_thread(server.start)


@pytest.mark.parametrize("legacy", [False, True])
async def test_a_token_that_is_not_accepted_is_named_by_its_setting_and_never_shown(*, legacy: bool) -> None:
    server = LabOverHttp(legacy=legacy, token="right").start()
    wrong = McpToolBox([ServerConfig("lab", url=server.url, token="wr0ng")], "0.1.0")
    right = McpToolBox([ServerConfig("lab", url=server.url, token="right")], "0.1.0")
    assert await wrong.specs() == ()
    assert len(await right.specs()) == 4
    (problem,) = wrong.problems()
    await wrong.close()
    await right.close()
    server.stop()
    assert "token_env" in problem
    assert "wr0ng" not in problem


async def test_nobody_at_the_address_is_named_with_it() -> None:
    server = LabOverHttp().start()
    server.stop()
    box = McpToolBox([ServerConfig("lab", url=server.url)], "0.1.0")
    assert await box.specs() == ()
    (problem,) = box.problems()
    await box.close()
    assert problem == (
        f"The server 'lab' cannot be used: nothing answers at {server.url}; start it, or correct `url` in mcp.json."
    )
