from __future__ import annotations

from pydantic import BaseModel

from memory_mcp.tool_schema import output_schema, plain


class Inner(BaseModel):
    """What is inside."""

    name: str | None = None


class Outer(BaseModel):
    """What is outside."""

    title: str
    inner: Inner
    many: list[Inner]
    count: int | None = None
    tags: tuple[str, ...] = ()


def test_a_schema_is_published_without_titles_descriptions_and_nulls() -> None:
    assert output_schema(Outer) == {
        "$defs": {"Inner": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "inner": {"$ref": "#/$defs/Inner"},
            "many": {"type": "array", "items": {"$ref": "#/$defs/Inner"}},
            "count": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["title", "inner", "many"],
    }


def test_descriptions_and_bounds_of_arguments_stay() -> None:
    schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "scope": {
                "anyOf": [{"type": "string", "maxLength": 9}, {"type": "null"}],
                "default": None,
                "description": "Where",
                "title": "Scope",
            },
        },
    }

    assert plain(schema) == {
        "type": "object",
        "additionalProperties": False,
        "properties": {"scope": {"description": "Where", "type": "string", "maxLength": 9}},
    }
