"""What is kept with a turn's reply for the consolidation."""

from __future__ import annotations

from dataclasses import replace

from agent_host.consolidation.reading import READ_CHARACTERS, bounded, heard_outside, what_was_read
from agent_host.mcp_clients.protocol import Permission, ToolOutcome
from agent_host.providers.protocol import JsonValue
from agent_host.report_digest import MARKER
from agent_host.tracing.events import Notice, ToolCalled


def called(server: str, answer: JsonValue, *, failed: bool = False, **arguments: JsonValue) -> ToolCalled:
    return ToolCalled("u1", "x", arguments, ToolOutcome(server, "x", "{}", answer, is_error=failed, duration_ms=1))


def test_a_turn_without_tools_leaves_nothing() -> None:
    assert what_was_read([Notice("x")], "hi") == {}


def test_memories_that_were_read_are_kept_once_and_without_marks() -> None:
    answer: JsonValue = {"entries": [{"id": "m", "snippet": "Ana <<likes>> tea."}, {"snippet": "Ana likes tea."}]}
    whole: JsonValue = {"memory": {"body": "Bob likes coffee."}}

    meta = what_was_read([called("memory", answer), called("memory", whole)], "hi")

    assert meta == {"read": ["Ana likes tea.", "Bob likes coffee."]}


def test_what_failed_or_is_not_memory_was_not_read() -> None:
    answer: JsonValue = {"entries": [{"snippet": "x"}]}

    assert what_was_read([called("memory", answer, failed=True), called("notes", answer)], "hi") == {}


def test_words_from_outside_leave_a_mark() -> None:
    untrusted: JsonValue = {"entries": [{"snippet": "x", "untrusted": True}]}

    assert what_was_read([called("search", {"results": []})], "hi") == {"outside": True}
    assert what_was_read([called("somebody-else", None)], "hi") == {"outside": True}
    assert what_was_read([called("memory", untrusted)], "hi") == {"read": ["x"], "outside": True}


def test_a_call_that_was_not_allowed_brought_nothing_in() -> None:
    refused = called("somebody-else", None, failed=True)
    for granted in (True, False):
        permission = Permission(granted, "write", "no")
        call = replace(refused, outcome=replace(refused.outcome, permission=permission))
        assert heard_outside([call]) is granted
    assert not heard_outside([called("local", None), called("", None, failed=True)])


def test_a_report_is_known_by_the_reply_or_by_what_was_sent_to_a_tool() -> None:
    report = f"{MARKER}\n# Zep\n## Summary\n- Zep is small."

    assert what_was_read([], f"Here it is.\n{report}") == {"report": report}
    assert what_was_read([called("reports", None, markdown=report)], "Saved.") == {"report": report}


def test_what_is_kept_has_an_end() -> None:
    assert sum(map(len, bounded("x" * 4_000 + str(number) for number in range(9)))) == READ_CHARACTERS
    assert bounded(["", "a", "a"]) == ("a",)


def test_a_secret_in_a_memory_is_not_kept_with_the_turn_that_read_it() -> None:
    answer: JsonValue = {"entries": [{"snippet": "The key is sk-abcdefghijklmnop1234."}]}

    assert what_was_read([called("memory", answer)], "hi") == {"read": ["The key is ***."]}
