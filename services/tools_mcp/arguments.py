"""Argument types of the tool servers, beyond those every server has (`service_runtime.tool_arguments`)."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter

from service_runtime.tool_arguments import LIST_FROM_JSON, NOT_NULL, NUMBER


def _number_as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Id = Annotated[str, Field(min_length=1, max_length=500)]
Cursor = Annotated[str, Field(max_length=2000), NOT_NULL] | None
Limit = Annotated[int | None, NUMBER]
"""Clamped by the tool to what it allows, never refused."""
Duration = Annotated[str, BeforeValidator(_number_as_text), Field(max_length=40)]
OptionalDuration = Annotated[Annotated[str, Field(max_length=40)] | None, BeforeValidator(_number_as_text)]
Key = Annotated[str, Field(max_length=200), NOT_NULL] | None
"""An idempotency key."""


def _list_or_none(value: Any) -> Any:
    return None if value is None else _LIST.validate_python(value)


def _texts_or_none(value: Any) -> Any:
    """Read numbers as texts too, alone or in a list; answers give minutes as numbers."""
    value = _number_as_text(value)
    if isinstance(value, str) and value.strip().isdecimal():
        value = [value]
    read = _list_or_none(value)
    return [_number_as_text(one) for one in read] if isinstance(read, list | tuple) else read


_LIST: TypeAdapter[Any] = TypeAdapter(Annotated[Any, LIST_FROM_JSON])
_Texts = Annotated[tuple[Annotated[str, Field(max_length=200)], ...], Field(max_length=50)]
MaybeTextList = Annotated[_Texts | None, BeforeValidator(_list_or_none)]
"""A list where none (keep what is there) differs from an empty one (clear it)."""
MaybeMinutes = Annotated[_Texts | None, BeforeValidator(_texts_or_none)]
"""Lengths of time, in minutes or as texts; none differs from an empty list as in `MaybeTextList`."""
