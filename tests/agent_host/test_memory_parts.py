"""What the settings make of the gates and the consolidation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from agent_host.chat_log import ChatLog
from agent_host.gates.slots import ModelScorer, ShareScorer
from agent_host.memory_parts import open_consolidator, open_small_calls, retrieval_of
from agent_host.memory_settings import MemorySettings, SlotMode
from agent_host.tracing.spans import NoSpans
from tests.agent_host.consolidation.parts import KEEP_ALL, TURN_ID, Memory, found
from tests.agent_host.constrained.parts import Desk
from tests.fakes.scripted_provider import ScriptedProvider, says

TOLD = MemorySettings("model", 7, "off", 2_500, 1)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize(("mode", "scorer"), [("off", type(None)), ("local", ShareScorer), ("model", ModelScorer)])
def test_the_slot_gate_is_what_was_told(desk: Desk, mode: SlotMode, scorer: type) -> None:
    made = retrieval_of(replace(TOLD, slot_gate=mode), desk.options(None))

    assert isinstance(made.scorer, scorer)
    assert (made.mode, made.top_k, made.keep_bp) == ("model", 7, 2_500)


async def test_a_home_consolidates_until_its_resources_are_closed(desk: Desk) -> None:
    (desk.folder / "traces").mkdir()
    memory, model = Memory(), ScriptedProvider(says(found(("Ana", "Ana likes tea."))), says(KEEP_ALL))
    log = ChatLog(desk.folder / "sessions.db")
    log.store("s_1", "t_1", "cli", ("I am Ana and like tea", "ok"), at_ms=1)

    async with AsyncExitStack() as resources:
        calls = open_small_calls(desk.folder, desk.options(model, store=None), resources)
        berlin = ZoneInfo("Europe/Berlin")
        consolidator = open_consolidator(
            desk.folder, calls, memory.tools, resources, told=TOLD, zone=berlin, spans=NoSpans()
        )
        consolidator.after_turn(TURN_ID)

    assert memory.bodies == ["Ana likes tea."]
    assert log.open_rows() == 0
    log.close()


async def test_without_a_model_there_is_nothing_to_consolidate_with(desk: Desk) -> None:
    async with AsyncExitStack() as resources:
        calls, tools = desk.options(None), Memory().tools
        with pytest.raises(ValueError, match="needs a provider"):
            open_consolidator(desk.folder, calls, tools, resources, told=TOLD, zone=ZoneInfo("UTC"), spans=NoSpans())
