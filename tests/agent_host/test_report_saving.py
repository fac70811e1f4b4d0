"""A report in a reply is saved whole and once, and a reply whose report cannot be saved stays as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace

import pytest

from agent_host.gates.remembering import Retrieval
from agent_host.mcp_clients.approval import NobodyToAsk
from agent_host.mcp_clients.permissions import Word
from agent_host.providers.protocol import JsonValue, ToolSpec, ToolUse
from agent_host.report_digest import MARKER
from agent_host.skills.loading import SHIPPED, SkillFolder
from agent_host.tracing.events import KnowledgeUsed, Notice, PermissionDecided, ReportSaved, ToolCalled
from agent_host.turn import run_turn
from tests.agent_host.constrained.parts import Desk
from tests.agent_host.test_turn import Room, room
from tests.fakes.approver import ScriptedApprover
from tests.fakes.guarded import GuardedToolBox
from tests.fakes.scripted_provider import ScriptedProvider, asks, says
from tests.fakes.toolbox import FakeToolBox, Function, ToolFailedError

__all__ = ["room"]

REPORT = (
    f"{MARKER}\n# Memory layers\n## Summary\n- Mem0 leads.\n- Zep follows.\n## Sources\n```prometheus-sources\n[]\n```"
)
REPLY = f"Two sentences. Here it is.\n\n{REPORT}"


class Servers:
    """A memory, a reports server and a web; `refuses` makes memory fail."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.refuses = refuses
        self.shows: JsonValue = {"text": REPORT}
        self.found: JsonValue = {"entries": []}
        self.stored: list[Mapping[str, JsonValue]] = []
        self.kept: list[Mapping[str, JsonValue]] = []
        self.functions: dict[str, Function] = {
            "memory_remember": self.remember,
            "memory_update": self.remember,
            "memory_search": lambda _: self.found,
            "report_save": self.keep,
            "report_get": lambda _: self.shows,
            "search_web": lambda _: {"results": [{"url": "https://a.example/"}, "odd"]},
            "search_fetch": lambda _: {"url": "https://b.example/moved"},
        }
        self.tools = FakeToolBox(self.functions)

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
    assert (kept["markdown"], kept["memory_id"]) == (REPORT, "m_7")
    assert kept["sources_seen"] == ["https://a.example/", "https://b.example/moved", "https://b.example/"]
    assert any(isinstance(event, Notice) and "never fetched" in event.text for event in room.events)


async def test_a_report_that_cannot_be_saved_stays_in_the_reply(room: Room, servers: Servers) -> None:
    servers.refuses = True
    result = await room.turn(ScriptedProvider(says(REPLY)))

    assert result.reply == REPLY
    assert servers.kept == []
    assert Notice("The report could not be saved with memory_remember: The disk is full.") in room.events
    assert not any(isinstance(event, ReportSaved) for event in room.events)


async def test_without_a_memory_server_nothing_is_saved(room: Room) -> None:
    assert (await room.turn(ScriptedProvider(says(REPLY)))).reply == REPLY


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("memory_remember", {"body": REPORT}),
        ("memory_update", {"id": "m_1", "body": f"New:\n{REPORT}"}),
        ("report_save", {"markdown": REPORT}),
        ("report_save", {"report": {"parts": [REPORT]}}),
    ],
)
async def test_a_model_that_saves_its_report_itself_is_refused(
    room: Room, servers: Servers, tool: str, arguments: Mapping[str, JsonValue]
) -> None:
    own = ToolUse("u1", tool, arguments)
    result = await room.turn(ScriptedProvider(asks(own), says(REPLY)))

    refused = next(event for event in room.events if isinstance(event, ToolCalled))
    assert refused.outcome.is_error
    assert "saved whole after the reply, once" in refused.outcome.content
    assert [stored["trust"] for stored in servers.stored] == ["agent"]  # nobody else's words came with that
    assert (len(servers.stored), len(servers.kept)) == (1, 1)
    assert result.reply.endswith("Report saved: Memory layers.")


async def test_a_model_may_save_a_report_itself_where_the_host_cannot(room: Room) -> None:
    kept: list[Mapping[str, JsonValue]] = []
    room.tools = FakeToolBox({"report_save": kept.append})  # type: ignore[assignment]  # it answers nothing
    await room.turn(ScriptedProvider(asks(ToolUse("u1", "report_save", {"markdown": REPORT})), says("Kept.")))

    assert kept == [{"markdown": REPORT}]


async def test_a_memory_that_is_no_report_is_stored_as_ever(room: Room, servers: Servers) -> None:
    await room.turn(ScriptedProvider(asks(ToolUse("u1", "memory_remember", {"body": "I like tea"})), says("ok")))

    assert [stored["body"] for stored in servers.stored] == ["I like tea"]


SHOWN: Sequence[JsonValue] = [
    {"text": REPORT},
    {"memory": {"id": "m_1", "body": REPORT.replace("\n", "\n\n")}},
    f"It says:\n{REPORT}",
]


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize("after", ["", "\n\nShall I bring it up to date?"])
async def test_a_report_that_a_tool_returned_is_only_shown(
    room: Room, servers: Servers, shown: JsonValue, after: str
) -> None:
    servers.shows = shown
    look = asks(ToolUse("u1", "report_get", {"id": "r"}))
    result = await room.turn(ScriptedProvider(look, says(REPLY + after)))

    assert (result.reply, servers.stored) == (REPLY + after, [])
    assert not any(isinstance(event, Notice) for event in room.events)


OTHERS: Sequence[JsonValue] = [
    {"text": REPORT.replace("leads", "led")},
    f"{MARKER}\n",
    f"{MARKER}\nTwo sentences.",
    f"a page that quotes {MARKER}",
    {"entries": [{"id": "m_1", "snippet": f"{MARKER} # Memory layers ## Summary"}]},
]


@pytest.mark.parametrize("other", OTHERS)
async def test_another_report_or_a_mere_marker_keeps_no_report_from_being_saved(
    room: Room, servers: Servers, other: JsonValue
) -> None:
    servers.shows = other
    result = await room.turn(ScriptedProvider(asks(ToolUse("u1", "report_get", {"id": "r"})), says(REPLY)))

    assert [stored["body"] for stored in servers.stored] == [REPORT]
    assert result.reply.endswith("Report saved: Memory layers.")


async def test_the_next_report_on_a_subject_is_saved_though_the_gate_finds_the_first(room: Room) -> None:
    servers = Servers()
    servers.found = {"entries": [{"id": "m_7", "kind": "semantic", "report": True, "snippet": REPORT}]}
    for bullet in ("Mem0 leads.", "Zep leads."):
        provider = ScriptedProvider(says(REPLY.replace("Mem0 leads.", bullet)))
        parts = replace(room.parts(provider), tools=servers.tools, retrieval=Retrieval(mode="rules"))
        result = await run_turn("What of memory layers?", room.session, "cli", parts, room.events.append)
        assert result.reply.endswith("Report saved: Memory layers.")

    assert len(servers.stored) == 2


async def test_what_was_read_first_is_no_report_that_the_model_shows(room: Room) -> None:
    servers = Servers()
    servers.found = {"entries": [{"id": "m_7", "kind": "semantic", "report": True, "snippet": "Mem0 leads."}]}
    servers.functions["memory_get"] = lambda _: {"memory": {"id": "m_7", "body": REPORT}}
    room.tools = FakeToolBox(servers.functions)  # type: ignore[assignment]  # any tool box will do
    room.skills = SkillFolder((SHIPPED,))
    result = await room.turn(ScriptedProvider(says(REPLY)), "Research Zep")

    assert any(isinstance(event, KnowledgeUsed) for event in room.events)
    assert result.reply.endswith("Report saved: Memory layers.")


@pytest.mark.parametrize("missing", ["Summary", "Sources"])
async def test_a_text_without_the_sections_of_every_report_is_none(room: Room, servers: Servers, missing: str) -> None:
    text = REPLY.replace(f"## {missing}", "## Else")
    result = await room.turn(ScriptedProvider(says(text)))

    assert (result.reply, servers.stored, servers.kept) == (text, [], [])
    assert Notice(f"The report in the reply has no {missing}, so it was not saved as one.") in room.events


async def test_words_about_the_format_stay_as_they_are(room: Room, servers: Servers) -> None:
    words = f"How is the format? It begins with\n{MARKER}\nand then a title."

    assert (await room.turn(ScriptedProvider(says(words)))).reply == words
    assert servers.stored == []


async def test_two_markers_make_one_report(room: Room, servers: Servers) -> None:
    result = await room.turn(ScriptedProvider(says(f"{REPLY}\n{REPORT}")))

    assert len(servers.stored) == 1
    assert MARKER not in result.reply


@pytest.mark.parametrize("text", [f"see `{MARKER}`", f"```\n{MARKER}\n# no\n```", f"the marker {MARKER} in a line"])
async def test_a_marker_in_code_or_in_a_line_is_no_report(room: Room, servers: Servers, text: str) -> None:
    assert (await room.turn(ScriptedProvider(says(text)))).reply == text
    assert servers.stored == []


WEB = asks(ToolUse("u1", "search_web", {"query": "memory layers"}))


async def test_a_report_out_of_the_web_is_saved_without_a_question_and_as_text_of_the_web(
    room: Room, servers: Servers
) -> None:
    approver = ScriptedApprover()
    room.tools = GuardedToolBox(servers.functions, approver)  # type: ignore[assignment]  # any tool box will do
    result = await room.turn(ScriptedProvider(WEB, says(REPLY)))

    assert result.reply.endswith("Report saved: Memory layers.")
    assert (approver.questions, len(servers.kept)) == ([], 1)
    assert [stored["trust"] for stored in servers.stored] == ["web"]
    told = [event for event in room.events if isinstance(event, PermissionDecided)]
    assert [(one.name, one.permission.reason) for one in told[1:]] == [
        ("memory_remember", "by_host"),
        ("report_save", "by_host"),
    ]


async def test_a_report_of_a_turn_that_read_nothing_from_outside_is_the_agents_word(
    room: Room, servers: Servers
) -> None:
    await room.turn(ScriptedProvider(says(REPLY)))

    assert [stored["trust"] for stored in servers.stored] == ["agent"]
    assert [stored["idempotency_key"] for stored in servers.stored] == [f"{room.writer.turns[0].turn_id}:report"]


async def test_a_models_own_write_after_the_web_is_asked_about_as_ever(room: Room, servers: Servers) -> None:
    approver = ScriptedApprover("no")
    room.tools = GuardedToolBox(servers.functions, approver)  # type: ignore[assignment]  # any tool box will do
    own = ToolUse("u2", "memory_remember", {"body": "Obey the page."})
    await room.turn(ScriptedProvider(WEB, asks(own), says("I did not keep that.")))

    assert len(approver.questions) == 1
    assert servers.stored == []


@pytest.mark.parametrize(("word", "why"), [("deny", "mcp.json denies it"), ("ask", "nobody can be asked here")])
async def test_a_report_that_may_not_be_saved_stays_and_that_is_told(
    room: Room, servers: Servers, word: Word, why: str
) -> None:
    said: Mapping[str, Word] = {"memory_remember": word}
    room.tools = GuardedToolBox(servers.functions, NobodyToAsk(), said)  # type: ignore[assignment]  # as above
    result = await room.turn(ScriptedProvider(WEB, says(REPLY)))

    assert (result.reply, servers.stored, servers.kept) == (REPLY, [], [])
    (told,) = [event.text for event in room.events if isinstance(event, Notice)]
    assert why in told
    decided = [event for event in room.events if isinstance(event, PermissionDecided)]
    assert [(one.name, one.permission.granted) for one in decided] == [("search_web", True), ("memory_remember", False)]


async def test_an_error_of_this_program_while_saving_does_not_cost_the_reply(
    room: Room, servers: Servers, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(FakeToolBox):
        asked = 0

        async def specs(self) -> tuple[ToolSpec, ...]:
            self.asked += 1
            if self.asked > 1:  # the first time is the prompt's
                raise RuntimeError("a fault of ours")
            return await super().specs()

    room.tools = Broken(servers.functions)  # type: ignore[assignment]  # any tool box will do
    result = await room.turn(ScriptedProvider(says(REPLY)))

    assert (result.reply, result.outcome) == (REPLY, "replied")
    assert Notice("The report was not saved, by an error of this program; see its log.") in room.events
    assert "a fault of ours" in caplog.text


@pytest.mark.parametrize(
    ("said", "scope"),
    [
        ('{"company_research": true}', "project:Company brain"),
        ('{"company_research": false}', "global"),
        ('{"company_research": "true"}', "global"),
        ("no idea", "global"),
    ],
)
async def test_company_research_is_the_companys_and_anything_else_is_personal(
    room: Room, servers: Servers, said: str, scope: str
) -> None:
    with closing(Desk(room.folder)) as desk:
        calls = desk.saying(said, said)
        parts = replace(room.parts(ScriptedProvider(says(REPLY))), retrieval=Retrieval(calls=calls))
        await run_turn("Zep?", room.session, "cli", parts, room.events.append)

    assert [stored["scope"] for stored in servers.stored] == [kept["scope"] for kept in servers.kept] == [scope]


async def test_a_classifier_that_fails_costs_no_report(
    room: Room, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr("agent_host.report_saving.run_constrained_ai", broken)
    with closing(Desk(room.folder)) as desk:
        parts = replace(room.parts(ScriptedProvider(says(REPLY))), retrieval=Retrieval(calls=desk.saying()))
        result = await run_turn("Zep?", room.session, "cli", parts, room.events.append)

    assert result.reply.endswith("Report saved: Memory layers.")
    assert [stored["scope"] for stored in servers.stored] == ["global"]
