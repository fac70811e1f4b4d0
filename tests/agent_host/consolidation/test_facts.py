"""Batches out of rows, and memories out of what a summariser says of one."""

from __future__ import annotations

import json

import pytest

from agent_host.consolidation.batch import BATCH_CHARACTERS, SIDE_CHARACTERS, Batch, LogRow, batch_of
from agent_host.consolidation.facts import COMPANY_SCOPE, capped, episode, proposed_facts, without
from agent_host.providers.protocol import JsonValue
from agent_host.report_digest import MARKER

REPORT = f"{MARKER}\n# Vector stores\n## Summary\n- Zep Cloud raised 2.3M."


def exchange(turn: int, message: str = "m", reply: str = "r", **meta: JsonValue) -> list[LogRow]:
    return [
        LogRow(2 * turn, "s_1", f"t_{turn}", "user", message, "{}", 1_000),
        LogRow(2 * turn + 1, "s_1", f"t_{turn}", "assistant", reply, json.dumps(meta), 1_000),
    ]


def batch(*rows: list[LogRow]) -> Batch:
    made = batch_of(row for pair in rows for row in pair)
    assert made is not None
    return made


def output(*facts: JsonValue, **members: JsonValue) -> JsonValue:
    return {"facts": list(facts), "episode": "", "company_research": False, **members}


TEA: JsonValue = {"subject": "Ana", "content": "Ana likes tea."}


def test_a_batch_holds_whole_exchanges_in_order_without_notes() -> None:
    made = batch(exchange(1, "hello", "hi\n\n[tools used: x {} -> y]"), exchange(2))

    assert made.row_ids == (2, 3, 4, 5)
    assert made.values("2026-11-30") == {
        "exchanges": [{"person": "hello", "assistant": "hi"}, {"person": "m", "assistant": "r"}],
        "read": "",
        "today": "2026-11-30",
    }
    assert batch_of(()) is None


def test_turns_with_a_report_are_a_batch_of_their_own_and_their_findings_are_not_read() -> None:
    rows = [exchange(1), exchange(2, "research", f"Done.\n{REPORT}"), exchange(3, "more", "Saved.", report=REPORT)]

    assert batch(*rows).row_ids == (2, 3)
    reports = batch(*rows[1:])
    assert reports.row_ids == (4, 5, 6, 7)
    assert [one.assistant for one in reports.exchanges] == ["Done.", "Saved."]
    assert reports.reports == (REPORT, REPORT)


def test_a_batch_has_an_end() -> None:
    rows = [exchange(turn, "x" * 90_000, "y" * 90_000) for turn in range(1, 21)]

    made = batch(*rows)

    assert len(made.exchanges) == BATCH_CHARACTERS // (2 * SIDE_CHARACTERS)


def test_what_was_read_and_whose_words_came_in_is_summed_up() -> None:
    made = batch(exchange(1, read=["Ana likes tea."]), exchange(2, read=["Ana likes tea.", "x"], outside=True))

    assert made.read == ("Ana likes tea.", "x")
    assert made.outside
    assert {fact.trust for fact in proposed_facts(output(TEA), made)} == {"web"}


@pytest.mark.parametrize("meta", ["no JSON", "[]", '{"read": 7, "report": ""}', "[" * 5_000])
def test_a_note_that_cannot_be_read_says_nothing(meta: str) -> None:
    rows = exchange(1)
    made = batch_of([rows[0], LogRow(3, "s_1", "t_1", "assistant", "r", meta, 1)])

    assert made is not None
    assert (made.read, made.reports, made.outside) == ((), (), False)


def test_facts_without_subject_or_content_are_dropped_and_doubles_are_one() -> None:
    told = output(TEA, {"subject": " ", "content": "x"}, {"subject": "x", "content": ""}, {"subject": "y"}, TEA, "odd")

    (fact,) = proposed_facts(told, batch(exchange(1)))

    assert (fact.kind, fact.subject, fact.content, fact.scope, fact.trust) == (
        "fact",
        "Ana",
        "Ana likes tea.",
        "global",
        "agent",
    )


@pytest.mark.parametrize(
    "nothing", ["\u200b", "\u0000", "\u2060\ufeff", "\u3164", "...", " \u0301", "\u202e", "\ud800", "\x1b"]
)
def test_a_text_with_nothing_to_see_in_it_is_none(nothing: str) -> None:
    told = output({"subject": nothing, "content": "x"}, {"subject": "A", "content": nothing}, episode=nothing)

    assert proposed_facts(told, batch(exchange(1))) == ()
    assert episode(told, batch(exchange(1)), "2026-11-30") == ()


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("Ana\x00 likes\ttea\x1b[2J.", "Ana likes tea [2J."),
        ("\U0001f469\u200d\U0001f4bb", "\U0001f469\u200d\U0001f4bb"),  # what joins an emoji belongs to it
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
        ("\u674e\u56db", "\u674e\u56db"),
        ("7", "7"),
        ("\u20ac", "\u20ac"),
    ],
)
def test_a_text_loses_control_characters_and_nothing_else(content: str, kept: str) -> None:
    (fact,) = proposed_facts(output({"subject": "A", "content": content}), batch(exchange(1)))

    assert fact.content == kept


@pytest.mark.parametrize(
    ("said", "company"), [(True, True), ("true", True), (False, False), ("yes", False), (1, False), (None, False)]
)
def test_only_true_is_company_research(said: JsonValue, company: bool) -> None:
    (fact,) = proposed_facts(output(TEA, company_research=said), batch(exchange(1)))

    assert (fact.kind, fact.scope) == (("reference", COMPANY_SCOPE) if company else ("fact", "global"))


def test_of_turns_with_a_report_what_it_names_is_dropped_and_two_are_kept_at_most() -> None:
    made = batch(exchange(1, report=REPORT))
    told = output(
        {"subject": "zep  cloud", "content": "It raised 2.3M."},
        {"subject": "Ze", "content": "No whole word."},
        TEA,
        {"subject": "Bob", "content": "Bob likes coffee."},
        company_research=True,
    )

    facts = capped(proposed_facts(told, made), made)

    assert [fact.subject for fact in facts] == ["Ze", "Ana"]
    assert {(fact.kind, fact.scope) for fact in facts} == {("fact", "global")}


def test_other_turns_keep_all_their_facts() -> None:
    made = batch(exchange(1))
    told = output(*({"subject": f"S{number}", "content": "x"} for number in range(9)))

    assert len(capped(proposed_facts(told, made), made)) == 9


def test_an_episode_is_dated_and_an_empty_one_is_none() -> None:
    made = batch(exchange(1))

    (one,) = episode(output(episode="They met."), made, "2026-11-30")

    assert (one.kind, one.content, one.happened_on) == ("episode", "They met.", "2026-11-30")
    assert episode(output(episode="  "), made, "2026-11-30") == ()


def test_facts_are_dropped_by_their_numbers() -> None:
    facts = proposed_facts(output(TEA, {"subject": "Bob", "content": "x"}), batch(exchange(1)))

    assert without(facts, {"dropped": [1, 7]}) == facts[1:]
    assert without(facts, None) == facts
