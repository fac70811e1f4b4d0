"""What a turn's prompt is made of, besides what was said."""

from __future__ import annotations

from dataclasses import replace

from agent_host.gates.remembering import Retrieval
from agent_host.providers.protocol import Identity, JsonValue
from agent_host.report_digest import MARKER
from agent_host.research import HEADING
from agent_host.skills.loading import SHIPPED, SkillFolder
from agent_host.tracing.events import KnowledgeUsed, Notice, ToolCalled
from agent_host.turn import run_turn
from tests.agent_host.test_turn import Room, room
from tests.fakes.scripted_provider import ScriptedProvider, says
from tests.fakes.toolbox import FakeToolBox

__all__ = ["room"]


async def test_a_research_turn_reads_first_and_its_prompt_has_the_skill(room: Room) -> None:
    room.skills = SkillFolder((SHIPPED,))
    provider = ScriptedProvider(says("done"))
    await room.turn(provider, "Research the competitors of mem0")

    system = provider.requests[0].system
    assert "<!-- prometheus-report v1 -->" in system
    assert HEADING in system
    first = [event for event in room.events if isinstance(event, ToolCalled)]
    assert [event.read_first for event in first] == [True, True]
    assert any(isinstance(event, KnowledgeUsed) for event in room.events)
    assert '"type":"used"' in next(room.folder.glob("*.jsonl")).read_text()


async def test_what_is_read_first_does_not_stand_in_the_prompt_a_second_time(room: Room) -> None:
    room.skills = SkillFolder((SHIPPED,))
    report = f"{MARKER}\n# Zep\n## Summary\n- Zep has a graph.\n## Sources\n"
    entry: JsonValue = {"id": "m_7", "kind": "semantic", "report": True, "snippet": f'{report} {{"label": "x"}}'}
    other: JsonValue = {"id": "m_8", "kind": "fact", "snippet": "Zep is on the list."}
    tools = FakeToolBox(
        {
            "memory_search": lambda told: {"entries": [entry, *([] if "scope" in told else [other])]},
            "memory_get": lambda _: {"memory": {"id": "m_7", "body": report}},
        }
    )
    provider = ScriptedProvider(says("done"))
    parts = replace(room.parts(provider), tools=tools, retrieval=Retrieval(mode="rules"))
    await run_turn("Research Zep", room.session, "cli", parts, room.events.append)

    system = provider.requests[0].system
    assert system.count("m_7") == 1
    assert "]\nZep\n- Zep has a graph." in system
    assert "m_8, fact, from nobody known] Zep is on the list." in system


async def test_the_offline_rules_look_things_up_themselves(room: Room) -> None:
    class Rules(ScriptedProvider):
        identity = Identity("offline", "offline-rules", "1")

    room.skills = SkillFolder((SHIPPED,))
    await room.turn(Rules(says("done")), "Research Zep")

    assert not any(isinstance(event, ToolCalled) for event in room.events)


async def test_small_talk_reads_nothing_first_and_loads_no_skill(room: Room) -> None:
    room.skills = SkillFolder((SHIPPED,))
    provider = ScriptedProvider(says("done"))
    await room.turn(provider, "Thanks for the research, have a good day")

    assert "prometheus-report" not in provider.requests[0].system
    assert not any(isinstance(event, ToolCalled) for event in room.events)


async def test_a_skill_that_is_none_is_told_and_stops_no_turn(room: Room) -> None:
    (room.folder / "skills" / "broken").mkdir(parents=True)
    (room.folder / "skills" / "broken" / "SKILL.md").write_text("nothing")
    room.skills = SkillFolder((room.folder / "skills",))
    result = await room.turn(ScriptedProvider(says("hi")))

    assert result.reply == "hi"
    assert any(isinstance(event, Notice) and "The skill broken" in event.text for event in room.events)
