from __future__ import annotations

from typing import Any

import pytest

from receipt_writer.format.errors import SchemaError
from receipt_writer.format.kinds import (
    Base64,
    Choice,
    Flag,
    IdRange,
    Instant,
    Integer,
    Kind,
    Member,
    Nullable,
    Pattern,
    Record,
    Rows,
    Text,
)

ROW = Record((Member("tool", Text()), Member("n", Integer(1, 9)), Member("note", Text(), optional=True)))
TABLE = Record((Member("rows", Rows(ROW)), Member("last", Flag())))


def refusal(kind: Kind, value: object) -> SchemaError:
    with pytest.raises(SchemaError) as caught:
        kind.conform(value)
    return caught.value


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Integer(0, 3), 0),
        (Integer(0, 3), 3),
        (Text(), ""),
        (Pattern("[a-z]+", "letters", 3), "abc"),
        (Choice(("a", "b")), "b"),
        (Flag(), False),
        (Instant(), "2025-12-01T16:38:45.386Z"),
        (Base64(1), "AA=="),
        (Nullable(Integer()), None),
        (Nullable(Integer()), 7),
        (Rows(Text()), []),
        (Rows(Text()), ["a", ""]),
        (IdRange(), {"n": 0, "firstId": 0, "lastId": 0}),
        (IdRange(), {"n": 2, "firstId": 4, "lastId": 9}),
    ],
)
def test_a_kind_gives_back_what_it_accepts(kind: Kind, value: object) -> None:
    """RF-8."""
    assert kind.conform(value) == value


@pytest.mark.parametrize(
    ("kind", "values", "accepted"),
    [
        (Integer(0, 3), [-1, 4, True, "1", 1.0, None], "an integer from 0 to 3"),
        (Text(), [1, None, ["a"]], "a string"),
        (Pattern("[a-z]+", "up to 3 letters", 3), ["", "abcd", "a\n", "A", 1, None], "up to 3 letters"),
        (Choice(("a", "b")), ["c", "", 1, None, ["a"], {}], "one of: a b"),
        (Flag(), [0, 1, None, "true"], "true or false"),
        (Instant(), ["2025-12-01", 1, None], "a time as YYYY-MM-DDTHH:MM:SS.mmmZ"),
        (
            Base64(1),
            ["AA", "AA=", "AA==\n", "AB==", "AAA=", "_w==", "é", "A===", 1],
            "1 bytes in standard base64, padded and canonical",
        ),
        (Nullable(Flag()), [0, "null"], "true or false, or null"),
        (Rows(Text()), [None, {}, "a"], "a list"),
        (ROW, [None, [], "a"], "an object"),
    ],
)
def test_a_kind_says_what_it_would_accept(kind: Kind, values: list[Any], accepted: str) -> None:
    for value in values:
        assert refusal(kind, value).accepted == accepted


@pytest.mark.parametrize("ids", [(1, 0), (0, 1), (3, 4)])
def test_ids_of_no_entries_are_refused(ids: tuple[int, int]) -> None:
    value = {"n": 0, "firstId": ids[0], "lastId": ids[1]}
    assert "when n is 0" in refusal(IdRange(), value).accepted


@pytest.mark.parametrize(
    ("value", "path", "accepted"),
    [
        ({"rows": []}, "last", "present"),
        ({"rows": [], "last": True, "extra": 1}, "extra", "left out: there is no such member"),
        ({"rows": [{"tool": "a", "n": 1}, {"tool": "b", "n": 0}], "last": True}, "rows[1].n", "an integer from 1 to 9"),
        ({"rows": [{"tool": "a", "n": 1, "x": 1}], "last": True}, "rows[0].x", "left out: there is no such member"),
        ({"rows": [{"n": 1}], "last": True}, "rows[0].tool", "present"),
        ({"rows": [{"tool": "a", "n": 1, "note": None}], "last": True}, "rows[0].note", "a string"),
        ({"rows": ["a"], "last": True}, "rows[0]", "an object"),
    ],
)
def test_a_refusal_names_the_member_by_its_whole_path(value: object, path: str, accepted: str) -> None:
    """RF-6, RF-8: missing, unknown and wrong members, at any depth."""
    error = refusal(TABLE, value)
    assert (error.path, error.accepted) == (path, accepted)
    assert str(error) == f"{path} must be {accepted}."


def test_a_record_gives_its_members_back_in_the_tables_order_at_every_depth() -> None:
    mixed = {"last": True, "rows": [{"note": "c", "n": 1, "tool": "a"}, {"n": 2, "tool": "b"}]}
    conformed = TABLE.conform(mixed)
    assert conformed == mixed
    assert list(conformed) == ["rows", "last"]
    rows = conformed["rows"]
    assert isinstance(rows, list)
    assert [list(row) for row in rows] == [["tool", "n", "note"], ["tool", "n"]]


def test_a_refusal_of_the_whole_value_still_reads_as_a_sentence() -> None:
    assert str(refusal(TABLE, 1)) == "The value must be an object."


def test_a_refusal_never_repeats_the_value() -> None:
    assert "secret" not in str(refusal(TABLE, {"rows": [{"tool": "a", "n": "secret"}], "last": True}))


def test_every_kind_describes_itself_as_plain_json() -> None:
    kinds = [Integer(1, 2), Text(), Pattern("a", "an a", 1), Choice(("a",)), Flag(), Instant(), Base64(3), IdRange()]
    assert [kind.describe() for kind in kinds] == [
        {"integer": [1, 2]},
        "text",
        {"pattern": "a", "maxCharacters": 1},
        {"choice": ["a"]},
        "flag",
        "instant",
        {"base64": 3},
        "idRange",
    ]
    assert TABLE.describe() == {
        "record": [
            ["rows", {"rows": {"record": [["tool", "text"], ["n", {"integer": [1, 9]}], ["note?", "text"]]}}],
            ["last", "flag"],
        ]
    }
    assert Nullable(Flag()).describe() == {"nullable": "flag"}


def test_a_kind_on_its_own_is_no_kind() -> None:
    with pytest.raises(NotImplementedError):
        Kind().conform(1)
    with pytest.raises(NotImplementedError):
        Kind().describe()
