"""RuntimeAISpec: the typed contract of one kind of model call (constrained-ai.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from agent_host.constrained.plain_json import plain_copy
from agent_host.constrained.spec_rules import broken_rule
from agent_host.errors import SpecError
from agent_host.providers.protocol import Identity, JsonValue
from agent_host.receipts.commitments import canonical_bytes

SCHEMA_VERSION = "prometheus-runtime-ai-spec-1.0"
CANONICAL_FORM = "v2"

Category: TypeAlias = Literal["classifier", "extractor", "drafter", "router", "summariser"]
ReviewerGate: TypeAlias = Literal["always", "on-low-confidence", "never"]
Fallback: TypeAlias = Literal["deterministic-default", "retry-once-then-default", "raise", "queue-for-review"]


@dataclass(frozen=True)
class RuntimeAISpec:
    """One kind of model call; validated when made, hashed over its RFC 8785 bytes.

    `low_confidence_threshold` is in basis points, `max_latency_ms` bounds the whole call, retries included, and
    `max_output_tokens` what the model may write. With `require_receipt` a call whose entry is not signed gives no
    decision of a model. The rules are in `spec_rules`.

    Raises:
        SpecError: a field breaks its rule; the message names the field.
    """

    spec_id: str
    display_name: str
    description: str
    category: Category
    input_schema: Mapping[str, JsonValue]
    output_schema: Mapping[str, JsonValue]
    prompt_template: Mapping[str, str]
    model_identity: Identity
    reviewer_gate: ReviewerGate
    max_latency_ms: int
    fallback_behavior: Fallback
    deterministic_default: JsonValue = None
    low_confidence_threshold: int | None = None
    max_output_tokens: int = 1024
    require_receipt: bool = False
    schema_version: str = field(default=SCHEMA_VERSION, init=False)
    canonical_form: str = field(default=CANONICAL_FORM, init=False)
    spec_bytes: bytes = field(default=b"", init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if sentence := broken_rule(self):
            raise SpecError(sentence)
        for name in ("input_schema", "output_schema", "prompt_template", "deterministic_default"):
            object.__setattr__(self, name, plain_copy(getattr(self, name)))  # whoever made it may go on changing his
        object.__setattr__(self, "spec_bytes", canonical_bytes(self.as_json()))

    def as_json(self) -> dict[str, JsonValue]:
        """Returns the spec as the JSON value that is hashed."""
        identity = self.model_identity
        return {
            "spec_id": self.spec_id,
            "display_name": self.display_name,
            "description": self.description,
            "category": self.category,
            "schema_version": self.schema_version,
            "canonical_form": self.canonical_form,
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
            "prompt_template": dict(self.prompt_template),
            "model_identity": {
                "provider": identity.provider,
                "model": identity.model,
                "version": identity.version,
            },
            "reviewer_gate": self.reviewer_gate,
            "low_confidence_threshold": self.low_confidence_threshold,
            "max_latency_ms": self.max_latency_ms,
            "max_output_tokens": self.max_output_tokens,
            "fallback_behavior": self.fallback_behavior,
            "deterministic_default": self.deterministic_default,
            "require_receipt": self.require_receipt,
        }

    @property
    def spec_hash(self) -> str:
        """Lower-case hex SHA-256 of the RFC 8785 bytes of the spec (receipts.md section 5)."""
        return hashlib.sha256(self.spec_bytes).hexdigest()

    def fresh_default(self) -> JsonValue:
        """Returns a copy of the default, which whoever gets it may change."""
        return plain_copy(self.deterministic_default)

    @property
    def may_repair(self) -> bool:
        """Whether an invalid output is asked for once more: only a spec that goes straight to its default does not."""
        return self.fallback_behavior != "deterministic-default"
