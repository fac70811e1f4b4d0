"""The toolbox over stdio, against third-party style servers that hang, die, mumble and refuse."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agent_host.errors import ConfigurationError
from agent_host.mcp_clients import connection, manager
from agent_host.mcp_clients.config import ServerConfig
from agent_host.mcp_clients.guard import Guard
from agent_host.mcp_clients.manager import McpToolBox, ToolRules
from agent_host.mcp_clients.standing import StandingPermissions
from tests.agent_host.mcp_clients.processes import SCRIPT, RawServer, until_gone
from tests.agent_host.mcp_clients.servers import lab
from tests.fakes.approver import ScriptedApprover


@asynccontextmanager
async def _open(
    folder: Path, *manners: str, call_timeout_s: float = 20.0
) -> AsyncIterator[tuple[McpToolBox, RawServer]]:
    server = RawServer(folder, manners)
    box = McpToolBox([server.config], "0.1.0", log=folder / "log", call_timeout_s=call_timeout_s)
    try:
        await box.specs()
        yield box, server
    finally:
        await box.close()


async def test_a_server_knows_who_calls_and_gets_its_own_names_and_our_meta(tmp_path: Path) -> None:
    async with _open(tmp_path) as (box, server):
        outcome = await box.call("my-raw_die_keyed", {"idempotency_key": "k"}, {"turn_id": "t_12"})
    assert server.seen("initialize")[0]["params"]["clientInfo"] == {"name": "prometheus-agent", "version": "0.1.0"}
    (params,) = [message["params"] for message in server.seen("tools/call")][:1]
    assert params["name"] == "die_keyed"
    assert params["_meta"] == {"prometheus-agent/turn_id": "t_12"}
    assert (outcome.server, outcome.tool) == ("my-raw", "die_keyed")


async def test_all_pages_of_a_list_of_tools_are_read(tmp_path: Path) -> None:
    async with _open(tmp_path) as (box, _):
        names = [spec.name for spec in await box.specs()]
    assert names == [
        "my-raw_announce",
        "my-raw_die-once",
        "my-raw_die_keyed",
        "my-raw_die_write",
        "my-raw_flood",
        "my-raw_get-echo",
        "my-raw_hang",
        "my-raw_mumble",
        "my-raw_refuse",
        "my-raw_write",
    ]


async def test_starting_waits_for_nothing_and_a_call_waits_for_the_server(tmp_path: Path) -> None:
    server = RawServer(tmp_path)
    box = McpToolBox([server.config], "0.1.0")
    box.start()
    box.start()
    assert not (tmp_path / "pid").exists()
    assert (await box.call("my-raw_get-echo", {"text": "hi"}, {})).content == "hi"
    await box.close()


async def test_no_answer_in_time_says_that_it_may_still_finish_and_cost_and_cancels_it(tmp_path: Path) -> None:
    async with _open(tmp_path, call_timeout_s=0.8) as (box, server):
        outcome = await box.call("my-raw_hang", {}, {})
        await server.until_seen("notifications/cancelled")
        alive = await box.call("my-raw_get-echo", {"text": "still here"}, {})
    assert outcome.is_error
    assert outcome.content == (
        "my-raw did not answer hang within 0.8 s. It may still finish, and a paid call may still be charged; "
        "check before calling it again."
    )
    assert alive.content == "still here"
    assert len(server.seen("initialize")) == 1


async def test_cancelling_tells_the_server_and_leaves_it_usable(tmp_path: Path) -> None:
    async with _open(tmp_path) as (box, server):
        call = asyncio.create_task(box.call("my-raw_hang", {}, {}))
        await server.until_seen("tools/call")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await server.until_seen("notifications/cancelled")
        alive = await box.call("my-raw_get-echo", {"text": "still here"}, {})
    cancelled = server.seen("notifications/cancelled")[0]["params"]["requestId"]
    assert cancelled == server.seen("tools/call")[0]["id"]
    assert alive.content == "still here"
    assert len(server.seen("initialize")) == 1


async def test_a_write_that_may_have_been_carried_out_is_not_sent_again(tmp_path: Path) -> None:
    async with _open(tmp_path) as (box, server):
        outcome = await box.call("my-raw_die_write", {}, {})
        after = await box.call("my-raw_write", {}, {})
    assert outcome.is_error
    assert "may or may not have been carried out, so it was not sent again" in outcome.content
    assert after.content == "line 2"
    assert len(server.seen("tools/call")) == 2


async def test_a_read_is_sent_again_when_the_server_dies_under_it(tmp_path: Path) -> None:
    async with _open(tmp_path) as (box, server):
        outcome = await box.call("my-raw_die-once", {}, {})
    assert (outcome.content, outcome.is_error) == ("alive", False)
    assert len(server.seen("initialize")) == 2


async def test_a_write_with_an_idempotency_key_is_sent_again_and_one_without_is_not(tmp_path: Path) -> None:
    async with _open(tmp_path) as (box, server):
        without = await box.call("my-raw_die_keyed", {}, {})
        (tmp_path / "die_keyed").unlink()
        await box.call("my-raw_get-echo", {"text": "up again"}, {})
        keyed = await box.call("my-raw_die_keyed", {"idempotency_key": "k1"}, {})
    assert without.is_error
    assert (keyed.content, keyed.is_error) == ("alive", False)
    calls = [message["params"] for message in server.seen("tools/call")]
    assert [params["arguments"] for params in calls if params["name"] == "die_keyed"] == [
        {},
        *2 * [{"idempotency_key": "k1"}],
    ]


async def test_a_server_that_died_between_two_calls_is_started_again(tmp_path: Path) -> None:
    async with _open(tmp_path) as (box, server):
        await box.call("my-raw_write", {}, {})
        pid = server.pid
        os.kill(pid, signal.SIGKILL)
        await until_gone(pid)
        outcome = await box.call("my-raw_write", {}, {})
        assert server.pid != pid
    assert outcome.content == "line 2"


async def test_a_server_that_cannot_be_started_again_is_a_plain_error_and_a_problem(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(SCRIPT.read_text(encoding="utf-8"), encoding="utf-8")
    box = McpToolBox([ServerConfig("gone", command=sys.executable, args=(str(script), str(tmp_path)))], "0.1.0")
    await box.specs()
    script.unlink()
    pid = RawServer(tmp_path).pid
    os.kill(pid, signal.SIGKILL)
    await until_gone(pid)
    outcome = await box.call("gone_write", {}, {})
    problems = box.problems()
    still_offered = [spec.name for spec in await box.specs()]
    await box.close()
    assert outcome.is_error
    assert outcome.content.startswith("write was not carried out: gone cannot be used")
    assert len(problems) == 1
    assert "gone_write" in still_offered


async def test_calls_at_the_same_time_share_one_new_start(tmp_path: Path) -> None:
    async with _open(tmp_path) as (box, server):
        pid = server.pid
        os.kill(pid, signal.SIGKILL)
        await until_gone(pid)
        outcomes = await asyncio.gather(*(box.call("my-raw_get-echo", {"text": str(n)}, {}) for n in range(5)))
    assert [outcome.content for outcome in outcomes] == ["0", "1", "2", "3", "4"]
    assert len(server.seen("initialize")) == 2


async def test_a_refusal_by_the_protocol_is_a_value_on_one_line(tmp_path: Path) -> None:
    async with _open(tmp_path) as (box, _):
        outcome = await box.call("my-raw_refuse", {}, {})
    assert outcome.is_error
    assert outcome.content == "my-raw refused refuse: no tools/call here."


@pytest.mark.parametrize("code", [-32090, -32091, -32092, -32093])
async def test_a_servers_own_error_code_is_a_refusal_whatever_the_code(tmp_path: Path, code: int) -> None:
    async with _open(tmp_path) as (box, server):
        outcome = await box.call("my-raw_refuse", {"code": code}, {})
    assert outcome.content == "my-raw refused refuse: no tools/call here."
    assert len(server.seen("tools/call")) == 1


async def test_after_an_answer_that_is_no_result_nobody_knows_whether_it_was_carried_out(tmp_path: Path) -> None:
    async with _open(tmp_path) as (box, _):
        outcome = await box.call("my-raw_mumble", {"shapeless": True}, {})
    assert outcome.is_error
    assert outcome.content == (
        "my-raw answered mumble, but its answer is of no use: it is no result of a tool. It may have been carried out; "
        "check before calling it again."
    )


async def test_a_pattern_in_an_output_schema_cannot_hold_up_the_host(tmp_path: Path) -> None:
    async with _open(tmp_path) as (box, _):
        outcome = await box.call("my-raw_mumble", {}, {})
    assert (outcome.structured, outcome.is_error) == ({"n": "a" * 60 + "!"}, False)


async def test_a_tool_that_cannot_be_used_does_not_hide_the_others(tmp_path: Path) -> None:
    async with _open(tmp_path, "shabby") as (box, _):
        names = {spec.name for spec in await box.specs()}
        assert box.problems() == ()
    assert len(names) == 10
    assert "my-raw_write" in names
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert log.count("a tool that cannot be used is left out") >= 10  # five on each of two pages, each time


async def test_what_a_server_lists_is_bounded_as_every_prompt_would_hold_it(tmp_path: Path) -> None:
    long = {"name": "long", "description": "x" * 100_013, "inputSchema": {"type": "object"}}
    wide = {"name": "wide", "inputSchema": {"type": "object", "description": "y" * 50_000}}
    (tmp_path / "tools.json").write_text(json.dumps([long, wide]), encoding="utf-8")
    async with _open(tmp_path) as (box, _):
        (spec,) = await box.specs()
    assert spec.name == "my-raw_long"
    assert spec.description == "x" * 8_000 + "… (cut here)"


async def test_a_server_without_tools_is_no_problem(tmp_path: Path) -> None:
    async with _open(tmp_path, "toolless") as (box, _):
        assert await box.specs() == ()
        assert box.problems() == ()


async def test_a_box_without_servers_has_no_tools(tmp_path: Path) -> None:
    box = McpToolBox([], "0.1.0", log=tmp_path / "log")
    assert await box.specs() == ()
    assert (await box.call("a_b", {}, {})).content == "There is no tool named a_b; use one that is offered."
    await box.close()


async def test_arguments_no_wire_can_carry_are_refused_before_they_break_the_connection(tmp_path: Path) -> None:
    async with _open(tmp_path) as (box, server):
        outcome = await box.call("my-raw_get-echo", {"text": "half \ud83d"}, {})
        assert (await box.call("my-raw_get-echo", {"text": "whole 🙂"}, {})).content == "whole 🙂"
    assert "surrogate" in outcome.content
    assert len(server.seen("tools/call")) == 1


async def test_a_server_that_never_answers_is_left_out_and_named_and_the_others_work(tmp_path: Path) -> None:
    (tmp_path / "mute").mkdir()
    mute = replace(RawServer(tmp_path / "mute", ("mute",), "mute").config, startup_timeout_s=0.5)
    box = McpToolBox([mute, RawServer(tmp_path, (), "good").config], "0.1.0")
    specs = await box.specs()
    problems = box.problems()
    outcome = await box.call("good_get-echo", {"text": "hi"}, {})
    await box.close()
    assert {spec.name.partition("_")[0] for spec in specs} == {"good"}
    assert problems == ("The server 'mute' cannot be used: it did not list its tools within 0.5 s.",)
    assert outcome.content == "hi"


async def test_a_server_that_is_not_configured_right_is_named_and_the_others_work(tmp_path: Path) -> None:
    wrong = ServerConfig("wrong", problem="The server 'wrong' in mcp.json needs `args` as a list of strings.")
    box = McpToolBox([wrong, RawServer(tmp_path, (), "good").config], "0.1.0")
    specs = await box.specs()
    await box.close()
    assert {spec.name.partition("_")[0] for spec in specs} == {"good"}
    assert box.problems() == ("The server 'wrong' in mcp.json needs `args` as a list of strings.",)


async def test_a_person_does_not_wait_for_a_slow_stranger_whose_tools_join_a_later_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manager, "GRACE_S", 0.0)
    (tmp_path / "slow").mkdir()
    slow = RawServer(tmp_path / "slow", ("slow",), "slow").config
    own = replace(RawServer(tmp_path, (), "own").config, builtin=True)
    guard = Guard(ScriptedApprover(is_person=True), StandingPermissions(None))
    box = McpToolBox([slow, own], "0.1.0", rules=ToolRules(guard))
    first, problems = await box.specs(), box.problems()
    answer = await box.call("own_get-echo", {"text": "hi"}, {"turn_id": "t_1"})
    (tmp_path / "slow" / "go").touch()
    late = await box.call("slow_get-echo", {"text": "there"}, {"turn_id": "t_1"})
    second = await box.specs()
    await box.close()
    assert {spec.name.partition("_")[0] for spec in first} == {"own"}
    assert problems == ("The server 'slow' is still starting; its tools join the first turn after that.",)
    assert (answer.content, late.content) == ("hi", "there")
    assert {spec.name.partition("_")[0] for spec in second} == {"own", "slow"}
    assert box.problems() == ()


async def test_a_call_waits_for_no_other_server_than_its_own(tmp_path: Path) -> None:
    (tmp_path / "mute").mkdir()
    mute = replace(RawServer(tmp_path / "mute", ("mute",), "mute").config, startup_timeout_s=3600)
    box = McpToolBox([mute, RawServer(tmp_path, (), "good").config], "0.1.0")
    outcome = await box.call("good_get-echo", {"text": "hi"}, {})
    nobodys = await box.call("nobody_get-echo", {}, {})
    await box.close()
    assert outcome.content == "hi"
    assert nobodys.content == "There is no tool named nobody_get-echo; use one that is offered."


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (ServerConfig("bad", command="/nowhere/at-all"), "correct `command`"),
        (ServerConfig("bad", command=sys.executable, args=("-c", "pass")), "it ended before it listed its tools"),
        (ServerConfig("bad", command=sys.executable, args=("-c", "pass"), cwd="/nowhere"), "correct `cwd`"),
    ],
)
async def test_a_server_that_does_not_start_is_named_with_what_to_do(config: ServerConfig, words: str) -> None:
    box = McpToolBox([config], "0.1.0")
    assert await box.specs() == ()
    (problem,) = box.problems()
    await box.close()
    assert problem.startswith("The server 'bad' cannot be used: ")
    assert words in problem


async def test_a_server_that_failed_is_tried_again_later_without_anybody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_RETRY_AFTER_S", 0.0)
    command = tmp_path / "server"
    box = McpToolBox([ServerConfig("late", command=str(command), args=(str(tmp_path),))], "0.1.0")
    assert await box.specs() == ()
    command.write_text(f"#!/bin/sh\nexec {sys.executable} {SCRIPT} $1\n")
    command.chmod(0o755)
    while not await box.specs():  # noqa: ASYNC110 - another process
        await asyncio.sleep(0.02)
    assert box.problems() == ()
    await box.close()


async def test_nothing_a_server_writes_reaches_the_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async with _open(tmp_path, "junk", "chatty") as (box, _):
        assert (await box.call("my-raw_get-echo", {"text": "hi"}, {})).content == "hi"
    assert capfd.readouterr() == ("", "")
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert "raw server: listening" in log
    assert "Failed to parse" in log
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600


async def test_a_log_that_grew_large_is_started_anew(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("x" * 1_000_001)
    async with _open(tmp_path, "chatty"):
        pass
    assert (tmp_path / "log").stat().st_size < 1000


async def test_a_log_that_cannot_be_written_is_refused_in_one_sentence(tmp_path: Path) -> None:
    box = McpToolBox([], "0.1.0", log=tmp_path / "no" / "log")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        box.start()


@pytest.mark.parametrize("manners", [(), ("mute",)])
async def test_closing_ends_the_server_also_while_it_starts(tmp_path: Path, manners: tuple[str, ...]) -> None:
    server = RawServer(tmp_path, manners)
    box = McpToolBox([server.config], "0.1.0")
    box.start()
    await server.until_seen("initialize")
    await box.close()
    await until_gone(server.pid)


async def test_a_call_under_way_when_the_box_closes_starts_no_server_anew(tmp_path: Path) -> None:
    async with _open(tmp_path) as (box, server):
        call = asyncio.create_task(box.call("my-raw_hang", {}, {}))
        await server.until_seen("tools/call")
        await box.close()
        assert (await call).is_error
    assert len(server.seen("initialize")) == 1


@pytest.mark.slow
async def test_closing_ends_a_server_that_does_not_heed_the_end_of_its_input(tmp_path: Path) -> None:
    async with _open(tmp_path, "deaf") as (_, server):
        pid = server.pid
    await until_gone(pid)


HOST = """
import asyncio, sys
from agent_host.mcp_clients.config import ServerConfig
from agent_host.mcp_clients.manager import McpToolBox

async def main():
    servers = [ServerConfig("raw", command=sys.executable, args=tuple(sys.argv[1:3]))]
    servers += [ServerConfig("lab", command=sys.executable, args=(sys.argv[3],))]
    box = McpToolBox(servers, "0.1.0")
    print(len(await box.specs()), flush=True)
    await box.call("lab_wait", {}, {})

asyncio.run(main())
"""


@pytest.mark.slow
async def test_servers_end_when_their_host_is_killed(tmp_path: Path) -> None:
    words = ("-c", HOST, *RawServer(tmp_path).config.args, lab.__file__)
    host = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=asyncio.subprocess.PIPE)
    assert host.stdout is not None
    assert await host.stdout.readline() == b"14\n"
    children = _children(host.pid)
    assert len(children) == 2
    host.kill()
    await host.communicate()
    await asyncio.gather(*map(until_gone, children))


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8")
    return [int(child) for child in text.split()]
