"""What a caller reads when a call fails: one sentence on what to send instead, never the inside of the server."""

import re
from collections.abc import Mapping
from typing import Any

from fastmcp.exceptions import FastMCPError, ToolError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from mcp import MCPError
from mcp.types import INVALID_PARAMS, CallToolRequestParams
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from service_runtime.errors import ServiceError
from service_runtime.stdin_guard import UNREADABLE_METHOD

_PROBLEMS = (  # pydantic's error types, first match wins
    (re.compile(r"missing"), "is missing"),
    (re.compile(r"too_(long|short)|(greater|less)_than"), "is out of bounds"),
    (re.compile(r"literal_error|enum"), "is not one of the choices"),
    (re.compile(r"_type$|_parsing$|_from_float$"), "has the wrong type"),
    (re.compile(r"pattern"), "has the wrong form"),
)


class OneSentenceErrors(Middleware):
    """Turn every failure of a tool, resource or prompt into one sentence that is safe to show."""

    async def on_request(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """Refuse what the stdin guard marked; let only a `ServiceError`'s own words through.

        Raises:
            MCPError: The request could not be read as text.
            FastMCPError: The failure, as one sentence.
        """
        if context.method == UNREADABLE_METHOD:
            raise MCPError(
                INVALID_PARAMS,
                "The request cannot be read: it holds half of a surrogate pair, is nested too deeply or is not "
                "JSON-RPC 2.0; send it again as plain UTF-8 JSON.",
            )
        try:
            return await call_next(context)
        except FastMCPError as error:
            if error.__cause__ is None:
                raise
            what = getattr(context.message, "name", None) or context.method
            raise type(error)(_sentence(error.__cause__, what)) from None

    async def on_call_tool(
        self, context: MiddlewareContext[CallToolRequestParams], call_next: CallNext[Any, Any]
    ) -> Any:
        """Rewrite argument errors from the tool's own schema.

        Raises:
            ToolError: The first bad argument, what is wrong with it and what is accepted.
        """
        try:
            return await call_next(context)
        except FastMCPError as error:
            cause = error.__cause__
            if not isinstance(cause, ValidationError) or isinstance(error, ToolError) or not context.fastmcp_context:
                raise
            name = context.message.name
            tool = await context.fastmcp_context.fastmcp.get_tool(name)
            raise ToolError(argument_sentence(name, tool.parameters if tool else {}, cause.errors()[0])) from None


def _sentence(cause: BaseException, what: object) -> str:
    if isinstance(cause, ServiceError):
        return str(cause)
    return f"Internal error in {what}: nothing was sent back; try again, and look in the server's log if it stays."


def argument_sentence(tool: str, schema: Mapping[str, Any], error: ErrorDetails) -> str:
    """Say in one sentence which argument is wrong and what to send instead; the bad value is never repeated."""
    properties = schema.get("properties", {})
    name, *inside = error["loc"] or ("",)
    if name not in properties:
        return f"{tool} has no argument {name!r}; it accepts {', '.join(properties) or 'no arguments'}."
    item = f" (in {' of '.join(_step(step) for step in reversed(inside))})" if inside else ""
    problem = next((words for pattern, words in _PROBLEMS if pattern.search(error["type"])), "is not valid")
    leave_out = "" if name in schema.get("required", ()) else ", or leave it out"
    return f"The argument {name!r} of {tool}{item} {problem}: send {accepted(properties[name])}{leave_out}."


def _step(step: str | int) -> str:
    return f"item {step + 1}" if isinstance(step, int) else repr(step)


def accepted(schema: Mapping[str, Any]) -> str:
    """Describe in words what a JSON schema accepts; null goes without saying."""
    if "anyOf" in schema:
        return " or ".join(accepted(option) for option in schema["anyOf"] if option.get("type") != "null")
    if "enum" in schema or "const" in schema:
        return "one of " + ", ".join(repr(choice) for choice in schema.get("enum", [schema.get("const")]))
    kind = schema.get("type")
    if kind == "string":
        form = f" that matches {schema['pattern']}" if "pattern" in schema else ""
        return f"a text{_range(schema, 'minLength', 'maxLength', ' characters')}{form}"
    if kind in {"integer", "number"}:
        noun = "a whole number" if kind == "integer" else "a number"
        return noun + _range(schema, "minimum", "maximum", "")
    if kind == "array":
        items = accepted(schema.get("items", {}))
        return f"a list{_range(schema, 'minItems', 'maxItems', ' items')}, each {items}"
    return {"boolean": "true or false", "object": "an object"}.get(str(kind), "a value of the tool's schema")


def _range(schema: Mapping[str, Any], low: str, high: str, unit: str) -> str:
    least, most = schema.get(low), schema.get(high)
    if least is not None and most is not None:
        return f" of {least} to {most}{unit}" if unit else f" from {least} to {most}"
    if most is not None:
        return f" of at most {most}{unit}"
    return f" of at least {least}{unit}" if least is not None else ""
