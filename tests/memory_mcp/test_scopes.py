from __future__ import annotations

import pytest

from memory_mcp.errors import InvalidArgumentError
from memory_mcp.scopes import MAX_SCOPE_CHARACTERS, parse_scope, parse_search_scope


@pytest.mark.parametrize(
    ("text", "name", "key"),
    [
        (None, "global", "global"),
        ("  ", "global", "global"),
        ("Global", "global", "global"),
        ("project:Company brain", "project:Company brain", "project:company brain"),
        (" Project :  Company   brain ", "project:Company brain", "project:company brain"),
        ("lab:x", "lab:x", "lab:x"),
        ("project:Büro 🎉", "project:Büro 🎉", "project:büro 🎉"),
    ],
)
def test_a_scope_is_shown_as_written_and_compared_without_case(text: str | None, name: str, key: str) -> None:
    scope = parse_scope(text)

    assert (scope.name, scope.key) == (name, key)


@pytest.mark.parametrize("text", ["project:", ":x", "my project", "pro/ject:x", "x" * 40, "9:x", "project:a\x00b"])
def test_an_impossible_scope_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="send 'global' or 'project:NAME'"):
        parse_scope(text)


def test_a_scope_has_a_longest_length() -> None:
    longest = "project:" + "x" * (MAX_SCOPE_CHARACTERS - 8)

    assert parse_scope(longest).name == longest
    with pytest.raises(InvalidArgumentError, match="at most 120 characters"):
        parse_scope(longest + "x")


def test_no_memory_belongs_to_all_scopes() -> None:
    with pytest.raises(InvalidArgumentError, match="belongs to one scope, not to all"):
        parse_scope("all")


@pytest.mark.parametrize("text", [None, "", "all", " ALL "])
def test_a_search_goes_through_every_scope_unless_one_is_named(text: str | None) -> None:
    assert parse_search_scope(text) is None


def test_a_search_can_name_one_scope() -> None:
    scope = parse_search_scope("PROJECT:Apollo")

    assert scope is not None
    assert scope.name == "project:Apollo"
