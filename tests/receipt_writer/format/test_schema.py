from __future__ import annotations

import json
import re
from typing import Any

import pytest

from receipt_writer.format.errors import SchemaError, UnsupportedError
from receipt_writer.format.schema import CHAIN_MEMBERS, LAYERS, Form, layer, layer_of_chain
from tests.receipt_writer.format.generate import documents
from tests.receipt_writer.format.material import ROOT, VECTORS, decision_draft, turn_draft

V1_BODY = """id recordedAtMs recordedAtIso productId specId specHash inputHash outputCanonicalHash category
    modelIdentity latencyMs schemaValid reviewerVerdict fallbackTriggered prevHash tenantId?"""
V2_BODY = f"{V1_BODY} turnId? callId exitState commitment"
TURN_BODY = """id recordedAtMs recordedAtIso productId turnId sessionId gateway outcome iterations inputHash replyHash
    model tools memory decisions totalMicroUsd traceHash commitment prevHash tenantId?"""
STATE_BODY = "id recordedAtMs recordedAtIso chains prevHash tenantId?"
SPEC_BODY = """id recordedAtMs recordedAtIso productId specId specHash category modelIdentity schemaVersion specBytes
    prevHash tenantId?"""
KEY_BODY = """id recordedAtMs recordedAtIso event use publicKey previousKey reason chains prevHash tenantId?
    previousKeySignature? publicKeySignature?"""
BUILD_BODY = """id recordedAtMs recordedAtIso productId buildId version artefacts lockHash verifiers promptVersion
    modelVersion configVersion gateVerdict gateReportHash prevHash tenantId?"""
CALL_BODY = """id recordedAtMs recordedAtIso productId callId client server tool toolListHash argumentsHash resultHash
    state latencyMs commitment prevHash tenantId?"""
REVIEW_BODY = """id recordedAtMs recordedAtIso productId reviewId decisionId decisionHash callId reviewer verdict
    outputHash commentHash commitment prevHash tenantId?"""
REGENERATION_BODY = "id recordedAtMs recordedAtIso reason stateId chains entries prevHash tenantId?"
COMPONENT_BODY = """id recordedAtMs recordedAtIso productId versionId kind name version contentHash previousHash source
    status prevHash tenantId?"""
FORMS = [(name, form, LAYERS[name].forms[form]) for name in LAYERS for form in LAYERS[name].forms]


def member_names(form: Form) -> list[str]:
    return [member.name + "?" * member.optional for member in form.body.members]


@pytest.mark.parametrize(
    ("layer_name", "form_name", "names"),
    [
        ("L1", "v2", STATE_BODY),
        ("L2", "v2", SPEC_BODY),
        ("L3", "v2", KEY_BODY),
        ("L4", "v2", BUILD_BODY),
        ("L5", "v2", CALL_BODY),
        ("L6", "v2", REVIEW_BODY),
        ("L7", "v2", REGENERATION_BODY),
        ("L10", "v2", TURN_BODY),
        ("L11", "v2", COMPONENT_BODY),
        ("L12", "v1", V1_BODY),
        ("L12", "v2", V2_BODY),
    ],
)
def test_a_body_has_the_norms_members_in_the_norms_order(layer_name: str, form_name: str, names: str) -> None:
    """RF-8."""
    assert member_names(layer(layer_name).form(form_name)) == names.split()


@pytest.mark.parametrize(("layer_name", "form_name", "form"), FORMS)
def test_every_form_follows_one_plan(layer_name: str, form_name: str, form: Form) -> None:
    """RF-6, RF-7, RF-23: what the chain sets, what the caller brings, and the two members that close a line."""
    names = [member.name for member in form.body.members]
    assert names[:3] == ["id", "recordedAtMs", "recordedAtIso"], (layer_name, form_name)
    assert {"prevHash", "tenantId"} <= set(names)
    assert [member.name for member in form.line.members] == [*names, "hash", "attestation"]
    assert [member.name for member in form.draft.members] == [name for name in names if name not in CHAIN_MEMBERS]
    optional = [index for index, member in enumerate(form.body.members) if member.optional]
    assert min(optional) > names.index("prevHash")
    assert set(form.idempotency_key) <= {member.name for member in form.draft.members if not member.optional}


def test_a_draft_is_recognised_by_what_names_it_within_its_chain() -> None:
    """RF-23: a chain that only the writer appends to has no such members."""
    keys = {f"{name} {form_name}": " ".join(form.idempotency_key) for name, form_name, form in FORMS}
    assert keys == {
        "L1 v2": "",
        "L2 v2": "specHash",
        "L3 v2": "",
        "L4 v2": "buildId",
        "L5 v2": "callId state",
        "L6 v2": "reviewId",
        "L7 v2": "",
        "L10 v2": "turnId",
        "L11 v2": "versionId",
        "L12 v1": "",
        "L12 v2": "callId",
    }


def test_layers_are_found_by_name_and_by_chain() -> None:
    assert {name: known.chain for name, known in LAYERS.items()} == {
        "L1": "state",
        "L2": "specs",
        "L3": "keys",
        "L4": "builds",
        "L5": "calls",
        "L6": "reviews",
        "L7": "regenerations",
        "L10": "turns",
        "L11": "components",
        "L12": "decisions",
    }
    for known in LAYERS.values():
        assert layer(known.name) is layer_of_chain(known.chain) is known
        assert known.attests


def test_unknown_layers_chains_and_forms_are_unsupported() -> None:
    """RF-25."""
    for check, look_up in (
        ("layer", lambda: layer("L99")),
        ("layer", lambda: layer_of_chain("dreams")),
        ("form", lambda: layer("L10").form("v1")),
    ):
        with pytest.raises(UnsupportedError, match="known:") as caught:
            look_up()
        assert caught.value.check == check


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        LAYERS["L12"].forms["v3"] = LAYERS["L12"].forms["v2"]  # type: ignore[index]


@pytest.mark.parametrize("name", sorted(documents()))
def test_generated_vector_files_are_up_to_date(name: str) -> None:
    """RF-25: the files say what the table, the tree and the curve say."""
    assert (VECTORS.parent / name).read_bytes() == documents()[name].encode()


def test_a_published_form_never_changes() -> None:
    """RF-25: what the frozen table of v2 says is still said."""
    frozen, now = json.loads((VECTORS / "schema.json").read_bytes()), json.loads(documents()["v3/schema.json"])
    assert frozen["attestation"] == now["attestation"]
    for name, published in frozen["layers"].items():
        assert published["chain"] == now["layers"][name]["chain"]
        assert published["forms"].items() <= now["layers"][name]["forms"].items()


WRONG_DECISION_MEMBERS: dict[str, list[Any]] = {
    "productId": [None, 1],
    "specId": ["", "Reply", "a--b", "-a", "a-", "a_b", "a b", "a" * 129, "a\n"],
    "specHash": ["", "1" * 63, "1" * 65, "A" * 64, "g" * 64, "1" * 64 + "\n"],
    "category": ["oracle", "", None],
    "modelIdentity": [
        None,
        {},
        {"provider": "skynet", "model": "m", "version": "1"},
        {"provider": "mock", "model": "m"},
    ],
    "latencyMs": [-1, None, True, "1", 2**53],
    "schemaValid": [1, 0, None, "true"],
    "reviewerVerdict": ["pending", "", False],
    "turnId": [None, "t_", "c_01ARZ3NDEKTSV4RRFFQ69G5FAV", "t_01arz3ndektsv4rrffq69g5fav"],
    "callId": [None, "c_01ARZ3NDEKTSV4RRFFQ69G5FAI", "c_01ARZ3NDEKTSV4RRFFQ69G5FA", "c_01ARZ3NDEKTSV4RRFFQ69G5FAVV"],
    "exitState": ["fine", "OK", None],
    "commitment": ["md5", None],
}
WRONG_TURN_MEMBERS: dict[str, list[Any]] = {
    "sessionId": [None, "t_01ARZ3NDEKTSV4RRFFQ69G5FAV"],
    "gateway": ["fax"],
    "outcome": ["ok"],
    "iterations": [-1, 1.5],
    "model": [{}],
    "tools": [None, {}, [{}], [{"tool": "a", "provider": "b", "status": "maybe", "n": 1, "costMicroUsd": None}]],
    "memory": [{"searches": 0, "used": 0, "kept": 0, "unsent": 0}],
    "decisions": [{"n": 0, "firstId": 1, "lastId": 1}, {"n": -1, "firstId": 1, "lastId": 1}],
    "totalMicroUsd": [-1, None, 0.5],
}


@pytest.mark.parametrize(("name", "wrong"), [(n, w) for n, values in WRONG_DECISION_MEMBERS.items() for w in values])
def test_a_decision_with_a_wrong_member_is_refused_by_name(name: str, wrong: object) -> None:
    """RF-8."""
    with pytest.raises(SchemaError, match=rf"^{name}\b.* must be "):
        layer("L12").form("v2").draft.conform(decision_draft(**{name: wrong}))


@pytest.mark.parametrize(("name", "wrong"), [(n, w) for n, values in WRONG_TURN_MEMBERS.items() for w in values])
def test_a_turn_with_a_wrong_member_is_refused_by_name(name: str, wrong: object) -> None:
    """RF-8."""
    with pytest.raises(SchemaError, match=rf"^{name}\b.* must be "):
        layer("L10").form("v2").draft.conform(turn_draft(**{name: wrong}))


@pytest.mark.parametrize("provider", ["openai-compatible", "offline"])
def test_the_new_providers_belong_to_v2_only(provider: str) -> None:
    draft = decision_draft(modelIdentity={"provider": provider, "model": "m", "version": ""})
    layer("L12").form("v2").draft.conform(draft)
    for name in ("callId", "exitState", "commitment"):
        del draft[name]
    with pytest.raises(SchemaError, match=r"modelIdentity\.provider must be one of"):
        layer("L12").form("v1").draft.conform(draft)


def test_the_drafts_of_interrupted_turns_and_cancelled_calls_are_within_the_table() -> None:
    """RF-24."""
    nothing = dict.fromkeys(("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "costMicroUsd"), 0)
    interrupted = turn_draft(
        outcome="interrupted",
        iterations=0,
        replyHash="0" * 64,
        model={"id": "rules", **nothing, "estimated": False, "calls": []},
        tools=[],
        memory={"searches": 0, "used": 0, "kept": 0, "unsent": 0, "reportId": None},
        decisions={"n": 0, "firstId": 0, "lastId": 0},
        totalMicroUsd=0,
        traceHash="e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    )
    layer("L10").form("v2").draft.conform(interrupted)
    layer("L12").form("v2").draft.conform(decision_draft(exitState="failed_closed", schemaValid=False))


def test_a_state_and_the_run_that_made_it_are_within_the_table() -> None:
    """RF-30."""
    rows = [{"chain": "keys", "size": 2, "rootHash": "1" * 64, "headHash": "2" * 64}]
    assert layer("L1").form("v2").draft.conform({"chains": rows}) == {"chains": rows}
    run = {"reason": "key_changed", "stateId": 1, "chains": 1, "entries": 2}
    assert layer("L7").form("v2").draft.conform(run) == run
    for wrong in ({"stateId": 0}, {"reason": "bored"}, {"entries": -1}):
        with pytest.raises(SchemaError):
            layer("L7").form("v2").draft.conform(run | wrong)


def test_the_page_shows_every_member_of_the_table() -> None:
    """RF-8: `docs/receipt-format.md` names each member and each choice."""
    page = (ROOT / "docs" / "receipt-format.md").read_text(encoding="utf-8")
    words = set(re.findall(r"[\w-]+", page))
    for _, _, form in FORMS:
        described = re.findall(r"'([\w-]+)\??'", str(form.line.describe()))
        assert set(described) <= words | {"record", "rows", "nullable", "pattern", "maxCharacters", "idRange"}
