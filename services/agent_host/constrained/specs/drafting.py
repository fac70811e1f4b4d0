"""The spec of every call of the loop: free text and tool calls are its output, committed to as they are."""

from __future__ import annotations

from typing import Final

from agent_host.constrained.spec import RuntimeAISpec
from agent_host.providers.protocol import Identity, JsonValue

FAILURE_MESSAGE: Final = "I could not get an answer from the model."

_TEXT: Final[JsonValue] = {"type": "string"}


def reply_drafter(identity: Identity, max_latency_ms: int) -> RuntimeAISpec:
    """Returns the spec under which `ReplyDrafter` commits to a request and its reply."""
    rows: JsonValue = {
        "type": "array",
        "items": _closed({"role": {"type": "string", "enum": ["user", "assistant"]}, "blocks": _blocks()}),
    }
    return RuntimeAISpec(
        spec_id="reply-drafter",
        display_name="Reply drafter",
        description="Drafts the reply to a person, or the tool calls that lead to it.",
        category="drafter",
        input_schema={
            **_closed({"system": _TEXT, "messages": rows}),
            "properties": {
                "system": _TEXT,
                "messages": rows,
                "tools": {"type": "array", "items": _TEXT},
                "tool_choice": {"type": "string", "enum": ["auto", "none"]},
            },
        },
        output_schema=_closed({"blocks": _blocks()}),
        prompt_template={"system": "{{system}}", "user": "{{messages}}"},
        model_identity=identity,
        reviewer_gate="never",
        max_latency_ms=max_latency_ms,
        fallback_behavior="deterministic-default",
        deterministic_default={"blocks": [{"type": "text", "text": FAILURE_MESSAGE}]},
    )


def _blocks() -> JsonValue:
    """Returns the schema of blocks: the members of every kind, of which `type` says which are there."""
    members: dict[str, JsonValue] = {
        "type": {"type": "string", "enum": ["text", "tool_use", "tool_result"]},
        "is_error": {"type": "boolean"},
    }
    members |= dict.fromkeys(("text", "id", "name", "arguments", "tool_use_id", "content"), _TEXT)
    return {"type": "array", "items": {**_closed(members), "required": ["type"]}}


def _closed(properties: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
