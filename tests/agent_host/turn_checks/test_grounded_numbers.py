"""The figures of a reply stand in what was read."""

from __future__ import annotations

import json

import pytest

from agent_host.turn_checks.grounded_numbers import grounded_numbers
from tests.agent_host.turn_checks.turns import failing, memory_search, tool, turn

PAGE = "Zep raised $2.3M on 27 December 2023; Mem0 raised $24,000,000 on October 28, 2025, and grew by 45%."


def test_figures_that_a_tool_returned_pass_however_they_are_written() -> None:
    reply = "Zep: 2,300,000 dollars (2023-12-27). Mem0: $24 million (28 Oct 2025), up 45 percent."

    found = grounded_numbers(turn(reply, tool("search_fetch", {"text": PAGE})))

    assert (found.value, found.note) == (1, "5 of 5 figures found")


def test_a_figure_that_nobody_returned_fails_and_is_named() -> None:
    found = grounded_numbers(turn("Zep raised $2.3M, Mem0 $25M, 45% more.", tool("search_fetch", {"text": PAGE})))

    assert found.value == 0
    assert found.note == "2 of 3 figures found; nowhere: $25M"


def test_one_figure_in_ten_may_be_the_models_own() -> None:
    told = tool("search_web", " ".join(str(number) for number in range(20, 29)))
    nine = " ".join(str(number) for number in range(20, 29))

    assert grounded_numbers(turn(f"{nine} 99", told)).value == 1
    assert grounded_numbers(turn(f"{nine} 99 98", told)).value == 0


def test_a_date_of_another_day_fails() -> None:
    reply = "Zep raised $2.3M and Mem0 $24M on 29 October 2025."

    assert "29 October 2025" in grounded_numbers(turn(reply, tool("search_fetch", {"text": PAGE}))).note


def test_the_message_and_what_memory_held_count_as_read() -> None:
    used = {"type": "used", "entries": [{"id": "m", "text": "The team has 6,500 members."}]}
    reply = "With 6500 members at 12 euros, the 90 minutes are set."

    assert grounded_numbers(turn(reply, used, tool(), message="12 € a head, 90 minutes")).value == 1


def test_json_inside_json_is_read_and_escapes_hide_nothing() -> None:
    inner = json.dumps({"rows": [{"price": 1234.5}, {"text": "line\n77 and caf\u00e9\u202299"}]})

    assert grounded_numbers(turn("1,234.50, 77 and 99", tool("x_y", {"result": inner}))).value == 1


def test_how_many_things_a_tool_returned_was_read_too() -> None:
    listed = tool("calendar_list", {"events": [{"title": "a"}] * 17, "from": 31, "to": 45})

    assert grounded_numbers(turn("17 events between 31 and 45.", listed)).value == 1


def test_a_range_is_both_its_ends_and_a_fraction_is_a_percentage() -> None:
    told = tool("x_y", {"low": 10, "high": 0.12, "share": "3.5"})

    assert grounded_numbers(turn("10\u201312%, and 3.5 in all", told)).value == 1


def test_today_is_nobodys_claim_but_another_day_is() -> None:
    reply = "On 1 December 2026 at 15:00: 11, 22 and 33; tomorrow, 2 December, again. GPT-4, mem_12 and v1.2.3 too."

    found = grounded_numbers(turn(reply, tool("x_y", "11 22 33")))

    assert (found.value, found.note) == (1, "3 of 3 figures found")


@pytest.mark.parametrize("reply", ["", "It is 15:00.", "You have 12 and 13.", "1. one\n2. two\n10. ten", "`11 22 33`"])
def test_fewer_than_three_figures_are_too_few(reply: str) -> None:
    assert grounded_numbers(turn(reply, tool())).value is None


def test_an_old_trace_and_a_failing_turn_that_read_memory_alone_are_left_alone() -> None:
    reply = "11, 22 and 33"

    assert grounded_numbers(turn(reply, tool(), version=1)).value is None
    assert grounded_numbers(turn(reply, memory_search("Zep"))).value is None
    assert grounded_numbers(turn(reply, memory_search("Zep"), failing("search_web"))).value is None
    assert grounded_numbers(turn(reply, memory_search("Zep"), tool("search_web", "x"))).value == 0
    assert grounded_numbers(turn(reply, memory_search("11 22 33"))).value == 1


def test_a_sum_that_the_model_did_by_itself_is_not_called_invented() -> None:
    found = grounded_numbers(turn("12 plus 30 = 42", message="What is 12 plus 30?"))

    assert (found.value, found.note) == (None, "2 of 3 figures found; the turn looked nothing up")


def test_an_output_that_was_cut_makes_a_failure_unknowable() -> None:
    found = grounded_numbers(turn("11, 22 and 33", tool("search_fetch", "x", output_chars=90_000)))

    assert found.value is None
    assert "too long to be traced whole" in found.note
