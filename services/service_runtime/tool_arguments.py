"""Argument types for tools ("Rules for all tools" in spec/servers.md): missing and null are the same, all is bounded.

Use them with these defaults, so that the JSON schema is what strict clients accept:

    async def search(query: Text, limit: OptionalLimit = None, tags: OptionalTextList = (), all: OptionalFlag = None)

An optional text is never the word null: a model that sends it means no value. For other bounds write the same by hand,
for example `Annotated[tuple[str, ...], Field(max_length=9), LIST_FROM_JSON]`.
"""

import json
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError


def _list_from_json(value: Any) -> Any:
    """Read null as no items and a JSON string of a list as that list; leave the rest to be refused."""
    try:
        decoded = json.loads("[]" if value is None else value)
    except (TypeError, ValueError, RecursionError):  # TypeError: it is no text
        return value
    return decoded if isinstance(decoded, list) else value


def _number_not_flag(value: Any) -> Any:
    """Leave `true` to be refused: a number would otherwise read it as 1."""
    return str(value) if isinstance(value, bool) else value


def _text_not_null(value: Any) -> Any:
    """Refuse the word null: who sends it means no value, and a folder or a place of that name would stay."""
    if isinstance(value, str) and value.strip() == "null":
        raise PydanticCustomError("null_text", 'the text "null"')
    return value


# A bound stands before the validator that reads the value, so that it bounds the type and shows in the schema.
LIST_FROM_JSON = BeforeValidator(_list_from_json)
NUMBER = BeforeValidator(_number_not_flag)
NOT_NULL = BeforeValidator(_text_not_null)

Text = Annotated[str, Field(min_length=1, max_length=1000)]
OptionalText = Annotated[str, Field(max_length=1000), NOT_NULL] | None
OptionalLimit = Annotated[int, Field(ge=1, le=50), NUMBER] | None
OptionalFlag = bool | None
OptionalTextList = Annotated[tuple[Annotated[str, Field(max_length=200)], ...], Field(max_length=50), LIST_FROM_JSON]
