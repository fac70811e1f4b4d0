from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from service_runtime import tool_arguments


def adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(getattr(tool_arguments, name))


@pytest.mark.parametrize(
    ("name", "sent", "read"),
    [
        ("OptionalText", None, None),
        ("OptionalText", "Null", "Null"),
        ("OptionalText", "null hypothesis", "null hypothesis"),
        ("OptionalText", "", ""),
        ("OptionalLimit", None, None),
        ("OptionalLimit", "5", 5),
        ("OptionalLimit", 50, 50),
        ("OptionalFlag", None, None),
        ("OptionalFlag", "true", True),
        ("OptionalTextList", None, ()),
        ("OptionalTextList", [], ()),
        ("OptionalTextList", ["a", "b"], ("a", "b")),
        ("OptionalTextList", '["a", "b"]', ("a", "b")),
        ("OptionalTextList", " []\n", ()),
    ],
)
def test_a_value_is_read_as_clients_send_it(name: str, sent: object, read: object) -> None:
    assert adapter(name).validate_python(sent) == read


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("Text", ""),
        ("Text", None),
        ("Text", "x" * 1001),
        ("OptionalText", "x" * 1001),
        ("OptionalText", 5),
        ("OptionalText", "null"),
        ("OptionalText", " null\n"),
        ("OptionalLimit", "null"),
        ("OptionalLimit", 0),
        ("OptionalLimit", 51),
        ("OptionalLimit", 1.5),
        ("OptionalLimit", True),
        ("OptionalFlag", "null"),
        ("OptionalTextList", "null"),
        ("OptionalTextList", "a,b"),
        ("OptionalTextList", '{"a": 1}'),
        ("OptionalTextList", "[" * 100_000),
        ("OptionalTextList", ["a", 5]),
        ("OptionalTextList", ["x" * 201]),
        ("OptionalTextList", ["x"] * 51),
    ],
)
def test_a_value_that_could_mean_something_else_is_refused(name: str, sent: object) -> None:
    with pytest.raises(ValidationError):
        adapter(name).validate_python(sent)


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("Text", {"type": "string", "minLength": 1, "maxLength": 1000}),
        ("OptionalText", {"anyOf": [{"type": "string", "maxLength": 1000}, {"type": "null"}]}),
        ("OptionalLimit", {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 50}, {"type": "null"}]}),
        ("OptionalFlag", {"anyOf": [{"type": "boolean"}, {"type": "null"}]}),
        ("OptionalTextList", {"type": "array", "items": {"type": "string", "maxLength": 200}, "maxItems": 50}),
    ],
)
def test_the_schema_is_plain_json_schema_2020_12(name: str, schema: dict[str, Any]) -> None:
    assert adapter(name).json_schema() == schema
