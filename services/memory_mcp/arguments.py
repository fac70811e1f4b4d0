"""The types of the tools' arguments, with their bounds and the few words that a name does not say."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, TypeAdapter

from memory_mcp import intake
from service_runtime.tool_arguments import LIST_FROM_JSON, NUMBER, OptionalText

Body = Annotated[str, Field(max_length=intake.MAX_BODY_BYTES)]
Query = Annotated[str, Field(max_length=intake.MAX_QUERY_CHARACTERS)]
Id = Annotated[str, Field(max_length=100)]
Kind = Literal["fact", "reference", "semantic", "decision", "episode"] | None
Trust = Literal["user", "agent", "web", "import"] | None
Stated = Literal["user", "agent", "web"] | None
Scope = Annotated[OptionalText, Field(description="global (default) or project:NAME")]
SearchScope = Annotated[OptionalText, Field(description="all (default), global or project:NAME")]
Time = Annotated[OptionalText, Field(description="RFC 3339 or a date")]
Url = Annotated[str, Field(max_length=intake.MAX_URL_CHARACTERS)] | None
Number = Annotated[int | None, NUMBER]


def _list_or_none(value: Any) -> Any:
    return None if value is None else _LIST.validate_python(value)


_LIST: TypeAdapter[Any] = TypeAdapter(Annotated[Any, LIST_FROM_JSON])
_Texts = Annotated[tuple[Annotated[str, Field(max_length=200)], ...], Field(max_length=50)]
NewTags = Annotated[_Texts | None, BeforeValidator(_list_or_none), Field(description="[] clears")]
"""Tags where none (keep what is there) differs from an empty list."""
