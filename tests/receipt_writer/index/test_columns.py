from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from receipt_writer.index import columns
from receipt_writer.index.columns import (
    ABSENT_KEY,
    ABSENT_VALUE,
    Column,
    KeyTable,
    key_fingerprint,
    value_at,
    value_fingerprint,
)

VALUES = [bytes([number]) * 6 for number in range(1, 4)] + [b"\1\2\1\2\1\2", b"\2\1\2\1\2\1"]


def column_of(values: list[bytes]) -> Column:
    column = Column()
    column.extend(b"".join(values))
    return column


@given(st.lists(st.sampled_from(VALUES), max_size=60), st.sampled_from(VALUES), st.integers(1, 40), st.integers(0, 60))
def test_a_column_finds_what_a_walk_over_it_finds(values: list[bytes], value: bytes, first: int, last: int) -> None:
    column, last = column_of(values), min(last, len(values))
    found = [place for place in range(first, last + 1) if values[place - 1] == value]
    assert list(column.ids(value, first, last)) == found
    assert list(column.ids_backwards(value, first, last)) == found[::-1]
    assert [place for place in range(first, last + 1) if column.holds(place, value)] == found


@pytest.mark.parametrize("span", [6, 12, 18, 60])
def test_a_search_in_several_goes_misses_nothing_at_their_borders(span: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_SEARCHED_BYTES", span)
    values = [VALUES[number * number % 5] for number in range(50)]
    column = column_of(values)
    for value in VALUES:
        found = [place for place, one in enumerate(values, 1) if one == value]
        assert list(column.ids(value, 1, 50)) == found
        assert list(column.ids_backwards(value, 1, 50)) == found[::-1]


def test_a_value_is_no_match_where_it_only_lies_across_two_others() -> None:
    column = column_of([b"aaabbb", b"cccddd", b"bbbccc"])
    assert list(column.ids(b"bbbccc", 1, 3)) == [3]
    assert list(column.ids_backwards(b"bbbccc", 1, 2)) == []


def test_a_column_gives_its_values_back() -> None:
    column = column_of(VALUES)
    assert column.values(2, 3) == VALUES[1] + VALUES[2]


def test_the_table_of_keys_finds_the_newest_entry_of_each() -> None:
    table, keys = KeyTable(), [os.urandom(12) for _ in range(5_000)]
    table.add(b"".join(keys), 1)
    table.add(keys[7] + ABSENT_KEY + keys[8], 5_001)
    assert [table.newest(key) for key in keys[9:]] == list(range(10, 5_001))
    assert (table.newest(keys[7]), table.newest(keys[8]), table.newest(ABSENT_KEY)) == (5_001, 5_003, None)
    assert all(table.newest(os.urandom(12)) is None for _ in range(1_000))


def test_a_key_is_no_match_where_it_only_lies_across_two_rows() -> None:
    table = KeyTable()
    table.add(b"\0" * 11 + b"\7", 1)
    assert table.newest(b"\0" * 5 + b"\7" + b"\0" * 6) is None
    assert table.newest(b"\0" * 11 + b"\7") == 1


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("a",), "1"),
        (("b", "c"), "text"),
        (("b", "d"), None),
        (("b", "missing"), None),
        (("a", "c"), None),
        (("missing", "c"), None),
        (("list", "c"), None),
    ],
)
def test_a_path_leads_to_a_member_as_text_or_to_nothing(path: tuple[str, ...], value: str | None) -> None:
    assert value_at({"a": 1, "b": {"c": "text", "d": None}, "list": [{"c": 1}]}, path) == value


def test_fingerprints_differ_for_values_that_differ_and_take_any_text() -> None:
    texts = ["", "a", "A", "\u00e9", "e\u0301", "\ud800", "x" * 5_000]
    assert len({value_fingerprint(text) for text in texts}) == len(texts)
    assert len({key_fingerprint(text) for text in texts}) == len(texts)
    assert ABSENT_VALUE not in {value_fingerprint(text) for text in texts}
