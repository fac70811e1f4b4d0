"""The Messages API's JSON, in and out. Pure: values in, values or `MalformedReplyError` out.

Two rules of the API shape this module. Text blocks must not be blank. And a model that thinks gets its thinking back
word for word when a tool's result is sent, provided that nothing before it changed: a reply's raw blocks are kept
under a hash of everything that stood before them, and are used again only under that same hash. When the prefix did
change (a trimmed result, another system prompt), the turn is sent without its thinking, which the API accepts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from agent_host.providers.protocol import (
    Block,
    Message,
    ModelReply,
    ModelRequest,
    StopReason,
    Text,
    ToolUse,
    Usage,
)

_STOP_REASONS: Final[Mapping[str, StopReason]] = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "pause_turn": "pause",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_full",
}
_COUNTS: Final = {  # in the order of `Usage`
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_tokens": "cache_read_input_tokens",
    "cache_write_tokens": "cache_creation_input_tokens",
}
_ALWAYS_COUNTED: Final = frozenset({"input_tokens", "output_tokens"})
_CUT_OFF: Final = frozenset({"max_tokens", "refusal", "context_full"})
_CACHE: Final = {"type": "ephemeral"}
_MARKED_ROWS: Final = 2
_WIRE_KEYWORDS: Final = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "description", "title"}
)
_PLAIN_BLOCKS: Final = frozenset({"text", "tool_use"})


class MalformedReplyError(ValueError):
    """A reply that is not what the Messages API promises."""


@dataclass(frozen=True)
class Kept:
    """A reply as it came: the seam's blocks and the raw ones they were read from."""

    blocks: tuple[Text | ToolUse, ...]
    raw: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Prompt:
    """A request's JSON, and the hash under which its reply may be kept."""

    params: dict[str, Any]
    position: str


def build_prompt(model: str, request: ModelRequest, kept: Mapping[str, Kept]) -> Prompt:
    """Returns the JSON of a request; `kept` maps prefix hashes to replies that were seen after that prefix.

    What the next request will begin with is marked for the cache: tools, the lasting part of the system prompt, and,
    where tools make a next step likely, the last two rows of the user. The API takes four marks.
    """
    system = _system(request)
    tools: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
        for tool in request.tools
    ]
    position = _next_position("", [system, tools])
    messages: list[dict[str, Any]] = []
    for message in request.messages:
        content = _content(message, kept.get(position))
        if not content:
            continue  # a reply without a word cannot be sent back, and says nothing
        messages.append({"role": message.role, "content": content})
        position = _next_position(position, messages[-1])
    params: dict[str, Any] = {"model": model, "max_tokens": request.max_tokens, "messages": messages}
    if system:
        params["system"] = [_marked(system[0]), *system[1:]]
    if tools:
        params["messages"] = _marked_rows(messages)
        params["tools"] = [*tools[:-1], _marked(tools[-1])]
        params["tool_choice"] = {"type": request.tool_choice}
    if request.output_schema is not None:
        params["output_config"] = {"format": {"type": "json_schema", "schema": wire_schema(request.output_schema)}}
    return Prompt(_encodable(params), position)


def read_reply(message: Mapping[str, Any]) -> ModelReply:
    """Reads a whole Messages API reply.

    A reply that was cut off loses its tool calls: the last may lack arguments, and none can be answered any more.

    Raises:
        MalformedReplyError: no stop reason, no list of blocks, no counts of tokens, or a block that is not whole.
    """
    raw_reason = message.get("stop_reason")
    if not isinstance(raw_reason, str):
        raise MalformedReplyError("the reply has no stop reason")
    content = message.get("content")
    if not isinstance(content, list):
        raise MalformedReplyError("the reply has no list of blocks")
    blocks = [block for raw in content if (block := _block(raw)) is not None]
    default: StopReason = "tool_use" if any(isinstance(block, ToolUse) for block in blocks) else "end_turn"
    reason = _STOP_REASONS.get(raw_reason, default)
    if reason in _CUT_OFF:
        blocks = [block for block in blocks if isinstance(block, Text)]
    usage = _usage(message.get("usage"))
    return ModelReply(tuple(blocks), reason, usage, str(message.get("model") or ""))


def wire_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a schema with what the API cannot enforce, such as bounds, in words: it refuses those keywords.

    The caller checks the whole schema on the answer; here it is only what the model is held to while it writes.
    """
    if isinstance(schema.get("type"), list | tuple):  # [T, "null"]
        return {"anyOf": [wire_schema({**schema, "type": schema["type"][0]}), {"type": "null"}]}
    kept = {name: value for name, value in schema.items() if name in _WIRE_KEYWORDS}
    left_out = {name: value for name, value in schema.items() if name not in _WIRE_KEYWORDS}
    if left_out:
        bounds = ", ".join(f"{name}: {value}" for name, value in left_out.items())
        kept["description"] = f"{schema.get('description', '')} ({bounds})".strip()
    if isinstance(schema.get("properties"), Mapping):
        kept["properties"] = {name: wire_schema(member) for name, member in schema["properties"].items()}
    if isinstance(schema.get("items"), Mapping):
        kept["items"] = wire_schema(schema["items"])
    return kept


def known_usage(counts: Mapping[str, Any], before: Usage | None = None) -> Usage:
    """Reads what can be read of a failed call's counts; one that is missing or no count stays as it was `before`."""
    known = before or Usage()
    read = {
        field: counts[name] for field, name in _COUNTS.items() if isinstance(counts.get(name), int) and counts[name] > 0
    }
    return replace(known, **read)


def worth_keeping(message: Mapping[str, Any], reply: ModelReply) -> Kept | None:
    """Returns the reply with its raw blocks when these hold more than the seam can carry, such as thinking."""
    raw = tuple(message.get("content") or ())
    if reply.stop_reason in _CUT_OFF or all(block.get("type") in _PLAIN_BLOCKS for block in raw):
        return None
    return Kept(reply.blocks, raw)


def check_tool_json(pieces: Sequence[str]) -> None:
    """Checks the arguments of one streamed tool call, given as it came; none at all means no arguments.

    Raises:
        MalformedReplyError: they are not one whole JSON object.
    """
    text = "".join(pieces)
    try:
        whole = json.loads(text) if text else {}
    except ValueError as error:
        raise MalformedReplyError("a tool call's arguments are not valid JSON") from error
    if not isinstance(whole, dict):
        raise MalformedReplyError("a tool call's arguments are not an object")


def _system(request: ModelRequest) -> list[dict[str, Any]]:
    """Returns the system prompt as blocks, what lasts first."""
    cut = request.lasting or len(request.system)
    parts = (request.system[:cut], request.system[cut:])
    return [{"type": "text", "text": part} for part in parts if part.strip()]


def _marked(block: Mapping[str, Any]) -> dict[str, Any]:
    return {**block, "cache_control": _CACHE}


def _marked_rows(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the messages with the ends of the last two rows of the user marked: this step's, and the one's before."""
    rows = list(messages)
    for index in [index for index, message in enumerate(messages) if message["role"] == "user"][-_MARKED_ROWS:]:
        *before, last = rows[index]["content"]
        rows[index] = {**rows[index], "content": [*before, _marked(last)]}
    return rows


def _content(message: Message, kept: Kept | None) -> list[Mapping[str, Any]]:
    if kept is not None and message.role == "assistant" and kept.blocks == message.blocks:
        return list(kept.raw)
    return [raw for block in message.blocks if (raw := _raw(block)) is not None]


def _raw(block: Block) -> dict[str, Any] | None:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text} if block.text.strip() else None
    if isinstance(block, ToolUse):
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.arguments}
    raw: dict[str, Any] = {"type": "tool_result", "tool_use_id": block.tool_use_id, "is_error": block.is_error}
    return {**raw, "content": block.content} if block.content.strip() else raw


def _block(raw: object) -> Text | ToolUse | None:
    if not isinstance(raw, Mapping):
        raise MalformedReplyError("a block of the reply is not an object")
    if raw.get("type") == "text":
        return Text(_word(raw, "text"))
    if raw.get("type") != "tool_use":
        return None
    arguments = raw.get("input")
    if not isinstance(arguments, Mapping):
        raise MalformedReplyError("a tool call's arguments are not an object")
    identifier, name = _word(raw, "id"), _word(raw, "name")
    if not (identifier and name):
        raise MalformedReplyError("a tool call has no id or no name")
    return ToolUse(identifier, name, dict(arguments))


def _word(raw: Mapping[str, Any], name: str) -> str:
    value = raw.get(name)
    if not isinstance(value, str):
        raise MalformedReplyError(f"a block of the reply has no {name}")
    return value


def _usage(counts: object) -> Usage:
    if not isinstance(counts, Mapping):
        raise MalformedReplyError("the reply does not count its tokens")
    return Usage(*(_count(counts, name) for name in _COUNTS.values()))


def _count(counts: Mapping[str, Any], name: str) -> int:
    """Reads one count; only those of the cache may be missing."""
    value = counts.get(name)
    if value is None and name not in _ALWAYS_COUNTED:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise MalformedReplyError(f"the reply's {name} is not a count")
    return value


def _next_position(position: str, value: object) -> str:
    return hashlib.sha256(f"{position}{json.dumps(value, sort_keys=True, default=dict)}".encode()).hexdigest()


def _encodable(params: dict[str, Any]) -> dict[str, Any]:
    """Returns the parameters with half surrogate pairs, which no UTF-8 can carry, replaced by question marks."""
    text = json.dumps(params, ensure_ascii=False, default=dict)
    try:
        text.encode()
    except UnicodeEncodeError:
        return dict(json.loads(text.encode(errors="replace")))
    return params
