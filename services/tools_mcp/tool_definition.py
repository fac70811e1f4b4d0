"""Putting a tool on a server the one way all our tools have ("Rules for all tools" in spec/servers.md)."""

from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any

from fastmcp import FastMCP
from fastmcp.tools import Tool
from fastmcp.tools.base import ToolResult
from fastmcp.utilities.json_schema import compress_schema
from mcp.types import ToolAnnotations
from pydantic import BaseModel


class Kind(Enum):
    """What a tool does to the world: read_only, destructive, idempotent, open_world."""

    READ = (True, False, True, False)
    ADD = (False, False, False, False)
    KEEP = (False, False, True, False)
    """Adds, and the same once however often it is called."""
    CHANGE = (False, True, False, False)
    DELETE = (False, True, True, False)
    LOOK_OUTSIDE = (True, False, False, True)


def add_tool(
    server: "FastMCP[Any]",
    function: Callable[..., ToolResult | Awaitable[ToolResult]],
    name: str,
    kind: Kind,
    output: type[BaseModel],
) -> None:
    """Define a tool; its description is the function's docstring, its input schema the function's signature.

    The published schema leaves `null` out of every optional argument, because it doubles what a model has to read;
    null stays accepted.
    """
    read_only, destructive, idempotent, open_world = kind.value
    tool = Tool.from_function(
        function,
        name=name,
        title=name.replace("_", " ").capitalize(),
        output_schema=plain(compress_schema(output.model_json_schema(), prune_titles=True)),
        annotations=ToolAnnotations(
            read_only_hint=read_only,
            destructive_hint=destructive,
            idempotent_hint=idempotent,
            open_world_hint=open_world,
        ),
    )
    server.add_tool(tool.model_copy(update={"parameters": plain(tool.parameters)}))


_GOES_WITHOUT_SAYING: tuple[tuple[str, Any], ...] = (("default", None), ("default", []), ("minLength", 1))
"""What a property's schema leaves out: still done and checked, but a model has no use for reading it of each."""


def plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an object schema whose optional properties show the one type they have besides null.

    Neither empty defaults nor that a text may not be empty are said. Holds for the objects inside too. Answers leave
    empty properties out, so it is true of what is sent as well.
    """
    properties = {name: _plain_property(value) for name, value in schema.get("properties", {}).items()}
    inside = {name: plain(value) for name, value in schema.get("$defs", {}).items()}
    return schema | ({"properties": properties} if properties else {}) | ({"$defs": inside} if inside else {})


def _plain_property(value: dict[str, Any]) -> dict[str, Any]:
    options = [option for option in value.get("anyOf", ()) if option.get("type") != "null"]
    if len(options) == 1:
        value = {key: part for key, part in value.items() if key != "anyOf"} | options[0]
    rest = {key: part for key, part in value.items() if (key, part) not in _GOES_WITHOUT_SAYING}
    if "items" in rest:
        rest["items"] = plain(rest["items"])
    return rest


def answer(model: BaseModel, text: str, *, is_error: bool = False) -> ToolResult:
    """Return a tool's answer: the model as structured content without its empty fields, and a short text."""
    structured = model.model_dump(mode="json", exclude_none=True)
    return ToolResult(content=text, structured_content=structured, is_error=is_error)
