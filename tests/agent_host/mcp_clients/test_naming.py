from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from agent_host.mcp_clients.naming import may_be_of, model_names

LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
WORDS = st.text(alphabet="ab_-.é ", min_size=1, max_size=6) | st.text(max_size=90) | st.text(alphabet="a_", max_size=80)
KEYS = st.lists(st.tuples(WORDS, WORDS), max_size=30)


@given(KEYS)
def test_every_name_is_one_a_model_takes(keys: list[tuple[str, str]]) -> None:
    assert all(LEGAL.fullmatch(name) for name in model_names(keys).values())


@given(KEYS)
def test_no_two_tools_share_a_name(keys: list[tuple[str, str]]) -> None:
    names = model_names(keys)
    assert set(names) == set(keys)
    assert len(set(names.values())) == len(names)


@given(KEYS, st.randoms())
def test_names_do_not_depend_on_the_order_in_which_servers_answer(keys: list[tuple[str, str]], random: object) -> None:
    shuffled = list(keys)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert model_names(shuffled) == model_names(keys)


@given(KEYS)
def test_every_name_may_be_one_of_its_server(keys: list[tuple[str, str]]) -> None:
    assert all(may_be_of(name, server) for (server, _), name in model_names(keys).items())
    assert not may_be_of("time_now", "memory")


def test_a_name_is_the_servers_and_the_tools() -> None:
    assert model_names([("time", "get_current_time")]) == {("time", "get_current_time"): "time_get_current_time"}


def test_a_tool_that_begins_with_its_servers_name_keeps_its_own() -> None:
    names = model_names([("memory", "memory_search"), ("my server", "my_server_now")])
    assert set(names.values()) == {"memory_search", "my_server_now"}


def test_a_tool_that_begins_with_the_singular_of_its_servers_name_keeps_its_own() -> None:
    names = model_names([("messages", "message_draft"), ("reports", "report_list"), ("s", "s_x"), ("as", "a_x")])
    assert set(names.values()) == {"message_draft", "report_list", "s_x", "as_a_x"}
    assert model_names([("reports", "reporter")])["reports", "reporter"] == "reports_reporter"


def test_hyphens_stay_and_other_characters_become_underscores() -> None:
    names = model_names([("google-calendar", "list-events"), ("old", "memory.remember"), ("a b", "ünder")])
    assert set(names.values()) == {"google-calendar_list-events", "old_memory_remember", "a_b__nder"}


def test_of_a_long_name_the_tail_is_kept() -> None:
    tool = "x" * 70 + "_delete"
    assert model_names([("s", tool)])["s", tool] == ("x" * 57) + "_delete"


def test_tools_that_would_share_a_name_all_get_a_hash_and_the_others_none() -> None:
    names = model_names([("a_b", "c"), ("a", "b_c"), ("a", "d")])
    assert names["a", "d"] == "a_d"
    assert {name.rpartition("_")[0] for key, name in names.items() if key != ("a", "d")} == {"a_b_c"}


def test_a_hashed_name_that_another_tool_already_has_is_made_anew() -> None:
    clash = model_names([("a_b", "c"), ("a", "b_c")])
    taken = clash["a", "b_c"]
    names = model_names([("a_b", "c"), ("a", "b_c"), ("a", taken.removeprefix("a_"))])
    assert names["a", taken.removeprefix("a_")] == taken
    assert len(set(names.values())) == 3
