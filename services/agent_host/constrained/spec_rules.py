"""The rules a RuntimeAISpec keeps, one sentence each (constrained-ai.md, RuntimeAISpec). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Final, get_args, get_type_hints

from agent_host.constrained.plain_json import plain_fault
from agent_host.constrained.schema import Schema, schema_fault, value_fault
from agent_host.constrained.template import placeholders
from agent_host.providers.protocol import Identity, JsonValue

if TYPE_CHECKING:
    from agent_host.constrained.spec import RuntimeAISpec

SPEC_ID_LIMIT: Final = 128
CONFIDENCE_LIMIT: Final = 10_000
"""Confidence is in basis points: 10,000 is certain."""

CATEGORIES: Final = ("classifier", "extractor", "drafter", "router", "summariser")
REVIEWER_GATES: Final = ("always", "on-low-confidence", "never")
FALLBACKS: Final = ("deterministic-default", "retry-once-then-default", "raise", "queue-for-review")
PROVIDERS: Final[tuple[str, ...]] = get_args(get_type_hints(Identity)["provider"])

_KEBAB: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def broken_rule(spec: RuntimeAISpec) -> str | None:
    """Returns the first rule a spec breaks, as one sentence that names spec and field; None when it keeps all."""
    rules = (_plain, _naming, _vocabularies, _schemas, _prompts, _gate, _numbers, _default)
    return next((sentence for rule in rules for sentence in rule(spec)), None)


def _plain(spec: RuntimeAISpec) -> Iterator[str]:
    """What is hashed has to be what is kept and read again: without this, a spec could be accepted and lost."""
    for one in fields(spec):
        told = getattr(spec, one.name)
        members = vars(told) if isinstance(told, Identity) else {"": told}
        for name, member in members.items():
            if one.init and (fault := plain_fault(member, f"{one.name}.{name}".rstrip("."))):
                yield f"The spec {_short(spec.spec_id)} is not plain JSON: {fault}."


def _naming(spec: RuntimeAISpec) -> Iterator[str]:
    spec_id = spec.spec_id
    if not isinstance(spec_id, str) or not _KEBAB.fullmatch(spec_id) or len(spec_id) > SPEC_ID_LIMIT:
        yield f"spec_id {_short(spec_id)!r} must be kebab-case and at most {SPEC_ID_LIMIT} characters."
    for name in ("display_name", "description"):
        told = getattr(spec, name)
        if not isinstance(told, str) or not told.strip():
            yield f"The spec {spec_id} needs a {name}."


def _vocabularies(spec: RuntimeAISpec) -> Iterator[str]:
    closed = (("category", CATEGORIES), ("reviewer_gate", REVIEWER_GATES), ("fallback_behavior", FALLBACKS))
    for name, words in closed:
        if getattr(spec, name) not in words:
            yield f"{name} of the spec {spec.spec_id} must be one of {', '.join(words)}."
    identity = spec.model_identity
    if not isinstance(identity, Identity) or identity.provider not in PROVIDERS:
        yield f"model_identity.provider of the spec {spec.spec_id} must be one of {', '.join(PROVIDERS)}."
    elif not (_is_text(identity.model) and _is_text(identity.version)):
        yield f"model_identity of the spec {spec.spec_id} needs a model and a version."


def _schemas(spec: RuntimeAISpec) -> Iterator[str]:
    for name in ("input_schema", "output_schema"):
        schema = getattr(spec, name)
        if not isinstance(schema, Mapping) or schema.get("type") != "object":
            yield f"{name} of the spec {spec.spec_id} must be a schema of an object."
        elif fault := schema_fault(schema):
            yield f"{name} of the spec {spec.spec_id} is outside the closed subset: {fault}."


def _prompts(spec: RuntimeAISpec) -> Iterator[str]:
    template = spec.prompt_template
    if not isinstance(template, Mapping) or set(template) != {"system", "user"}:
        yield f"prompt_template of the spec {spec.spec_id} must have exactly system and user."
        return
    if not all(isinstance(text, str) for text in template.values()) or not template["user"].strip():
        yield f"prompt_template of the spec {spec.spec_id} must be text, and user must not be empty."
        return
    properties, required = spec.input_schema["properties"], spec.input_schema.get("required", ())
    used = placeholders(template["system"] + template["user"])
    for name in used:
        if name not in _names(properties):
            yield f"prompt_template of the spec {spec.spec_id} uses {{{{{name}}}}}, which input_schema does not have."
    for name in _names(required):
        if name not in used:
            yield f"prompt_template of the spec {spec.spec_id} never uses the required input {name!r}."


def _gate(spec: RuntimeAISpec) -> Iterator[str]:
    threshold = spec.low_confidence_threshold
    if spec.reviewer_gate != "on-low-confidence":
        if threshold is not None:
            yield f"low_confidence_threshold of the spec {spec.spec_id} goes with on-low-confidence only; leave it out."
        return
    if not _is_count(threshold, 0, CONFIDENCE_LIMIT):
        yield (
            f"low_confidence_threshold of the spec {spec.spec_id} must be 0 to {CONFIDENCE_LIMIT} basis points, "
            "as its reviewer_gate is on-low-confidence."
        )
    elif not _has_confidence(spec.output_schema):
        yield (
            f"output_schema of the spec {spec.spec_id} needs a required integer field confidence from 0 to "
            f"{CONFIDENCE_LIMIT}, as its reviewer_gate is on-low-confidence."
        )


def _numbers(spec: RuntimeAISpec) -> Iterator[str]:
    for name in ("max_latency_ms", "max_output_tokens"):
        if not _is_count(getattr(spec, name), 1, 2**31):
            yield f"{name} of the spec {spec.spec_id} must be a whole number above 0."
    if not isinstance(spec.require_receipt, bool):
        yield f"require_receipt of the spec {spec.spec_id} must be true or false."


def _default(spec: RuntimeAISpec) -> Iterator[str]:
    default = spec.deterministic_default
    if default is None:
        if spec.fallback_behavior != "raise":
            yield (
                f"The spec {spec.spec_id} falls back to {spec.fallback_behavior}: give it a deterministic_default, "
                "as a decision always has an output."
            )
    elif fault := value_fault(default, spec.output_schema):
        yield f"deterministic_default of the spec {spec.spec_id} does not satisfy its output_schema: {fault}."


def _short(spec_id: object) -> str:
    """Returns what stands in the place of a spec's id, at most as long as one."""
    return str(spec_id)[:SPEC_ID_LIMIT]


def _has_confidence(schema: Schema) -> bool:
    properties = schema["properties"]
    field = properties.get("confidence") if isinstance(properties, Mapping) else None
    if not isinstance(field, Mapping) or "confidence" not in _names(schema.get("required")):
        return False
    return (field.get("type"), field.get("minimum"), field.get("maximum")) == ("integer", 0, CONFIDENCE_LIMIT)


def _names(value: JsonValue) -> tuple[str, ...]:
    return tuple(str(name) for name in value) if isinstance(value, list | tuple | Mapping) else ()


def _is_count(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)
