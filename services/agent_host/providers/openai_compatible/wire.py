"""A request as the JSON of chat completions. Pure.

Four things differ between those who speak this API, and are left out or renamed once a server has refused them:
`response_format`, the lengths of texts in its schema, `stream_options`, and the name of the output limit, which OpenAI
itself takes as `max_completion_tokens` for models that reason, and most other servers as `max_tokens`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from agent_host.providers.protocol import Message, ModelRequest, Text, ToolResult, ToolUse

Part: TypeAlias = Literal["response_format", "lengths", "stream_options", "max_tokens"]

OF_A_SCHEMA: Final[frozenset[Part]] = frozenset({"response_format", "lengths"})
"""The parts that a server may take of one schema and not of the next."""

_LENGTHS: Final = ("minLength", "maxLength")  # what holds a small model, and what OpenAI's strict schemas refuse
_OURS: Final = ("format",)  # of words that nobody else knows


def build_params(model: str, request: ModelRequest, without: Collection[Part]) -> dict[str, Any]:
    """Returns the JSON of a request, without the parts the server is known to refuse."""
    params: dict[str, Any] = {"model": model, "messages": list(_messages(request))}
    params["max_completion_tokens" if "max_tokens" in without else "max_tokens"] = request.max_tokens
    if request.tools:
        params["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
            }
            for tool in request.tools
        ]
        params["tool_choice"] = request.tool_choice
    if request.output_schema is not None and "response_format" not in without:
        params["response_format"] = _response_format(request.output_schema, without)
    return _encodable(params)


def has_part(request: ModelRequest, part: Part) -> bool:
    """Tells whether a request has a part, so that it would be another one without it."""
    schema = request.output_schema
    if part == "lengths":
        return schema is not None and wire_schema(schema, {"lengths"}) != wire_schema(schema, ())
    return part != "response_format" or schema is not None


def wire_schema(schema: Mapping[str, Any], without: Collection[Part]) -> dict[str, Any]:
    """Returns a schema with what it may not hold in words; the caller checks all of it on the answer."""
    in_words = (*_LENGTHS, *_OURS) if "lengths" in without else _OURS
    kept = {name: value for name, value in schema.items() if name not in in_words}
    left_out = [f"{name}: {schema[name]}" for name in in_words if name in schema]
    if left_out:
        kept["description"] = f"{schema.get('description', '')} ({', '.join(left_out)})".strip()
    if isinstance(schema.get("properties"), Mapping):
        kept["properties"] = {name: wire_schema(member, without) for name, member in schema["properties"].items()}
    if isinstance(schema.get("items"), Mapping):
        kept["items"] = wire_schema(schema["items"], without)
    return kept


def _response_format(schema: Mapping[str, Any], without: Collection[Part]) -> dict[str, Any]:
    named: dict[str, Any] = {"name": "answer", "schema": wire_schema(schema, without)}
    return {"type": "json_schema", "json_schema": {**named, "strict": True} if _all_required(schema) else named}


def _all_required(schema: Mapping[str, Any]) -> bool:
    """Tells whether a schema may be strict: every property of every object must be required."""
    properties = schema.get("properties") or {}
    parts = [*properties.values(), *([schema["items"]] if "items" in schema else [])]
    return set(properties) <= set(schema.get("required") or ()) and all(_all_required(part) for part in parts)


def _messages(request: ModelRequest) -> Iterator[dict[str, Any]]:
    if request.system.strip():
        yield {"role": "system", "content": request.system}
    for message in request.messages:
        yield from _assistant(message) if message.role == "assistant" else _user(message)


def _assistant(message: Message) -> Iterator[dict[str, Any]]:
    words = "".join(block.text for block in message.blocks if isinstance(block, Text))
    calls = [_call(block) for block in message.blocks if isinstance(block, ToolUse)]
    if calls:
        yield {"role": "assistant", "content": words if words.strip() else None, "tool_calls": calls}
    elif words.strip():  # a reply without a word cannot be sent back, and says nothing
        yield {"role": "assistant", "content": words}


def _user(message: Message) -> Iterator[dict[str, Any]]:
    """Yields the results of tools first: they must follow right after what asked for them."""
    for block in message.blocks:
        if isinstance(block, ToolResult):
            told = f"Error: {block.content}" if block.is_error else block.content
            yield {"role": "tool", "tool_call_id": block.tool_use_id, "content": told}
    words = [block.text for block in message.blocks if isinstance(block, Text) and block.text.strip()]
    if words:
        yield {"role": "user", "content": "\n\n".join(words)}


def _call(use: ToolUse) -> dict[str, Any]:
    arguments = json.dumps(use.arguments, ensure_ascii=False, default=dict)
    return {"id": use.id, "type": "function", "function": {"name": use.name, "arguments": arguments}}


def _encodable(params: dict[str, Any]) -> dict[str, Any]:
    """Returns the parameters as plain JSON; half surrogate pairs, which no UTF-8 carries, become question marks."""
    text = json.dumps(params, ensure_ascii=False, default=dict)
    return dict(json.loads(text.encode(errors="replace")))
