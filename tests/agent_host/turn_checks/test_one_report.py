"""A research turn leaves one report."""

from __future__ import annotations

import pytest

from agent_host.turn_checks.one_report import one_report
from tests.agent_host.turn_checks.turns import MARKER, SKILL, llm, memory_search, saved_report, tool, turn

REPORT = {"type": "report", "title": "Zep", "memory_id": "mem_r"}


def test_a_research_turn_that_saved_one_report_passes() -> None:
    assert one_report(turn("Report saved: Zep.", SKILL, saved_report(), REPORT)).value == 1


def test_a_report_in_the_reply_passes_where_no_memory_server_is() -> None:
    assert one_report(turn(f"Here it is.\n{MARKER}\n# Zep", SKILL, tool("search_web", "x"), llm())).value == 1


@pytest.mark.parametrize("skills", [(), (SKILL,)])
def test_two_saved_reports_fail_in_any_turn(skills: tuple[dict[str, object], ...]) -> None:
    found = one_report(turn("Saved.", *skills, saved_report(), saved_report()))

    assert (found.value, found.note) == (0, "2 reports were saved")
    assert one_report(turn("Saved.", *skills, REPORT, REPORT)).value == 0


def test_a_report_that_was_known_already_is_no_second_one() -> None:
    assert one_report(turn("Saved.", SKILL, saved_report(), saved_report(deduped=True), REPORT)).value == 1


@pytest.mark.parametrize(
    "message",
    [
        "Research Zep, but don't write a report.",
        "Research Zep without a report",
        "research zep, no full report please",
        "Research Zep. I do not need any report.",
        "Recherchiere Zep, aber keinen Bericht.",
    ],
)
def test_a_message_that_asks_for_no_report_gets_none(message: str) -> None:
    assert one_report(turn("Zep is small.", SKILL, llm(), message=message)).value is None
    assert one_report(turn("Zep is small.", SKILL, saved_report(), message=message)).value == 0


@pytest.mark.parametrize("message", ["Research Zep and write a report", "Is there no research on Zep? Report it."])
def test_a_message_that_speaks_of_reports_asks_for_one(message: str) -> None:
    assert one_report(turn("Zep.", SKILL, tool("search_web", "x"), llm(), message=message)).value == 0


def test_a_research_turn_that_read_the_web_and_saved_nothing_fails() -> None:
    assert one_report(turn("Zep is small.", SKILL, memory_search(), tool("search_web", "x"), llm())).value == 0


def test_a_report_that_was_not_saved_though_there_is_a_memory_fails() -> None:
    assert one_report(turn(f"{MARKER}\n# Zep", SKILL, memory_search(), llm())).value == 0


def test_it_does_not_apply_to_other_turns_old_traces_answers_from_memory_and_the_offline_rules() -> None:
    assert one_report(turn("Hello.", llm())).note == "no research turn"
    assert one_report(turn("Zep.", tool(), version=1)).note.startswith("an old trace")
    assert one_report(turn("Zep.", SKILL, memory_search("Zep is small."), llm())).note.endswith("memory alone")
    assert one_report(turn("Zep.", SKILL, tool("search_web", "x"), llm(provider="offline"))).value is None
    assert one_report(turn("Cancelled.", SKILL, outcome="cancelled")).value is None
