"""What a turn's prompt is made of, besides what was said."""

from __future__ import annotations

from agent_host.research import HEADING
from agent_host.skills.loading import SHIPPED, SkillFolder
from agent_host.tracing.events import KnowledgeUsed, Notice, ToolCalled
from tests.agent_host.test_turn import Room, room
from tests.fakes.scripted_provider import ScriptedProvider, says

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
