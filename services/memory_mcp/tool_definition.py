"""How a tool is added to the server: its schemas as short as they can be, its annotations true to what it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastmcp import FastMCP
from fastmcp.tools import Tool
from fastmcp.tools.base import ToolResult
from mcp.types import ContentBlock, TextContent, ToolAnnotations
from pydantic import BaseModel

from memory_mcp.tool_schema import output_schema, plain

READ = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
ADD = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
FORGET = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)


def add_tool(
    server: FastMCP[Any],
    function: Callable[..., ToolResult],
    name: str,
    annotations: ToolAnnotations,
    answer: type[BaseModel],
) -> None:
    """Adds a tool whose description is the function's docstring."""
    tool = Tool.from_function(function, name=name, annotations=annotations, output_schema=output_schema(answer))
    server.add_tool(tool.model_copy(update={"parameters": plain(tool.parameters)}))


def result(answer: BaseModel, text: str, *more: ContentBlock) -> ToolResult:
    """Returns an answer as structure and as text, with what else belongs to it; empty fields are left out."""
    content = [TextContent(type="text", text=text), *more]
    return ToolResult(content=content, structured_content=answer.model_dump(mode="json", exclude_none=True))
