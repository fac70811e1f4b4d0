"""A report in a reply is saved whole and once, and a reply whose report cannot be saved stays as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from agent_host.providers.protocol import JsonValue, ToolUse
from agent_host.report_digest import MARKER
from agent_host.tracing.events import Notice, ReportSaved, ToolCalled
from tests.agent_host.test_turn import Room, room
from tests.fakes.scripted_provider import ScriptedProvider, asks, says
from tests.fakes.toolbox import FakeToolBox, ToolFailedError

__all__ = ["room"]

REPORT = (
    f"{MARKER}\n# Memory layers\n## Summary\n- Mem0 leads.\n- Zep follows.\n## Sources\n```prometheus-sources\n[]\n```"
)
REPLY = f"Two sentences. Here it is.\n\n{REPORT}"


class Servers:
    """A memory, a reports server and a web; `refuses` makes memory fail."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.refuses = refuses
        self.stored: list[Mapping[str, JsonValue]] = []
        self.kept: list[Mapping[str, JsonValue]] = []
        self.tools = FakeToolBox(
            {
                "memory_remember": self.remember,
                "memory_search": lambda _: {"entries": []},
                "report_save": self.keep,
                "report_get": lambda _: {"text": REPORT},
                "search_web": lambda _: {"results": [{"url": "https://a.example/"}, "odd"]},
                "search_fetch": lambda _: {"url": "https://b.example/moved"},
            }
        )

    def remember(self, arguments: Mapping[str, JsonValue]) -> JsonValue:
        if self.refuses:
            raise ToolFailedError("The disk is full.")
        self.stored.append(arguments)
        return {"memory": {"id": "m_7"}}

    def keep(self, arguments: Mapping[str, JsonValue]) -> JsonValue:
        self.kept.append(arguments)
        return {"problems": [{"message": "https://c.example/ was never fetched in this turn"}]}


@pytest.fixture
def servers(room: Room) -> Servers:
    made = Servers()
    room.tools = made.tools  # type: ignore[assignment]  # any tool box will do
    return made


async def test_a_report_is_saved_whole_and_the_reply_says_so(room: Room, servers: Servers) -> None:
    result = await room.turn(ScriptedProvider(says(REPLY)))

    assert result.reply == "Two sentences. Here it is.\n\nReport saved: Memory layers."
    (stored,) = servers.stored
    assert {name: stored[name] for name in ("body", "kind", "scope", "subject", "tags")} == {
        "body": REPORT,
        "kind": "semantic",
        "scope": "global",
        "subject": "Memory layers",
        "tags": ["report"],
    }
    assert result.receipt.memory.report_id == "m_7"
    saved = next(event for event in room.events if isinstance(event, ReportSaved))
    assert saved == ReportSaved("Memory layers", "m_7", "global", ("Mem0 leads.", "Zep follows."))
    lines = [json.loads(line) for path in room.folder.glob("*.jsonl") for line in path.read_text().splitlines()]
    assert {"type": "report", "title": "Memory layers", "memory_id": "m_7"}.items() <= next(
        line for line in lines if line.get("type") == "report"
    ).items()
    assert room.chat_log.rows("s_1")[-1][1].startswith(result.reply)


async def test_a_reply_that_is_a_report_alone_leaves_its_summary(room: Room, servers: Servers) -> None:
    result = await room.turn(ScriptedProvider(says(REPORT)))

    assert result.reply == "- Mem0 leads.\n- Zep follows.\n\nReport saved: Memory layers."
    assert len(servers.stored) == 1


async def test_the_reports_server_is_told_what_was_really_fetched_and_its_remarks_are_shown(
    room: Room, servers: Servers
) -> None:
    uses = (ToolUse("u1", "search_web", {"query": "x"}), ToolUse("u2", "search_fetch", {"url": "https://b.example/"}))
    await room.turn(ScriptedProvider(asks(*uses), says(REPLY)))

    (kept,) = servers.kept
    assert kept["markdown"] == REPORT
    assert kept["sources_seen"] == ["https://a.example/", "https://b.example/moved", "https://b.example/"]
    assert any(isinstance(event, Notice) and "never fetched" in event.text for event in room.events)


async def test_a_report_that_cannot_be_saved_stays_in_the_reply(room: Room, servers: Servers) -> None:
    servers.refuses = True
    result = await room.turn(ScriptedProvider(says(REPLY)))

    assert result.reply == REPLY
    assert servers.kept == []
    assert not any(isinstance(event, ReportSaved) for event in room.events)


async def test_without_a_memory_server_nothing_is_saved(room: Room) -> None:
    assert (await room.turn(ScriptedProvider(says(REPLY)))).reply == REPLY


async def test_a_model_that_saves_its_report_itself_is_refused(room: Room, servers: Servers) -> None:
    own = ToolUse("u1", "memory_remember", {"body": REPORT})
    result = await room.turn(ScriptedProvider(asks(own), says(REPLY)))

    refused = next(event for event in room.events if isinstance(event, ToolCalled))
    assert refused.outcome.is_error
    assert "saved whole after the reply, once" in refused.outcome.content
    assert len(servers.stored) == 1
    assert result.reply.endswith("Report saved: Memory layers.")


async def test_a_memory_that_is_no_report_is_stored_as_ever(room: Room, servers: Servers) -> None:
    await room.turn(ScriptedProvider(asks(ToolUse("u1", "memory_remember", {"body": "I like tea"})), says("ok")))

    assert [stored["body"] for stored in servers.stored] == ["I like tea"]


@pytest.mark.parametrize("tool", ["report_get", "report_save"])
async def test_a_report_that_a_tool_showed_or_saved_is_not_saved_again(room: Room, servers: Servers, tool: str) -> None:
    result = await room.turn(ScriptedProvider(asks(ToolUse("u1", tool, {"id": "r"})), says(REPLY)))

    assert (result.reply, servers.stored) == (REPLY, [])


async def test_two_markers_make_one_report(room: Room, servers: Servers) -> None:
    result = await room.turn(ScriptedProvider(says(f"{REPLY}\n{REPORT}")))

    assert len(servers.stored) == 1
    assert MARKER not in result.reply


@pytest.mark.parametrize("text", [f"see `{MARKER}`", f"```\n{MARKER}\n# no\n```", f"the marker {MARKER} in a line"])
async def test_a_marker_in_code_or_in_a_line_is_no_report(room: Room, servers: Servers, text: str) -> None:
    assert (await room.turn(ScriptedProvider(says(text)))).reply == text
    assert servers.stored == []
