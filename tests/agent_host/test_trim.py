"""Results that a model has read shrink in later calls; what it has not read yet never does."""

from __future__ import annotations

import json

import pytest

from agent_host.providers.protocol import Block, Message, Text, ToolResult, ToolUse
from agent_host.report_digest import DIGEST_CHARACTERS, MARKER
from agent_host.trim import KEPT_CHARACTERS, UNCUT_CHARACTERS, trimmed

TILES = json.dumps(
    [{"label": "Raised", "value": "$24M", "note": "2025-10-28"}, {"label": "Run cost", "value": "$1.20"}]
)
REPORT = f"Two sentences.\n\n{MARKER}\n# Rivals\n\n## Summary\n- one\n- two\n\n```prometheus-metrics\n{TILES}\n```\n"


def asked(number: int) -> Message:
    return Message("assistant", (ToolUse(f"u{number}", "search_web", {}),))


def answered(number: int, content: str) -> Message:
    return Message("user", (ToolResult(f"u{number}", content, is_error=False),))


def conversation(*contents: str) -> tuple[Message, ...]:
    rows = [Message("user", (Text("go"),))]
    for number, content in enumerate(contents):
        rows += [asked(number), answered(number, content)]
    return tuple(rows)


def results(messages: tuple[Message, ...]) -> list[str]:
    def content(block: Block) -> list[str]:
        return [block.content] if isinstance(block, ToolResult) else []

    return [text for message in messages for block in message.blocks for text in content(block)]


def test_six_results_of_50_kb_cost_less_than_half_of_what_they_would() -> None:
    contents = [f"{number}" * 50_000 for number in range(6)]
    steps = [conversation(*contents[: count + 1]) for count in range(6)]
    sent = sum(len(text) for step in steps for text in results(trimmed(step)))
    untrimmed = sum(len(text) for step in steps for text in results(step))

    assert untrimmed > 700_000
    assert sent < untrimmed / 2
    assert all(results(trimmed(step))[-1] == results(step)[-1] for step in steps)


def test_a_cut_result_says_how_long_it_was_and_is_cut_once() -> None:
    once = trimmed(conversation("x" * 50_000, "next"))
    first = results(once)[0]

    assert first.startswith("x" * KEPT_CHARACTERS + "\n[cut:")
    assert "of 50000 characters" in first
    assert trimmed(once) == once
    assert trimmed((*once, asked(9), answered(9, "more"))) == (*once, asked(9), answered(9, "more"))


@pytest.mark.parametrize("length", [0, 2 * DIGEST_CHARACTERS + 1, UNCUT_CHARACTERS])
def test_a_result_of_up_to_4_000_characters_is_left_as_it_is(length: int) -> None:
    messages = conversation("x" * length, "next")

    assert trimmed(messages) == messages


def test_what_an_earlier_turn_read_is_cut_too() -> None:
    earlier = (*conversation("x" * 9_000), Message("assistant", (Text("done"),)), Message("user", (Text("and now?"),)))

    assert len(results(trimmed(earlier))[0]) < 2 * KEPT_CHARACTERS


def test_a_whole_report_becomes_its_digest_and_keeps_what_names_it() -> None:
    named = {"id": "m_1", "kind": "semantic", "scope": "global", "created_at": "2026-11-01"}
    body = f"{REPORT}\n## Findings\n{'x' * 4_000}"
    once = trimmed(conversation(json.dumps({"memory": {**named, "body": body, "trust": "agent"}}), "next"))

    digest = "Rivals\n- one\n- two\nRaised: $24M (2025-10-28)"
    assert json.loads(results(once)[0]) == {"memory": {**named, "digest": digest}}
    assert trimmed(once) == once


@pytest.mark.parametrize(("more", "is_cut"), [(-1, False), (0, False), (1, True)])
def test_a_report_becomes_its_digest_once_it_is_twice_as_long_as_one_may_be(more: int, *, is_cut: bool) -> None:
    start = json.dumps({"memory": {"id": "m_1", "body": REPORT}})[:-3]
    content = start + "x" * (2 * DIGEST_CHARACTERS + more - len(start) - 3) + '"}}'
    (sent, _) = results(trimmed(conversation(content, "next")))

    assert len(content) == 2 * DIGEST_CHARACTERS + more
    assert ("digest" in sent) is is_cut


def test_a_digest_says_whose_words_it_holds() -> None:
    memory = {"id": "m_1", "origin": "prometheus", "untrusted": True, "body": f"{REPORT}\n{'x' * 4_000}"}
    kept = json.loads(results(trimmed(conversation(json.dumps({"memory": memory}), "next")))[0])["memory"]

    assert (kept["origin"], kept["untrusted"]) == ("prometheus", True)


@pytest.mark.parametrize(
    "content", ["[" * 5_000, "null" + " " * 5_000, '{"memory": []}' + " " * 5_000, '"' + "x" * 5_000]
)
def test_what_is_no_report_is_cut_as_text(content: str) -> None:
    assert results(trimmed(conversation(content, "next")))[0].startswith(content[:KEPT_CHARACTERS] + "\n[cut:")
