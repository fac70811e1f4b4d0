"""The specs this product ships. One so far: the calls of the loop."""

from __future__ import annotations

from agent_host.constrained.spec import RuntimeAISpec
from agent_host.providers.protocol import Identity

FAILURE_MESSAGE = "I could not get an answer from the model."


def reply_drafter(identity: Identity, max_latency_ms: int) -> RuntimeAISpec:
    """Returns the spec of every call of the loop: free text and tool calls are its output, committed to as they are."""
    return RuntimeAISpec(
        spec_id="reply-drafter",
        display_name="Reply drafter",
        description="Drafts the reply to a person, or the tool calls that lead to it.",
        category="drafter",
        input_schema={"type": "object", "properties": {"system": {"type": "string"}, "messages": {"type": "array"}}},
        output_schema={"type": "object", "properties": {"blocks": {"type": "array"}}},
        prompt_template={"system": "{{system}}", "user": "{{messages}}"},
        model_identity=identity,
        reviewer_gate="never",
        max_latency_ms=max_latency_ms,
        fallback_behavior="deterministic-default",
        deterministic_default={"blocks": [{"type": "text", "text": FAILURE_MESSAGE}]},
    )
