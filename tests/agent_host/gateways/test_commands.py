"""Slash commands: each answers without a turn, and bad arguments cost a sentence."""

from __future__ import annotations

import stat
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from agent_host.chat_log import SessionSummary
from agent_host.constrained.options import ReviewCase
from agent_host.constrained.store import CallStore
from agent_host.gateways.commands.table import COMMANDS
from agent_host.gateways.terminal.completion import SlashCompleter, choices
from agent_host.receipts.protocol import ReceiptStatus
from agent_host.tracing.events import Emit
from agent_host.turn import TurnResult
from tests.agent_host.constrained.parts import MESSAGE, sure_spec
from tests.agent_host.gateways.talking import EchoHost, desk_of, talk
from tests.agent_host.receipts.test_spool import RECEIPT


async def test_help_lists_every_command_with_what_it_takes_and_the_keys() -> None:
    host, shown = await talk("/help", "/help resume", None)

    assert host.heard == []
    assert all(f"{one.usage} " in shown and one.help in shown for one in COMMANDS)
    assert "Alt-Enter" in shown
    assert shown.count("/resume [N | ID]") == 2


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("/nonsense now", "There is no command /nonsense; /help lists them."),
        ("/recipt", "did you mean /receipt?"),
        ("/memory of tea", "/memory takes nothing after it"),
        ("/help nothing", "There is no command /nothing"),
        ("/receipt", "There is no receipt yet"),
        ("/receipt 5", "There is no receipt '5'"),
        ("/cost 3w", "There is no window '3w'"),
        ("/model two words", "A model's name is one word"),
        ("/review maybe c_1", "accept, reject or amend"),
        ("/review amend c_1 {", "The amended output cannot be used"),
        ("/export", "nothing to export"),
    ],
)
async def test_what_a_command_cannot_take_costs_one_sentence(tmp_path: Path, typed: str, told: str) -> None:
    host, shown = await talk(typed, None, home=tmp_path)

    assert host.heard == []
    assert told in shown
    assert shown.count("\n") == 1


async def test_commands_are_found_in_any_case_and_after_any_white_space() -> None:
    _, shown = await talk("/TOOLS\tnote", None)

    assert shown == "notes_write  Writes a note.\n"


async def test_tools_are_listed_whole_or_by_a_word() -> None:
    _, shown = await talk("/tools", "/tools piano", None)

    assert shown == "memory_search  Finds memories.\nnotes_write    Writes a note.\nNo tool has 'piano' in it.\n"


async def test_sessions_are_listed_and_one_is_resumed_by_number_or_id() -> None:
    host, shown = await talk("/sessions", "/resume 2", "/resume s_1", "/resume", None)

    assert "1  1970-01-01 05:30  About 3  (3 turns, s_3)" in shown
    assert "Going on with “About 2” (2 turns)." in shown
    assert "Type /resume and a number." in shown
    assert host.resumed == ["s_2", "s_1"]


@pytest.mark.parametrize("told", ["0", "4", "99999999999999999999", "s_9", "-1", "²"])
async def test_a_session_there_is_not_costs_a_sentence(told: str) -> None:
    host, shown = await talk(f"/resume {told}", None)

    assert host.resumed == []
    assert "There is no session" in shown


async def test_memory_shows_the_newest_and_what_waits() -> None:
    host, shown = await talk("/memory", None)

    assert host.heard == []
    assert "2026-11-03  Ana likes tea. (untrusted)" in shown
    assert "Newest episodes\n(none)" in shown
    assert "4 rows of the conversation are not consolidated yet." in shown


async def test_a_session_that_goes_on_begins_with_its_last_words() -> None:
    host = EchoHost()
    host.rows = [
        ("user", "first"),
        ("assistant", "one"),
        ("user", "Where\nwere we?"),
        ("assistant", f"Here \x1b[2J{'x' * 400}\n\n[tools used: notes_write()]"),
    ]

    _, shown = await talk("/resume 1", None, host=host)

    going, message, reply = shown.splitlines()
    assert going == "Going on with “About 3” (3 turns)."
    assert message == "you > Where were we?"
    assert reply.startswith("Here \\x1b[2Jxxx")
    assert (len(reply), reply[-1]) == (300, "…")


async def test_said_words_are_found_in_any_session() -> None:
    _, shown = await talk("/sessions green tea", "/sessions coffee", None)

    assert "1970-01-01 05:30  s_2  we spoke of green tea" in shown
    assert "Nothing that was said here holds all of these words." in shown


async def test_a_receipt_is_expanded_to_its_table() -> None:
    _, shown = await talk("hello", "/receipt", "/receipt 4", "/receipt t_4", None)

    assert shown.count("tool        notes_write (notes): 1 ok") == 3
    assert shown.count(f"hash        {'a' * 64}") == 3
    assert "`agent-host receipts show 4 --json`" in shown


async def test_a_receipt_that_waits_is_expanded_too() -> None:
    class Away(EchoHost):
        async def turn(self, text: str, watch: Emit) -> TurnResult:
            del watch
            return TurnResult(text, "replied", RECEIPT, ReceiptStatus(None, 2))

    _, shown = await talk("hello", "/receipt", None, host=Away())

    assert "unsigned, queued (2)" in shown
    assert "tool        memory_search (memory): 1 ok" in shown
    assert "It is not signed yet." in shown


async def test_the_model_is_shown_with_its_price_and_can_be_changed() -> None:
    host, shown = await talk("/model", "/model claude-sonnet-5-5", "/model claude-next", None)

    assert host.who.model == "claude-next"
    assert "claude-opus-5-5 by anthropic answers, $4.00 in / $20.00 out per million tokens." in shown
    assert "From the next message on claude-sonnet-5-5 by anthropic answers, $2.00 in" in shown
    assert "claude-next by anthropic answers, no price known." in shown


async def test_cost_sums_this_conversation_and_says_what_has_no_price(tmp_path: Path) -> None:
    class Dear(EchoHost):
        async def turn(self, text: str, watch: Emit) -> TurnResult:
            del watch
            model = replace(RECEIPT.model, priced=text != "free?")
            receipt = replace(RECEIPT, model=model, total_micro_usd=1_500_000 if model.priced else 0)
            return TurnResult(text, "replied", receipt, ReceiptStatus(None, 2))

    _, shown = await talk("a", "b", "free?", "/cost", None, host=Dear(), home=tmp_path)

    assert "Since this program began: $3.000 est, without 1 turn whose price is not known." in shown
    assert "No model was asked in this window (today)." in shown


async def test_an_export_is_a_new_private_markdown_file_without_tool_notes(tmp_path: Path) -> None:
    host, path = EchoHost(), tmp_path / "talk.md"
    host.rows = [("user", "Write *that* down"), ("assistant", "Done.\n\n[tools used: notes_write()]")]

    _, shown = await talk(f"/export {path}", f"/export {path}", f"/export {tmp_path}", None, host=host)

    text = path.read_text()
    assert (
        text
        == "# Write *that* down\n\nSession `s_now`, 1 messages.\n\n## You\n\nWrite *that* down\n\n## Agent\n\nDone.\n"
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert f"{path} is there already and stays as it is" in shown
    assert (tmp_path / "conversation-write-that-down.md").exists()


@pytest.mark.parametrize("name", ["no/such/folder/x.md", "~nobody-of-this-name/x.md", "x\0y"])
async def test_an_export_that_cannot_be_written_says_so(tmp_path: Path, name: str) -> None:
    host = EchoHost()
    host.rows = [("user", "hello")]
    desk = desk_of(host, tmp_path)
    export = next(one for one in COMMANDS if one.name == "/export")

    with pytest.raises(Exception, match="name another"):
        await export.run(desk, name if name.startswith("~") else f"{tmp_path}/{name}")


async def test_skills_are_listed_and_a_file_that_is_none_is_explained(tmp_path: Path) -> None:
    (tmp_path / "skills/broken").mkdir(parents=True)
    (tmp_path / "skills/broken/SKILL.md").write_text("no front matter")

    _, shown = await talk("/skills", None, home=tmp_path)

    assert "research-report  " in shown
    assert "The skill broken has no front matter" in shown


async def test_servers_are_listed_without_a_turn(tmp_path: Path) -> None:
    host, shown = await talk("/mcp", "/mcp accept nobody", "/mcp dance", None, home=tmp_path)

    assert host.heard == []
    assert "calendar  built in, not started yet" in shown
    assert "There is no server 'nobody'" in shown
    assert "Type /mcp for the list of servers" in shown


def completed(line: str, home: Path, host: EchoHost | None = None) -> list[str]:
    return [one.text for one in choices(COMMANDS, desk_of(host or EchoHost(), home), line)]


def test_names_are_completed_and_then_what_they_take(tmp_path: Path) -> None:
    assert completed("/re", tmp_path) == ["/resume", "/receipt", "/review"]
    assert completed("/resume ", tmp_path) == ["1", "2", "3"]
    assert completed("/help se", tmp_path) == ["sessions"]
    assert completed("/cost t", tmp_path) == ["today"]
    assert completed("/quit ", tmp_path) == []
    assert completed("/nothing ", tmp_path) == []
    assert completed("/mcp ", tmp_path) == ["list"]
    assert completed("/review ", tmp_path) == []


def test_models_of_the_provider_that_is_set_are_offered(tmp_path: Path) -> None:
    desk = desk_of(EchoHost(), tmp_path)
    desk.settings = replace(desk.settings, values={**desk.settings.values, "PROMETHEUS_PROVIDER": "anthropic"})

    found = {one.text: one.about for one in choices(COMMANDS, desk, "/model claude-opus-5")}

    assert found["claude-opus-5"] == "$5.00 in / $25.00 out per million tokens"
    assert completed("/model ", tmp_path) == []


def test_what_cannot_be_read_offers_nothing(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text("{")

    assert completed("/mcp ", tmp_path) == []


def test_a_title_that_would_steer_the_terminal_is_spelled_out_where_it_is_offered(tmp_path: Path) -> None:
    class Hostile(EchoHost):
        def sessions(self, limit: int) -> list[SessionSummary]:
            del limit
            return [SessionSummary("s_1", "hi\x1b]0;owned\x07 \u202eback", "cli", 1, 0)]

    offered = SlashCompleter(COMMANDS, desk_of(Hostile(), tmp_path))
    (one,) = offered.get_completions(Document("/resume "), CompleteEvent())

    assert one.display_meta_text == "1970-01-01 05:30 hi\\x1b]0;owned\\x07 \\u202eback"


def test_a_message_is_not_completed(tmp_path: Path) -> None:
    offered = SlashCompleter(COMMANDS, desk_of(EchoHost(), tmp_path))

    assert list(offered.get_completions(Document("resume "), CompleteEvent())) == []
    assert list(offered.get_completions(Document("/resume\n"), CompleteEvent())) == []


def test_what_waits_for_a_verdict_is_offered_with_each_of_them(tmp_path: Path) -> None:
    desk = desk_of(EchoHost(), tmp_path)
    with closing(CallStore(desk.settings.home.folder("host") / "calls.db")) as store:
        store.queue(ReviewCase("c_1", sure_spec(), MESSAGE, None, "unsure"), 0)

    assert completed("/review ", tmp_path) == ["accept c_1", "reject c_1", "amend c_1"]
