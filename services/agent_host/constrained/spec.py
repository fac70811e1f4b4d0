"""RuntimeAISpec: the typed contract of one kind of model call (constrained-ai.md)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from agent_host.errors import ConfigurationError
from agent_host.providers.protocol import Identity, JsonValue
from agent_host.receipts.commitments import canonical_bytes

SCHEMA_VERSION = "prometheus-runtime-ai-spec-1.0"
CANONICAL_FORM = "v2"

Category: TypeAlias = Literal["classifier", "extractor", "drafter", "router", "summariser"]
ReviewerGate: TypeAlias = Literal["always", "on-low-confidence", "never"]
Fallback: TypeAlias = Literal["deterministic-default", "retry-once-then-default", "raise", "queue-for-review"]

_KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_SPEC_ID_LIMIT = 128


@dataclass(frozen=True)
class RuntimeAISpec:
    """One kind of model call; validated when made, hashed over its RFC 8785 bytes.

    Raises:
        ConfigurationError: a field breaks its rule; the message names the field.
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
    schema_version: str = field(default=SCHEMA_VERSION, init=False)
    canonical_form: str = field(default=CANONICAL_FORM, init=False)

    def __post_init__(self) -> None:
        if not _KEBAB.fullmatch(self.spec_id) or len(self.spec_id) > _SPEC_ID_LIMIT:
            raise ConfigurationError(
                f"spec_id {self.spec_id!r} must be kebab-case and at most {_SPEC_ID_LIMIT} characters."
            )
        if not self.display_name or not self.description:
            raise ConfigurationError(f"The spec {self.spec_id} needs a display_name and a description.")
        if self.max_latency_ms <= 0:
            raise ConfigurationError(f"max_latency_ms of the spec {self.spec_id} must be above 0.")
        if self.fallback_behavior.endswith("default") and self.deterministic_default is None:
            raise ConfigurationError(
                f"The spec {self.spec_id} falls back to a default: give it a deterministic_default."
            )

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
            "max_latency_ms": self.max_latency_ms,
            "fallback_behavior": self.fallback_behavior,
            "deterministic_default": self.deterministic_default,
        }

    @cached_property
    def spec_hash(self) -> str:
        """Lower-case hex SHA-256 of the RFC 8785 bytes of the spec (receipts.md section 5)."""
        return hashlib.sha256(canonical_bytes(self.as_json())).hexdigest()
