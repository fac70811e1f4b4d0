"""Each rule of the page and what a spec that breaks it is told; one that keeps them all has one hash for ever."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import rfc8785

from agent_host.constrained import RuntimeAISpec, load_spec, spec_from_yaml
from agent_host.constrained.drafter import reply_value, request_value
from agent_host.constrained.loading import spec_from_json
from agent_host.constrained.schema import value_fault
from agent_host.constrained.specs import SHIPPED, reply_drafter, shipped_spec
from agent_host.errors import SpecError
from agent_host.providers.protocol import Identity, Message, ModelReply, ModelRequest, Text, ToolResult, ToolUse, Usage
from tests.agent_host.constrained.parts import FIELDS, spec, sure_spec
from tests.fakes.scripted_provider import IDENTITY

OBJECT = {"type": "object", "properties": {}, "additionalProperties": False}


def with_output(**properties: Any) -> dict[str, Any]:
    return {"output_schema": {**OBJECT, "properties": properties}, "deterministic_default": {}}


def with_input(**properties: Any) -> dict[str, Any]:
    return {"input_schema": {**OBJECT, "properties": properties}, "prompt_template": {"system": "", "user": "go"}}


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "spec_id is not kebab-case": ({"spec_id": "Mood Reader"}, "spec_id 'Mood Reader' must be kebab-case"),
    "spec_id is too long": ({"spec_id": "a" * 129}, "must be kebab-case and at most 128 characters"),
    "spec_id is no text": ({"spec_id": 5}, "must be kebab-case"),
    "no display name": ({"display_name": " "}, "The spec mood-reader needs a display_name"),
    "no description": ({"description": ""}, "needs a description"),
    "category": ({"category": "oracle"}, "category of the spec mood-reader must be one of classifier, extractor"),
    "reviewer gate": ({"reviewer_gate": "sometimes"}, "reviewer_gate of the spec mood-reader must be one of always"),
    "fallback": ({"fallback_behavior": "shrug"}, "fallback_behavior of the spec mood-reader must be one of"),
    "provider": ({"model_identity": Identity("acme", "m", "1")}, "model_identity.provider of the spec"),  # type: ignore[arg-type]
    "model": ({"model_identity": Identity("mock", "", "1")}, "needs a model and a version"),
    "input is no object": ({"input_schema": {"type": "string"}}, "input_schema .* must be a schema of an object"),
    "output is no object": ({"output_schema": {"type": "array"}}, "output_schema .* must be a schema of an object"),
    "open object": ({"output_schema": {"type": "object", "properties": {}}}, "must say additionalProperties: false"),
    "float": (with_output(score={"type": "number"}), "/score is a float, which has no one canonical form"),
    "unknown keyword": (with_output(a={"type": "string", "pattern": "x"}), "/a has the keyword 'pattern'"),
    "reference": (with_output(a={"$ref": "#"}), "/a needs one type of object, array, string"),
    "union": (with_output(a={"type": ["string", "integer"]}), "/a needs one type"),
    "open vocabulary": (with_output(a={"type": "string", "enum": []}), "enum of /a must be a list"),
    "enum with a word twice": (with_output(a={"type": "string", "enum": ["x", "x"]}), "names a value twice"),
    "yaml booleans in an enum": (with_output(a={"type": "string", "enum": [True]}), "quote words such as yes"),
    "array without items": (with_output(a={"type": "array"}), "/a/items is no schema object"),
    "format nobody checks": (with_output(a={"type": "string", "format": "email"}), "format other than decimal"),
    "negative size": (with_output(a={"type": "string", "maxLength": -1}), "maxLength of /a must be a whole number"),
    "bound that is no integer": (
        with_output(a={"type": "integer", "maximum": 1.5}),
        "a/maximum is a float, which has no",
    ),
    "bound that is text": (with_output(a={"type": "integer", "maximum": "9"}), "maximum of /a must be an integer"),
    "required twice": ({"output_schema": {**OBJECT, "required": ["a", "a"]}}, "required of its top must be"),
    "required that is no name": ({"output_schema": {**OBJECT, "required": [["a"]]}}, "must be a list of names; quote"),
    "format that is a list": (with_output(a={"type": "string", "format": ["x"]}), "format other than decimal"),
    "title that is a number": (with_output(a={"type": "string", "title": 1}), "title of /a must be text"),
    "required that is not there": ({"output_schema": {**OBJECT, "required": ["a"]}}, "required of its top must be"),
    "float in an input": (with_input(a={"type": "number"}), "input_schema .*/a is a float"),
    "template with a third part": ({"prompt_template": {"system": "", "user": "x", "more": ""}}, "exactly system and"),
    "template without a user part": ({"prompt_template": {"system": "x"}}, "exactly system and user"),
    "empty user part": ({"prompt_template": {"system": "x", "user": " "}}, "user must not be empty"),
    "unknown placeholder": (
        {"prompt_template": {"system": "", "user": "{{message}} {{mood}}"}},
        "uses {{mood}}, which input_schema does not have",
    ),
    "placeholder that is an expression": (
        {"prompt_template": {"system": "", "user": "{{message}} {{message.upper()}}"}},
        "which input_schema does not have",
    ),
    "unused required input": ({"prompt_template": {"system": "", "user": "go"}}, "never uses the required input"),
    "threshold without its gate": ({"low_confidence_threshold": 5}, "goes with on-low-confidence only"),
    "gate without its threshold": (
        {"reviewer_gate": "on-low-confidence"},
        "low_confidence_threshold .* must be 0 to 10000 basis points",
    ),
    "threshold out of range": (
        {"reviewer_gate": "on-low-confidence", "low_confidence_threshold": 10_001},
        "must be 0 to 10000",
    ),
    "gate without a confidence": (
        {"reviewer_gate": "on-low-confidence", "low_confidence_threshold": 5},
        "needs a required integer field confidence",
    ),
    "no time": ({"max_latency_ms": 0}, "max_latency_ms of the spec mood-reader must be a whole number above 0"),
    "no tokens": ({"max_output_tokens": 0}, "max_output_tokens .* above 0"),
    "receipt": ({"require_receipt": "yes"}, "require_receipt of the spec mood-reader must be true or false"),
    "no default": ({"deterministic_default": None}, "falls back to retry-once-then-default: give it"),
    "no default for the queue": (
        {"deterministic_default": None, "fallback_behavior": "queue-for-review"},
        "falls back to queue-for-review: give it a deterministic_default",
    ),
    "bad default": (
        {"deterministic_default": {"mood": "odd", "note": ""}},
        "deterministic_default .* does not satisfy",
    ),
    "default of a spec that raises": (
        {"deterministic_default": {}, "fallback_behavior": "raise"},
        "deterministic_default .* lacks the field 'mood'",
    ),
}


@pytest.mark.parametrize(("changes", "sentence"), BROKEN.values(), ids=BROKEN)
def test_a_spec_that_breaks_a_rule_is_refused_with_the_field_and_the_reason(
    changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(SpecError, match=sentence) as caught:
        spec(**changes)
    assert str(caught.value).endswith(".")


def test_the_hash_is_sha256_of_the_rfc8785_bytes() -> None:
    made = sure_spec()
    assert made.spec_hash == hashlib.sha256(rfc8785.dumps(made.as_json())).hexdigest()
    assert made.as_json()["schema_version"] == "prometheus-runtime-ai-spec-1.0"
    assert made.as_json()["canonical_form"] == "v2"


def test_every_field_is_in_the_hash() -> None:
    changed: dict[str, Any] = {
        "spec_id": "mood-teller",
        "display_name": "Other",
        "description": "Other.",
        "category": "router",
        "input_schema": {**FIELDS["input_schema"], "title": "other"},
        "output_schema": {**FIELDS["output_schema"], "title": "other"},
        "prompt_template": {"system": "Other.", "user": "{{message}}"},
        "model_identity": Identity("mock", "other", "1"),
        "reviewer_gate": "always",
        "max_latency_ms": 1,
        "fallback_behavior": "queue-for-review",
        "deterministic_default": {"mood": "sad", "note": ""},
        "max_output_tokens": 1,
        "require_receipt": True,
    }
    hashes = {spec().spec_hash, sure_spec().spec_hash, sure_spec(low_confidence_threshold=1).spec_hash}
    hashes |= {spec(**{name: value}).spec_hash for name, value in changed.items()}
    assert len(hashes) == len(changed) + 3


def test_a_spec_does_not_change_with_what_it_was_made_from() -> None:
    schema = json.loads(json.dumps(FIELDS["output_schema"]))
    made = spec(output_schema=schema)
    before = made.spec_hash
    schema["properties"]["mood"]["enum"].append("furious")
    assert (made.spec_hash, made.output_schema) == (before, FIELDS["output_schema"])


YAML = """
spec_id: mood-reader
display_name: Mood reader
description: Says how a person sounds.
category: classifier
input_schema:
  type: object
  properties: {message: {type: string, maxLength: 2000}, lines: {type: integer}}
  required: [message]
  additionalProperties: false
output_schema:
  type: object
  properties:
    mood: {type: string, enum: [glad, sad, unknown]}
    note: {type: string, maxLength: 40}
  required: [mood, note]
  additionalProperties: false
prompt_template: {system: You read moods., user: "Message: {{message}}"}
model_identity: {provider: mock, model: scripted, version: "1"}
reviewer_gate: never
max_latency_ms: 20000
fallback_behavior: retry-once-then-default
deterministic_default: {mood: unknown, note: ""}
"""


def test_yaml_and_python_give_the_same_spec(tmp_path: Path) -> None:
    (tmp_path / "mood.yaml").write_text(YAML)
    assert load_spec(tmp_path / "mood.yaml").spec_hash == spec().spec_hash


def test_a_spec_comes_back_from_its_own_json() -> None:
    for made in (sure_spec(), *(shipped_spec(spec_id, IDENTITY) for spec_id in SHIPPED), _frozen_spec()):
        again = spec_from_json(json.loads(made.spec_bytes))
        assert (again, again.spec_hash) == (made, made.spec_hash)


def _frozen_spec() -> RuntimeAISpec:
    """A spec made of what only looks like dicts and lists."""
    schema = FIELDS["output_schema"]
    enum = tuple(schema["properties"]["mood"]["enum"])
    properties = MappingProxyType({**schema["properties"], "mood": {"type": "string", "enum": enum}})
    return spec(output_schema=MappingProxyType({**schema, "properties": properties}))


NOT_KEPT = {
    "a switch called on": (YAML.replace("note:", "on:").replace("note]", "on]"), "has the name True, which is no text"),
    "a number for a name": (YAML.replace("note:", "1:").replace("note]", "1]"), "has the name 1, which is no text"),
    "nothing for a name": (YAML.replace("note:", "~:").replace("note]", "~]"), "has the name None, which is no text"),
    "a size beyond 2^53": (YAML.replace("2000}", "99999999999999999999999}"), "maxLength is a number beyond 2"),
    "a number of 5,000 digits": (YAML.replace("20000", "9" * 5000), "holds a value that cannot be read"),
    "a float for a title": (YAML.replace("2000}", "2000, title: 1.5}"), "message/title is a float"),
    "a float in a description": (YAML.replace("2000}", "2000, description: [1, {a: 2.5}]}"), "/a is a float"),
    "half a pair in a title": (YAML.replace("2000}", '2000, title: "\\ud800"}'), "title holds half a surrogate pair"),
    "half a pair in a prompt": (YAML.replace("You read moods.", '"\\ud800"'), "prompt_template/system holds half a"),
    "half a pair in a word": (YAML.replace("[glad,", '["\\ud800",'), "enum holds half a surrogate pair"),
    "bytes": (
        YAML.replace("Says how a person sounds.", "!!binary aGVs"),
        "description is a bytes, which JSON has no form for",
    ),
    "20:00 for 20,000": (YAML.replace("20000", "20:00"), "max_latency_ms .* must be a whole number"),
    "an octal number": (YAML.replace("20000", "0200"), "max_latency_ms .* must be a whole number"),
    "itself": (YAML.replace("output_schema:", "output_schema: &it").replace("[glad", "[*it, glad"), "64 levels deep"),
    "3,000 levels": (YAML.replace("2000}", f"{'{a: ' * 3000}1{'}' * 3000}}}"), "nested too deeply"),
}


@pytest.mark.parametrize(("text", "sentence"), NOT_KEPT.values(), ids=NOT_KEPT)
def test_a_spec_that_would_not_come_back_as_it_was_is_refused_when_defined(text: str, sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        spec_from_yaml(text)


def test_aliases_that_unfold_without_end_are_refused_before_they_are_hashed() -> None:
    member: dict[str, Any] = {"type": "string"}
    for _ in range(8):
        member = {**OBJECT, "properties": dict.fromkeys("abcdefghi", member)}
    with pytest.raises(SpecError, match="output_schema holds more than 20000 values"):
        spec(output_schema=member)


def test_a_date_in_yaml_is_text_and_a_merge_fills_in() -> None:
    dated = spec_from_yaml(YAML.replace("Says how a person sounds.", "2026-13-45"))
    assert dated.description == "2026-13-45"
    merged = spec_from_yaml(YAML.replace("{type: integer}", "{<<: {type: integer}}"))
    assert merged.spec_hash == spec().spec_hash


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[1, 2", "is no YAML document"),
        ("- a", "is a YAML mapping"),
        (YAML + "colour: red\n", "has no field 'colour'"),
        (YAML + "max_latency_ms: 5\n", "'max_latency_ms' stands twice"),
        (YAML.replace("max_latency_ms: 20000", ""), "lacks max_latency_ms"),
        (YAML.replace('version: "1"', "version: 1"), "each in quotes where it is a number"),
        (YAML + "schema_version: other\n", "schema_version must be prometheus-runtime-ai-spec-1.0"),
        (YAML.replace("[glad, sad, unknown]", "[yes, no]"), "quote words such as yes, no"),
        (YAML + "more: !!python/object/apply:os.system [id]\n", "is no YAML document"),
    ],
)
def test_yaml_that_is_no_spec_is_refused_with_the_reason(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "mood.yaml"
    path.write_text(text)
    with pytest.raises(SpecError, match=sentence) as caught:
        load_spec(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_spec_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"The spec file .*none\.yaml cannot be read: no such file or directory\."):
        load_spec(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"description: f\xfcnf")
    with pytest.raises(SpecError, match="is no UTF-8 text; save it as UTF-8"):
        load_spec(tmp_path / "latin.yaml")


def test_a_spec_without_a_model_takes_the_one_it_is_given() -> None:
    other = Identity("anthropic", "claude-haiku-5-5", "5-5")
    bare = YAML.replace('model_identity: {provider: mock, model: scripted, version: "1"}', "")
    assert spec_from_yaml(bare, other).model_identity == other
    with pytest.raises(SpecError, match="model_identity must name"):
        spec_from_yaml(bare)


@pytest.mark.parametrize("spec_id", SHIPPED)
def test_every_shipped_spec_keeps_the_rules_and_has_a_safe_default(spec_id: str) -> None:
    made = shipped_spec(spec_id, IDENTITY)
    assert made.spec_id == spec_id
    assert made.deterministic_default is not None


def test_the_shipped_defaults_are_those_of_the_page() -> None:
    defaults = {spec_id: shipped_spec(spec_id, IDENTITY).deterministic_default for spec_id in SHIPPED}
    assert defaults == {
        "turn-router": {"route": "full-loop", "reason": ""},
        "retrieval-gate": {"decision": "retrieve", "query": "", "reason": ""},
        "slot-gate": {"dropped": []},
        "consolidation": {"facts": [], "episode": "", "company_research": False},
        "keep-gate": {"dropped": []},
        "report-scope": {"company_research": False},
        "restates": {"dropped": []},
        "turn-judge": {"verdict": "not-judged", "addresses_question": 0, "grounded": 0, "note": ""},
    }


def test_no_spec_but_the_shipped_ones_can_be_asked_for() -> None:
    with pytest.raises(SpecError, match=r"No spec '\.\./secret' is shipped"):
        shipped_spec("../secret", IDENTITY)


def test_what_the_reply_drafter_commits_to_satisfies_its_closed_schemas() -> None:
    made = reply_drafter(IDENTITY, 1000)
    use = ToolUse("u1", "memory_search", {"query": "team", "limit": 2.5})
    rows = (
        Message("user", (Text("hello"),)),
        Message("assistant", (use,)),
        Message("user", (ToolResult("u1", "{}", is_error=False),)),
    )
    asked = request_value(ModelRequest("Be kind.", rows, (), "auto", 100))
    said = reply_value(ModelReply((Text("Well"), use), "tool_use", Usage(), "scripted"))
    assert (value_fault(asked, made.input_schema), value_fault(said, made.output_schema)) == (None, None)
