"""The closed subset of JSON Schema 2020-12 that specs are written in, and the check of a value against it. Pure.

    type                 with it
    object               properties, required, additionalProperties: false (always there)
    array                items, minItems, maxItems
    string               minLength, maxLength, enum, format: decimal (a number as text: "-12.50")
    integer              minimum, maximum, enum; always within plus or minus 2^53-1, as canonical JSON needs
    boolean, null        -
    [T, "null"]          a T, or null

`title` and `description` may stand anywhere. Nothing else may: a keyword that is not enforced would be a promise that
nobody keeps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeGuard

from agent_host.constrained.plain_json import MAX_INTEGER, QUOTE_WORDS, SURROGATE
from agent_host.providers.protocol import JsonValue

Schema = Mapping[str, JsonValue]

MAX_DEPTH: Final = 16
_TOLD: Final = ("title", "description")
_ANYWHERE: Final = frozenset({"type", *_TOLD})
_KEYWORDS: Final[Mapping[str, frozenset[str]]] = {
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset({"items", "minItems", "maxItems"}),
    "string": frozenset({"minLength", "maxLength", "enum", "format"}),
    "integer": frozenset({"minimum", "maximum", "enum"}),
    "boolean": frozenset(),
    "null": frozenset(),
}
_SIZES: Final = ("minItems", "maxItems", "minLength", "maxLength")
_BOUNDS: Final = ("minimum", "maximum")
_DECIMAL: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,37})(?:\.[0-9]{1,18})?", re.ASCII)
_SHOWN_CHARS: Final = 40


def schema_fault(schema: JsonValue, at: str = "", depth: int = 0) -> str | None:
    """Returns what in a schema is outside the subset, as a clause that names the place; None when it is inside."""
    where = at or "its top"
    if depth > MAX_DEPTH:
        return f"{where} lies more than {MAX_DEPTH} levels deep"
    if not isinstance(schema, Mapping):
        return f"{where} is no schema object"
    kind, _ = _type(schema)
    if kind == "number" or schema.get("format") in ("float", "double"):
        return (
            f"{where} is a float, which has no one canonical form to hash: use an integer of a named unit, "
            'or {"type": "string", "format": "decimal"}'
        )
    if kind not in _KEYWORDS:
        return f'{where} needs one type of {", ".join(_KEYWORDS)}, alone or as [type, "null"]'
    unknown = [name for name in schema if name not in _KEYWORDS[kind] | _ANYWHERE]
    if unknown:
        return f"{where} has the keyword {unknown[0]!r}, which is not in the subset for {kind}"
    return next(_faults_of(kind, schema, where, at, depth), None)


def value_fault(value: JsonValue, schema: Schema, at: str = "") -> str | None:
    """Returns why a value does not satisfy a schema of the subset, as a clause that names the place; None when it does.

    The schema must have passed `schema_fault`. The clause quotes names of the schema and never the value's text.
    """
    where = at or "the value"
    kind, nullable = _type(schema)
    if value is None:
        return None if nullable or kind == "null" else f"{where} is null"
    fault = None
    match kind:
        case "object":
            fault = _object_fault(value, schema, at, where)
        case "array":
            fault = _array_fault(value, schema, at, where)
        case "string":
            fault = _string_fault(value, schema, where)
        case "integer":
            fault = _integer_fault(value, schema, where)
        case "boolean" if not isinstance(value, bool):
            fault = f"{where} is no boolean"
        case "null":
            fault = f"{where} is not null"
    return fault


def _type(schema: Schema) -> tuple[str, bool]:
    """Returns the type's name and whether null is allowed as well."""
    told = schema.get("type")
    if isinstance(told, str):
        return told, told == "null"
    if isinstance(told, list | tuple) and len(told) == 2 and told[1] == "null" and told[0] != "null":  # noqa: PLR2004
        return str(told[0]), True
    return "", False


def _faults_of(kind: str, schema: Schema, where: str, at: str, depth: int) -> Iterator[str]:
    yield from (f"{name} of {where} must be text" for name in _TOLD if not isinstance(schema.get(name, ""), str))
    for name in _SIZES:
        size = schema.get(name, 0)
        if not _is_integer(size) or size < 0:
            yield f"{name} of {where} must be a whole number"
    for name in _BOUNDS:
        if not _is_integer(schema.get(name, 0)):
            yield f"{name} of {where} must be an integer"
    if schema.get("format", "decimal") != "decimal":
        yield f"{where} has a format other than decimal, which nothing here enforces"
    if "enum" in schema:
        yield from _enum_faults(kind, schema["enum"], where)
    if kind == "object":
        yield from _object_schema_faults(schema, where, at, depth)
    if kind == "array":
        fault = schema_fault(schema.get("items"), f"{at}/items", depth + 1)
        if fault:
            yield fault


def _enum_faults(kind: str, enum: JsonValue, where: str) -> Iterator[str]:
    if not isinstance(enum, list | tuple) or not enum:
        yield f"the enum of {where} must be a list with at least one value"
        return
    if len({repr(word) for word in enum}) != len(enum):
        yield f"the enum of {where} names a value twice"
    if not all(isinstance(word, str) if kind == "string" else _is_integer(word) for word in enum):
        yield f"the enum of {where} holds a value that is no {kind} ({QUOTE_WORDS})"


def _object_schema_faults(schema: Schema, where: str, at: str, depth: int) -> Iterator[str]:
    if schema.get("additionalProperties") is not False:
        yield f"{where} must say additionalProperties: false"
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        yield f"{where} must list its properties"
        return
    required = schema.get("required", ())
    if not isinstance(required, list | tuple) or not all(isinstance(name, str) for name in required):
        yield f"required of {where} must be a list of names; {QUOTE_WORDS}"
        return
    if any(name not in properties for name in required) or len(set(required)) != len(required):
        yield f"required of {where} must be a list of names of its properties, each once"
    for name, member in properties.items():
        fault = schema_fault(member, f"{at}/{name}", depth + 1)
        if fault:
            yield fault


def _object_fault(value: JsonValue, schema: Schema, at: str, where: str) -> str | None:
    if not isinstance(value, Mapping):
        return f"{where} is no object"
    properties, required = _members(schema), schema.get("required", ())
    for name in value:
        if not isinstance(name, str):
            return f"{where} has a field whose name is no text"
        if name not in properties:
            return f"{where} has the extra field {_shown(name)}"
    for name in required if isinstance(required, list | tuple) else ():
        if name not in value:
            return f"{where} lacks the field {name!r}"
    for name, member in value.items():
        fault = value_fault(member, properties[name], f"{at}/{name}")
        if fault:
            return fault
    return None


def _array_fault(value: JsonValue, schema: Schema, at: str, where: str) -> str | None:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return f"{where} is no array"
    if not _within(len(value), schema, "minItems", "maxItems"):
        return f"{where} has {len(value)} items, which is not within its bounds"
    items = schema["items"]
    if not isinstance(items, Mapping):
        raise TypeError("the schema was not checked")
    faults = (value_fault(item, items, f"{at}/{number}") for number, item in enumerate(value))
    return next((fault for fault in faults if fault), None)


def _string_fault(value: JsonValue, schema: Schema, where: str) -> str | None:
    if not isinstance(value, str):
        return f"{where} is no string"
    if SURROGATE.search(value):
        return f"{where} holds half a surrogate pair, which is no text"
    if "enum" in schema and not _is_one_of(value, schema["enum"]):
        return f"{where} is none of its closed list of words"
    if not _within(len(value), schema, "minLength", "maxLength"):
        return f"{where} has {len(value)} characters, which is not within its bounds"
    if "format" in schema and not _DECIMAL.fullmatch(value):
        return f"{where} is no decimal number such as -12.50"
    return None


def _integer_fault(value: JsonValue, schema: Schema, where: str) -> str | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return f"{where} is no integer"
    if "enum" in schema and not _is_one_of(value, schema["enum"]):
        return f"{where} is none of its closed list of numbers"
    if abs(value) > MAX_INTEGER or not _within(value, schema, "minimum", "maximum"):
        return f"{where} is not within its bounds"
    return None


def _members(schema: Schema) -> Mapping[str, Schema]:
    properties = schema["properties"]
    if not isinstance(properties, Mapping):
        raise TypeError("the schema was not checked")
    return properties  # type: ignore[return-value]  # every member passed schema_fault


def _within(size: int, schema: Schema, least: str, most: str) -> bool:
    low, high = schema.get(least), schema.get(most)
    return (not isinstance(low, int) or size >= low) and (not isinstance(high, int) or size <= high)


def _is_one_of(value: str | int, enum: JsonValue) -> bool:
    return isinstance(enum, Sequence) and value in enum


def _is_integer(value: JsonValue) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(name: str) -> str:
    """Returns a name that came from outside, short and printable."""
    return ascii(name if len(name) <= _SHOWN_CHARS else f"{name[:_SHOWN_CHARS]}...")
