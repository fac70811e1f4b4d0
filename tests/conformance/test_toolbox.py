"""What every `ToolBox` keeps to: the contract of `agent_host.mcp_clients.protocol.ToolBox`."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from agent_host.budget import BudgetedTools
from agent_host.charges import ChargedTools
from agent_host.lessons.box import NAMES, LessonBox
from agent_host.mcp_clients.approval import NobodyToAsk
from agent_host.mcp_clients.config import ServerConfig
from agent_host.mcp_clients.guard import Guard
from agent_host.mcp_clients.manager import McpToolBox
from agent_host.mcp_clients.protocol import ToolBox
from agent_host.mcp_clients.standing import StandingPermissions
from agent_host.providers.protocol import JsonValue
from agent_host.report_saving import OneReport
from agent_host.skills.loading import SkillFolder
from tests.agent_host.mcp_clients.servers import lab
from tests.fakes.toolbox import Arguments, FakeToolBox, Function, ToolFailedError

MISSING = ServerConfig("absent", command="/nowhere/at-all")


def _echo(arguments: Arguments) -> JsonValue:
    return {"text": arguments["text"], "client": "prometheus-agent", "meta": {}}


def _fail(_: Arguments) -> JsonValue:
    raise ToolFailedError("Müller is not there; name someone else.")


async def _wait(_: Arguments) -> JsonValue:
    await asyncio.Event().wait()
    return None


@asynccontextmanager
async def _fake() -> AsyncIterator[ToolBox]:
    functions: dict[str, Function] = {
        "lab_echo": _echo,
        "lab_write": lambda _: "written 1",
        "lab_fail": _fail,
        "lab_wait": _wait,
    }
    yield FakeToolBox(functions, unusable=("The server 'absent' cannot be used: it is not there.",))


@asynccontextmanager
async def _layered() -> AsyncIterator[ToolBox]:
    """What a turn calls: the layers that the host puts around its servers, with nothing for them to do."""
    async with _fake() as inner:
        home, guard = Path("/nowhere"), Guard(NobodyToAsk(), StandingPermissions(None))
        lessons = LessonBox(inner, guard, home, home, SkillFolder(()), unavailable=NAMES)
        yield OneReport(BudgetedTools(ChargedTools(lessons, lambda *_: None), lambda: None))


@asynccontextmanager
async def _stdio() -> AsyncIterator[ToolBox]:
    box = McpToolBox([ServerConfig("lab", command=sys.executable, args=(lab.__file__,)), MISSING], "0.1.0")
    yield box
    await box.close()


@asynccontextmanager
async def _over_http(*, legacy: bool) -> AsyncIterator[ToolBox]:
    server = lab.LabOverHttp(legacy=legacy, token="lab-token").start()
    box = McpToolBox([ServerConfig("lab", url=server.url, token="lab-token"), MISSING], "0.1.0")
    yield box
    await box.close()
    server.stop()


FACTORIES: dict[str, Callable[[], AbstractAsyncContextManager[ToolBox]]] = {
    "fake": _fake,
    "layered": _layered,
    "stdio": _stdio,
    "http": lambda: _over_http(legacy=False),
    "http of the older era": lambda: _over_http(legacy=True),
}


# Real servers take a second to start, so one box serves the whole module, on one event loop.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(params=FACTORIES, scope="module", loop_scope="module")
async def box(request: pytest.FixtureRequest) -> AsyncIterator[ToolBox]:
    async with FACTORIES[request.param]() as made:
        yield made


async def test_tools_have_names_a_model_takes_a_schema_and_a_stable_order(box: ToolBox) -> None:
    specs = await box.specs()
    assert [spec.name for spec in specs] == ["lab_echo", "lab_fail", "lab_wait", "lab_write"]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", spec.name) for spec in specs)
    assert all(spec.input_schema["type"] == "object" and spec.description for spec in specs)
    assert await box.specs() == specs


async def test_structured_output_is_json_text_that_keeps_every_letter(box: ToolBox) -> None:
    outcome = await box.call("lab_echo", {"text": "Grüße, 世界 🙂"}, {})
    assert not outcome.is_error
    assert outcome.server == "lab"
    assert outcome.structured == json.loads(outcome.content)
    assert "Grüße, 世界 🙂" in outcome.content
    assert outcome.duration_ms >= 0


async def test_text_output_is_passed_on_as_it_is(box: ToolBox) -> None:
    outcome = await box.call("lab_write", {}, {})
    assert (outcome.tool, outcome.is_error) == ("write", False)
    assert (outcome.content, outcome.structured) == ("written 1", None)


async def test_a_failed_call_is_a_value_that_says_what_went_wrong(box: ToolBox) -> None:
    outcome = await box.call("lab_fail", {}, {})
    assert outcome.is_error
    assert outcome.content == "Müller is not there; name someone else."


async def test_a_tool_that_is_not_there_is_a_failed_call_too(box: ToolBox) -> None:
    outcome = await box.call("lab_nothing", {}, {})
    assert outcome.is_error
    assert outcome.content == "There is no tool named lab_nothing; use one that is offered."


async def test_calls_at_the_same_time_get_their_own_answers(box: ToolBox) -> None:
    outcomes = await asyncio.gather(*(box.call("lab_echo", {"text": f"number {n}"}, {}) for n in range(8)))
    assert all(f"number {n}" in outcome.content for n, outcome in enumerate(outcomes))


async def test_cancelling_a_call_leaves_the_others_alone(box: ToolBox) -> None:
    call = asyncio.create_task(box.call("lab_wait", {}, {}))
    done, _ = await asyncio.wait({call}, timeout=0.1)
    assert not done
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not (await box.call("lab_echo", {"text": "still here"}, {})).is_error


async def test_a_server_that_cannot_be_used_is_named_in_one_sentence(box: ToolBox) -> None:
    await box.specs()
    (problem,) = box.problems()
    assert "'absent'" in problem
    assert problem.endswith(".")
    assert "\n" not in problem


@pytest.mark.parametrize("factory", FACTORIES)
async def test_closing_twice_is_harmless_and_a_closed_box_still_answers(factory: str) -> None:
    async with FACTORIES[factory]() as box:
        await box.close()
        await box.close()
        assert await box.specs() == ()
        assert (await box.call("lab_echo", {"text": "x"}, {})).is_error
