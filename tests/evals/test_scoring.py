"""Tool calls against what a case expects of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.deterministic.tool_choice import CASES
from evals.scoring import Case, ToolCall, load_cases, problems

BOOK = ToolCall("calendar_create_event", {"title": "Call with Zoë", "start": "2026-12-02T15:00"})
SEARCH = ToolCall("memory_search", {"query": "team"})


def case(**members: object) -> Case:
    return Case(**{"id": "x", "input": "y", **members})  # type: ignore[arg-type]


def test_the_expected_tool_with_the_expected_arguments_is_met() -> None:
    expected = case(expect_tool="calendar_create_event", expect_in_args=("ZOË", "t15:00"), expect_min_tool_calls=2)

    assert problems(expected, [SEARCH, BOOK]) == []


def test_another_tool_is_named() -> None:
    assert problems(case(expect_tool="notes_write"), [BOOK]) == [
        "notes_write was not called; called: calendar_create_event"
    ]
    assert problems(case(expect_tool="notes_write"), []) == ["notes_write was not called; called: none"]


def test_no_tool_may_fire_where_none_is_expected_and_any_may_where_nothing_is_said() -> None:
    assert problems(case(expects_none=True), [SEARCH]) == ["no tool may be called; called: memory_search"]
    assert problems(case(expects_none=True), []) == []
    assert problems(case(), [SEARCH]) == problems(case(), []) == []


def test_an_argument_of_another_tools_call_does_not_count() -> None:
    assert problems(case(expect_tool="calendar_create_event", expect_in_args=("team",)), [SEARCH, BOOK]) == [
        "no call of calendar_create_event has 'team' in its arguments"
    ]


def test_too_few_calls_and_a_forbidden_one_are_told() -> None:
    found = problems(case(expect_min_tool_calls=2, expect_not_tools=("memory_search",)), [SEARCH])

    assert found == ["1 calls, fewer than 2: memory_search", "memory_search may not be called"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "Line 2"),
        ('{"id": "b"}', "'input'"),
        ('{"id": "b", "input": "x", "expect_tol": null}', "unknown members expect_tol"),
        ('{"id": "a", "input": "x"}', "id 'a' of another case"),
        ('{"id": "b", "input": "x", "expect_min_tool_calls": "many"}', "Line 2"),
    ],
)
def test_a_line_that_is_no_case_is_refused_by_number(tmp_path: Path, line: str, why: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(f'{{"id": "a", "input": "x", "expect_tool": null}}\n{line}\n')

    with pytest.raises(ValueError, match=why):
        load_cases(path)


def test_null_and_nothing_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"id": "a", "input": "x", "expect_tool": null}\n\n{"id": "b", "input": "x"}\n')

    assert [one.expects_none for one in load_cases(path)] == [True, False]


def test_the_shipped_cases_are_cases_and_cover_the_failures_that_are_known() -> None:
    ids = {one.id for one in load_cases(CASES)}

    assert len(ids) >= 16
    assert {"musing-must-not-book", "both-halves", "instruction-in-a-memory", "time-zone-booking"} <= ids
