"""A reply of chat completions, put together from its pieces. Pure.

Servers differ here more than anywhere: arguments whole or in pieces, calls without index or id, an id used twice,
"stop" as the reason of a reply that asks for tools, calls although tools are off, no counts of tokens. All of that is
read.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agent_host.providers.bounds import Bound
from agent_host.providers.protocol import JsonValue, ModelReply, ModelRequest, StopReason, Text, ToolUse, Usage

BROKEN_ARGUMENTS: Final = "The arguments of this call are not one JSON object, so it was not made; send them again."

_STOP_REASONS: Final[Mapping[str, StopReason]] = {"length": "max_tokens", "content_filter": "refusal"}


class MalformedReplyError(ValueError):
    """A reply that is not what the API promises."""


@dataclass
class _Call:
    """A tool call as far as it has come; `place` is its index, which some servers leave out or do not count."""

    place: object
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


@dataclass
class Heard:
    """What a reply has said so far, and whether it said why it ended: a closed connection alone is no end."""

    bound: Bound
    words: list[str] = field(default_factory=list)
    refused: bool = False
    finish_reason: str | None = None
    model: str = ""
    usage: Usage | None = None
    generated: int = 0
    calls: list[_Call] = field(default_factory=list)

    def take(self, chunk: Mapping[str, Any]) -> str:
        """Takes in one chunk of a stream, or one whole reply; returns the text it adds, if any.

        Raises:
            MalformedReplyError: a part of it is of another type than the API promises.
            OverlongReplyError: the reply has brought more than any use has for it.
        """
        self.model = str(chunk.get("model") or self.model)
        if isinstance(chunk.get("usage"), Mapping):
            self.usage = _usage(chunk["usage"])
        if isinstance(chunk.get("timings"), Mapping):  # llama.cpp's own count, of thoughts too
            self.generated = _count(chunk["timings"], "predicted_n")
        added = ""
        for choice in _list(chunk, "choices")[:1]:
            said = _mapping(choice.get("delta") or choice.get("message") or {})
            self.bound.take(sum(len(value) for value in said.values() if isinstance(value, str)), self.usage)
            refusal = _word(said, "refusal")
            self.refused = self.refused or bool(refusal)
            added += _word(said, "content") + refusal
            for call in _list(said, "tool_calls"):
                self._take_call(call)
            self.finish_reason = _word(choice, "finish_reason") or self.finish_reason
        if added:
            self.words.append(added)
        return added

    @property
    def spoke(self) -> bool:
        """Whether any text has come."""
        return bool(self.words)

    def reply(self, request: ModelRequest) -> ModelReply:
        """Returns the whole reply. One that was cut off loses its tool calls: none can be answered any more.

        Raises:
            MalformedReplyError: it never said why it ended, or asks for a tool without a name.
        """
        if self.finish_reason is None:
            raise MalformedReplyError("the reply ended without saying why")
        reason = "refusal" if self.refused else _STOP_REASONS.get(self.finish_reason)
        if reason == "max_tokens" and 0 < self.generated < request.max_tokens:
            reason = "context_full"  # llama.cpp says "length" for both limits, and this was not ours
        calls = self.calls if reason is None and request.tools and request.tool_choice != "none" else []
        taken = {block.id for row in request.messages for block in row.blocks if isinstance(block, ToolUse)}
        uses = []
        for call in calls:
            uses.append(_tool_use(call, taken))
            taken.add(uses[-1].id)
        words = (Text("".join(self.words)),) if self.words else ()
        default: StopReason = "tool_use" if uses else "end_turn"
        return ModelReply((*words, *uses), reason or default, self.usage or Usage(), self.model)

    def _take_call(self, raw: Mapping[str, Any]) -> None:
        function = _mapping(raw.get("function") or {})
        identifier, name, given = _word(raw, "id"), _word(function, "name"), function.get("arguments") or ""
        place = raw.get("index")
        call = next((one for one in reversed(self.calls) if one.place == place), None)
        given = given if isinstance(given, str) else json.dumps(given)
        self.bound.take(len(name) + len(given), self.usage, calls=1)
        if call is None or (identifier and call.id and identifier != call.id) or (place is None and name):
            call = _Call(place)
            self.calls.append(call)
        call.id = call.id or identifier
        if name != call.name:  # some repeat the whole name with each piece
            call.name += name
        call.arguments.append(given)


def _tool_use(call: _Call, taken: Collection[str]) -> ToolUse:
    """Returns a call under an id of its own; one whose arguments cannot be read carries what to tell the model."""
    if not call.name:
        raise MalformedReplyError("a tool call has no name")
    identifier = call.id if call.id and call.id not in taken else f"call_{secrets.token_hex(12)}"
    arguments = _arguments("".join(call.arguments))
    if arguments is None:
        return ToolUse(identifier, call.name, {}, fault=BROKEN_ARGUMENTS)
    return ToolUse(identifier, call.name, arguments)


def _arguments(text: str) -> dict[str, JsonValue] | None:
    """Reads a call's arguments; none at all means no arguments."""
    try:
        whole = json.loads(text, parse_constant=_refuse) if text.strip() else {}
    except (ValueError, RecursionError):
        return None
    return whole if isinstance(whole, dict) else None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _usage(counts: Mapping[str, Any]) -> Usage:
    """Reads the counts; what was cached is counted in `prompt_tokens` too, and is taken out of it."""
    details = counts.get("prompt_tokens_details")
    details = details if isinstance(details, Mapping) else {}
    read, written = _count(details, "cached_tokens"), _count(details, "cache_write_tokens")
    fresh = max(0, _count(counts, "prompt_tokens") - read - written)
    return Usage(fresh, _count(counts, "completion_tokens"), read, written)


def _count(counts: Mapping[str, Any], name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _word(raw: Mapping[str, Any], name: str) -> str:
    value = raw.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MalformedReplyError(f"the {name} of a reply is no text")
    return value


def _list(raw: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    value = raw.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise MalformedReplyError(f"the {name} of a reply are no list")
    return [_mapping(item) for item in value]


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise MalformedReplyError("a part of a reply is no object")
    return value
