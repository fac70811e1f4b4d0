"""The schemas that the tool list publishes: as short as they can be, since every model reads them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

_EMPTY_DEFAULTS: tuple[tuple[str, Any], ...] = (("default", None), ("default", []))


def output_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Returns the schema of an answer. Empty fields are left out of answers, so none is published as possibly null."""
    return plain(model.model_json_schema(mode="serialization"))


def plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns an object schema without titles, descriptions of models, nulls beside a type, and empty defaults.

    Null stays accepted for every optional argument; a model need not read that once for each.
    """
    short = {key: part for key, part in schema.items() if key not in {"title", "description", "properties", "$defs"}}
    if "properties" in schema:
        short["properties"] = {name: _property(part) for name, part in schema["properties"].items()}
    if "$defs" in schema:
        short["$defs"] = {name: plain(part) for name, part in schema["$defs"].items()}
    return short


def _property(schema: dict[str, Any]) -> dict[str, Any]:
    short = {key: part for key, part in schema.items() if key != "title" and (key, part) not in _EMPTY_DEFAULTS}
    options = [option for option in short.pop("anyOf", ()) if option.get("type") != "null"]
    return short | options[0] if options else short
