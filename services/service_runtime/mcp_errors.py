"""What a caller reads when a call fails: one sentence on what to send instead, never the inside of the server."""

import re
from collections.abc import Mapping
from typing import Any

from fastmcp.exceptions import FastMCPError
from fastmcp.exceptions import ValidationError as ArgumentError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from mcp import MCPError
from mcp.types import INVALID_PARAMS
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from service_runtime.errors import ServiceError, SetupError
from service_runtime.stdin_guard import UNREADABLE_METHOD

_PROBLEMS = (  # pydantic's error types, first match wins
    (r"null_text", 'is the text "null"'),
    (r"missing", "is missing"),
    (r"too_short", "is empty or too short"),
    (r"too_long|(greater|less)_than", "is out of bounds"),
    (r"literal_error|enum", "is not one of the choices"),
    (r"_type$|_parsing$|_from_float$", "has the wrong type"),
    (r"pattern", "has the wrong form"),
)
_NOUNS = {  # a JSON type in words, what its bounds are called, what they count
    "string": ("a text", "Length", " characters"),
    "integer": ("a whole number", "imum", ""),
    "number": ("a number", "imum", ""),
    "array": ("a list", "Items", " items"),
    "boolean": ("true or false", "", ""),
    "object": ("an object", "", ""),
}


class OneSentenceErrors(Middleware):
    """Turn every failure of a tool, resource or prompt into one sentence that is safe to show."""

    async def on_request(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """Refuse what the stdin guard marked, explain bad arguments, let only a `ServiceError`'s own words through.

        Raises:
            MCPError: The request could not be read as text.
            FastMCPError: The failure, as one sentence.
        """
        if context.method == UNREADABLE_METHOD:
            raise MCPError(
                INVALID_PARAMS,
                "The request cannot be read: it holds half of a surrogate pair or a number without end, is nested too "
                "deeply, is over 4 MiB or is not JSON-RPC 2.0; send it again as plain UTF-8 JSON.",
            )
        try:
            return await call_next(context)
        except FastMCPError as error:
            cause = error.__cause__
            if cause is None:  # raised as the sentence it is
                raise
            what = str(getattr(context.message, "name", context.method))
            sentence = f"Internal error in {what}: nothing came of it; try again, and see the server's log if it stays."
            if isinstance(cause, ServiceError) and not isinstance(cause, SetupError):  # which may name a path
                sentence = str(cause)
            elif isinstance(error, ArgumentError) and isinstance(cause, ValidationError) and context.fastmcp_context:
                tool = await context.fastmcp_context.fastmcp.get_tool(what)
                sentence = argument_sentence(what, tool.parameters if tool else {}, cause.errors()[0])
            raise type(error)(sentence) from None


def argument_sentence(tool: str, schema: Mapping[str, Any], error: ErrorDetails) -> str:
    """Say in one sentence which argument is wrong and what to send instead; the bad value is never repeated."""
    properties = schema.get("properties", {})
    name, *inside = error["loc"] or ("",)
    if name not in properties:
        return f"{tool} has no argument {str(name)[:80]!r}; it accepts {', '.join(properties) or 'no arguments'}."
    steps = [f"item {step + 1}" if isinstance(step, int) else repr(step) for step in reversed(inside)]
    item = f" (in {' of '.join(steps)})" if steps else ""
    problem = next((words for pattern, words in _PROBLEMS if re.search(pattern, error["type"])), "is not valid")
    leave_out = "" if name in schema.get("required", ()) else ", or leave it out"
    return f"The argument {name!r} of {tool}{item} {problem}: send {accepted(properties[name])}{leave_out}."


def accepted(schema: Mapping[str, Any]) -> str:
    """Describe in words what a JSON schema accepts; null goes without saying."""
    if "anyOf" in schema:
        return " or ".join(accepted(option) for option in schema["anyOf"] if option.get("type") != "null")
    if "enum" in schema or "const" in schema:
        return "one of " + ", ".join(repr(choice) for choice in schema.get("enum", [schema.get("const")]))
    noun, bound, unit = _NOUNS.get(schema.get("type", ""), ("a value of the tool's schema", "", ""))
    names = (("least", f"min{bound}"), ("most", f"max{bound}"))
    bounds = " and ".join(f"at {word} {schema[name]}" for word, name in names if name in schema)
    words = f"{noun} of {bounds}{unit}" if bounds else noun
    if schema.get("type") == "array":
        return f"{words}, each {accepted(schema.get('items', {}))}"
    return f"{words} that matches {schema['pattern']}" if "pattern" in schema else words
