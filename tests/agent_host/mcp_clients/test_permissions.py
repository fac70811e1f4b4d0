from __future__ import annotations

from collections.abc import Mapping

import pytest

from agent_host.mcp_clients.permissions import (
    Reason,
    Subject,
    Word,
    brings_others_words,
    permission,
    rules_for_nothing,
)


def _tool(
    server: str = "far",
    tool: str = "write",
    said: Mapping[str, Word] | None = None,
    *,
    read_only: bool = False,
    always: bool = False,
) -> Subject:
    builtin = server in {"memory", "calendar", "notes", "messages", "reports", "search"}
    return Subject(server, tool, builtin, read_only, destructive=False, said=said or {}, always=always)


@pytest.mark.parametrize(
    ("subject", "before", "after"),
    [
        (_tool(read_only=True), ("allow", "read_only"), ("allow", "read_only")),
        (_tool("memory"), ("allow", "own_store"), ("ask", "untrusted")),
        (_tool("calendar"), ("allow", "own_store"), ("ask", "untrusted")),
        (_tool("notes"), ("allow", "own_store"), ("ask", "untrusted")),
        (_tool("messages"), ("allow", "own_store"), ("ask", "untrusted")),
        (_tool("far"), ("ask", "write"), ("ask", "untrusted")),
        (_tool("search"), ("ask", "write"), ("ask", "untrusted")),
    ],
)
def test_by_default_writes_outside_and_writes_after_others_words_are_asked_about(
    subject: Subject, before: tuple[Word, Reason], after: tuple[Word, Reason]
) -> None:
    assert permission(subject, after_untrusted=False) == before
    assert permission(subject, after_untrusted=True) == after


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (_tool("memory"), ("allow", "by_host")),
        (_tool("reports"), ("allow", "by_host")),
        (_tool("memory", read_only=True), ("allow", "read_only")),
        (_tool("memory", said={"*": "ask"}), ("ask", "server")),
        (_tool("memory", said={"write": "deny"}), ("deny", "tool")),
        (_tool("far"), ("ask", "untrusted")),
        (_tool("search"), ("ask", "untrusted")),
    ],
)
def test_what_the_host_does_by_itself_no_page_has_asked_for(subject: Subject, expected: tuple[Word, Reason]) -> None:
    assert permission(subject, after_untrusted=True, by_host=True) == expected


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (_tool(said={"*": "deny", "write": "allow"}), ("allow", "tool")),
        (_tool(said={"*": "allow", "write": "deny"}), ("deny", "tool")),
        (_tool(said={"write": "ask"}, always=True), ("ask", "tool")),
        (_tool(said={"*": "deny"}, always=True), ("deny", "server")),
        (_tool(said={"*": "ask"}, always=True), ("allow", "always")),
        (_tool(said={"*": "ask"}, read_only=True), ("ask", "server")),
        (_tool(said={"other": "deny"}, always=True), ("allow", "always")),
    ],
)
def test_the_most_particular_word_of_the_person_wins_whatever_the_turn_has_read(
    subject: Subject, expected: tuple[Word, Reason]
) -> None:
    assert permission(subject, after_untrusted=False) == expected
    assert permission(subject, after_untrusted=True) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"far_write": "deny"}, ("deny", "tool")),
        ({"far_write": "ask"}, ("ask", "tool")),
        ({"far_write": "allow"}, ("ask", "write")),
        ({"far_write": "deny", "write": "allow"}, ("allow", "tool")),
    ],
)
def test_what_forbids_a_tool_counts_by_the_name_a_model_calls_it_by_too(
    said: Mapping[str, Word], expected: tuple[Word, Reason]
) -> None:
    assert permission(_tool(said=said), after_untrusted=False) == expected


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"*": "ask", "delete": "deny", "far_write": "deny"}, []),
        ({"delet": "deny"}, ["a rule for 'delet' of 'far', which has no such tool; did you mean 'delete'?"]),
        ({"far_write": "allow"}, ["did you mean 'write'?"]),
        ({"zzz": "ask"}, ["take it out, or correct its name."]),
    ],
)
def test_a_rule_that_is_about_no_tool_is_named(said: Mapping[str, Word], words: list[str]) -> None:
    told = list(rules_for_nothing(said, "far", ["write", "delete"]))
    assert len(told) == len(words)
    assert all(expected in sentence for expected, sentence in zip(words, told, strict=True))


def test_answers_of_other_servers_and_of_the_web_hold_others_words_whatever_they_say() -> None:
    assert brings_others_words("far", {"untrusted": False}, builtin=False)
    assert brings_others_words("search", None, builtin=True)
    assert not brings_others_words("memory", {"entries": [{"text": "tea"}]}, builtin=True)


def test_a_mark_counts_at_any_depth_and_no_depth_is_too_deep() -> None:
    assert brings_others_words("memory", {"entries": [{"text": "x"}, {"untrusted": True}]}, builtin=True)
    deep: object = {"untrusted": True}
    for _ in range(5_000):
        deep = [deep]
    assert brings_others_words("calendar", deep, builtin=True)
    assert not brings_others_words("calendar", {"untrusted": "True"}, builtin=True)
