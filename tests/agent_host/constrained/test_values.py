"""The closed subset, the strict reading of an output, and templates: pure, each on its own."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_host.constrained.output import OUTPUT_LIMIT, OutputError, parse_output, read_output
from agent_host.constrained.schema import schema_fault, value_fault
from agent_host.constrained.specs import SHIPPED, shipped_spec
from agent_host.constrained.template import placeholders, render
from agent_host.providers.protocol import JsonValue
from tests.fakes.scripted_provider import IDENTITY, says

SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "Everything the subset has",
    "properties": {
        "word": {"type": "string", "enum": ["yes", "no"]},
        "text": {"type": "string", "minLength": 1, "maxLength": 5},
        "price": {"type": "string", "format": "decimal"},
        "count": {"type": "integer", "minimum": 0, "maximum": 9},
        "level": {"type": "integer", "enum": [1, 2]},
        "flag": {"type": "boolean"},
        "nothing": {"type": "null"},
        "maybe": {"type": ["string", "null"]},
        "rows": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "integer"}},
    },
    "required": ["word"],
    "additionalProperties": False,
}
GOOD: dict[str, JsonValue] = {
    "word": "yes",
    "text": "fünf",
    "price": "-12.50",
    "count": 9,
    "level": 2,
    "flag": True,
    "nothing": None,
    "maybe": None,
    "rows": [1, 2],
}
BAD: list[tuple[str, JsonValue, str]] = [
    ("word", "Yes", "none of its closed list of words"),
    ("word", True, "no string"),
    ("text", "", "0 characters"),
    ("text", "\ud800", "half a surrogate pair"),
    ("price", "1,5", "no decimal number"),
    ("price", "1e5", "no decimal number"),
    ("price", "01", "no decimal number"),
    ("price", "٣", "no decimal number"),
    ("price", "1\n", "no decimal number"),
    ("count", True, "no integer"),
    ("count", 9.0, "no integer"),
    ("count", "9", "no integer"),
    ("count", 10, "not within its bounds"),
    ("level", 3, "closed list of numbers"),
    ("flag", 1, "no boolean"),
    ("nothing", 0, "is not null"),
    ("maybe", 0, "no string"),
    ("rows", [], "0 items"),
    ("rows", [1, 2, 3], "3 items"),
    ("rows", [2**53], "/rows/0 is not within its bounds"),
    ("rows", "12", "no array"),
    ("flag", None, "is null"),
]


def test_the_subset_is_accepted_and_a_value_of_it_too() -> None:
    assert schema_fault(SCHEMA) is None
    assert value_fault(GOOD, SCHEMA) is None
    jsonschema.validate(GOOD, SCHEMA)


@pytest.mark.parametrize(("name", "value", "why"), BAD, ids=[f"{name} {value!a}" for name, value, _ in BAD])
def test_a_value_outside_the_schema_is_named_by_its_place(name: str, value: JsonValue, why: str) -> None:
    fault = value_fault({**GOOD, name: value}, SCHEMA)
    assert fault is not None
    assert why in fault
    assert f"/{name}" in fault


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**54), 2**54) | st.text(max_size=6) | st.sampled_from(["yes", "1.5"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*GOOD, "more"]), inner, max_size=4),
    max_leaves=8,
)


@given(JSON)
def test_what_this_check_lets_through_somebody_elses_does_too(value: JsonValue) -> None:
    if value_fault(value, SCHEMA) is None:
        jsonschema.validate(value, SCHEMA)


def test_a_schema_may_not_be_deep_without_end() -> None:
    deep: JsonValue = {"type": "string"}
    for _ in range(20):
        deep = {"type": "array", "items": deep}
    assert schema_fault(deep) == "/items" * 17 + " lies more than 16 levels deep"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not one JSON value"),
        ("{} {}", "not one JSON value"),
        ("Sure! {}", "not one JSON value"),
        ('{"a": 1, "a": 2}', "names a field twice"),
        ('{"a": {"b": 1, "b": 1}}', "names a field twice"),
        ("1.5", "holds a float"),
        ("1e3", "holds a float"),
        ("NaN", "holds a float"),
        ("-Infinity", "holds a float"),
        ("'a'", "not one JSON value"),
        ("[" * 30_000, "not one JSON value"),
        ("9" * 5_000, "not one JSON value"),
        ('"\x00"', "not one JSON value"),
        ("\ufeff{}", "not one JSON value"),
        (" " * (OUTPUT_LIMIT + 1), "more than 65536 characters"),
        ("```json\n{}\n```\nDone.", "not one JSON value"),
    ],
)
def test_what_is_no_strict_json_is_refused(text: str, why: str) -> None:
    with pytest.raises(OutputError, match=why):
        parse_output(text)


@pytest.mark.parametrize("text", [' {"a": [1]}\n', '```json\n{"a": [1]}\n```', '```\n{"a": [1]}```\n'])
def test_one_json_value_is_read_also_in_one_code_fence(text: str) -> None:
    assert parse_output(text) == {"a": [1]}


@given(st.text(max_size=200))
def test_no_text_does_anything_but_parse_or_be_refused(text: str) -> None:
    with contextlib.suppress(OutputError):
        json.dumps(parse_output(text))


def test_a_fault_never_quotes_what_the_model_said() -> None:
    with pytest.raises(OutputError) as caught:
        read_output(says('{"word": "secret-word"}'), SCHEMA)
    assert "secret" not in str(caught.value)


def test_a_placeholder_is_any_name_between_double_braces_once() -> None:
    assert placeholders("{{a}} {{ b }} {{a}} {c} {{d.e}}") == ("a", "b", "d.e")


@given(st.dictionaries(st.sampled_from("ab"), JSON, min_size=2, max_size=2))
def test_a_value_goes_in_as_one_json_value_and_comes_out_as_it_was(values: dict[str, JsonValue]) -> None:
    first, second = render("{{a}}\x00{{b}}", values).split("\x00")
    assert [json.loads(first), json.loads(second)] == [values["a"], values["b"]]


def test_what_stands_in_a_value_is_never_read_as_template() -> None:
    values: dict[str, JsonValue] = {"a": "{{b}} }} {{", "b": '"quoted"\nline', "c": "\ud800"}
    assert render("{{a}}|{{b}}|{{c}}|{{none}}", values) == '"{{b}} }} {{"|"\\"quoted\\"\\nline"|"\ufffd"|null'


def test_every_shipped_schema_is_one_for_somebody_elses_validator_too() -> None:
    for spec_id in SHIPPED:
        made = shipped_spec(spec_id, IDENTITY)
        for schema in (made.input_schema, made.output_schema):
            jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(made.deterministic_default, made.output_schema)
