"""What `/memory` shows."""

from __future__ import annotations

from agent_host.memory_overview import memory_overview
from agent_host.providers.protocol import JsonValue
from tests.fakes.toolbox import Arguments, FakeToolBox


def newest(arguments: Arguments) -> JsonValue:
    kind = arguments["kind"]
    return {"entries": [{"id": f"mem_{number}", "kind": kind, "snippet": f"{kind} {number}"} for number in range(20)]}


async def test_eight_facts_and_five_episodes_are_asked_for_and_shown() -> None:
    tools = FakeToolBox({"memory_list": newest})

    shown = await memory_overview(tools, 3)

    assert [call.arguments for call in tools.calls] == [{"kind": "fact", "limit": 8}, {"kind": "episode", "limit": 5}]
    assert (len(shown.facts), len(shown.episodes), shown.open_rows) == (8, 5, 3)
    assert shown.facts[0].text == "fact 0"


async def test_a_memory_that_does_not_answer_is_a_sentence() -> None:
    shown = await memory_overview(FakeToolBox({}), 3)

    assert (shown.facts, shown.open_rows) == ((), 3)
    assert shown.problem == "memory: not reachable; `agent-host check` says why."
