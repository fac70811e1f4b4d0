from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from receipt_writer.format.canonical import MAX_LINE_BYTES, MAX_STRING_BYTES, encode
from receipt_writer.format.digest import sha256_hex
from receipt_writer.format.entry import Entry, build_line, check_draft, iso_from_ms, parse_line
from receipt_writer.format.errors import EncodingError, FormatError, SchemaError, UnsupportedError
from receipt_writer.format.kinds import (
    Choice,
    Flag,
    IdRange,
    Integer,
    Kind,
    Nullable,
    Pattern,
    Record,
    Rows,
    Text,
)
from receipt_writer.format.schema import layer
from receipt_writer.format.signing import verify
from tests.receipt_writer.format.material import ReplaySigner, SeedSigner, decision_draft, turn_draft, vector_lines

SIGNER = SeedSigner(b"s" * 32)
NOW_MS = 1_764_607_125_386
FORMS = [("L10", "v2"), ("L12", "v1"), ("L12", "v2")]


def build(draft: dict[str, Any], layer_name: str = "L12", form_name: str = "v2", **changes: Any) -> Entry:
    place: dict[str, Any] = {
        "id": 7,
        "recorded_at_ms": NOW_MS,
        "prev_hash": "a" * 64,
        "tenant_id": None,
        "signed_at_iso": iso_from_ms(NOW_MS),
        "signer": SIGNER,
    }
    return build_line(layer_name, form_name, draft, **place | changes)


def members_of(entry: Entry) -> dict[str, Any]:
    members = json.loads(entry.line)
    assert isinstance(members, dict)
    return members


def drafts(kind: Kind) -> st.SearchStrategy[Any]:
    """Return a strategy for everything that a kind accepts."""
    match kind:
        case Nullable():
            return st.none() | drafts(kind.kind)
        case Rows():
            return st.lists(drafts(kind.row), max_size=2)
        case IdRange():
            ranges = st.builds(lambda n, first: {"n": n, "firstId": first, "lastId": first + n}, counts, counts)
            return ranges | st.just({"n": 0, "firstId": 0, "lastId": 0})
        case Record():
            required = {member.name: drafts(member.kind) for member in kind.members if not member.optional}
            optional = {member.name: drafts(member.kind) for member in kind.members if member.optional}
            return st.fixed_dictionaries(required, optional=optional)
        case _:
            return scalars(kind)


def scalars(kind: Kind) -> st.SearchStrategy[Any]:
    """Return a strategy for everything that a kind without parts accepts."""
    match kind:
        case Integer():
            return st.integers(kind.minimum, kind.maximum)
        case Text():
            return st.text(max_size=20)
        case Pattern(expression="[0-9a-f]{64}"):
            return st.binary(min_size=32, max_size=32).map(bytes.hex)
        case Pattern():
            return st.from_regex(kind.expression, fullmatch=True).filter(lambda text: len(text) <= kind.max_characters)
        case Choice():
            return st.sampled_from(kind.values)
        case _:
            assert kind == Flag()
            return st.booleans()


counts = st.integers(1, 1000)


@pytest.mark.parametrize(("layer_name", "form_name"), FORMS)
@settings(max_examples=25)
@given(data=st.data())
def test_what_is_built_from_any_draft_parses_back_to_the_same_entry(
    layer_name: str, form_name: str, data: st.DataObject
) -> None:
    """RF-2, RF-23: built entry and parsed line are equal, and the draft comes back out."""
    draft = data.draw(drafts(layer(layer_name).form(form_name).draft))
    tenant_id = data.draw(st.none() | st.just("acme"))
    check_draft(layer_name, form_name, draft)
    entry = build(draft, layer_name, form_name, tenant_id=tenant_id)
    assert parse_line(layer_name, entry.line) == entry
    assert entry.draft == draft
    assert entry.tenant_id == tenant_id


def test_a_line_is_the_body_with_its_hash_and_its_attestation() -> None:
    """RF-7, RF-11, RF-12."""
    entry = build(decision_draft())
    assert entry.line.startswith(entry.body[:-1] + b',"hash":"')
    assert encode(dict(entry.fields)) == entry.body
    assert entry.hash == sha256_hex(entry.body)
    assert list(members_of(entry))[-2:] == ["hash", "attestation"]
    assert list(members_of(entry)["attestation"]) == [
        "algorithm",
        "publicKey",
        "signature",
        "signedAtIso",
        "canonicalForm",
    ]
    assert entry.signed_bytes.startswith(b"DSSEv1 91 application/vnd.prometheus.receipt+json;layer=L12;form=v2;")
    assert entry.signed_bytes.endswith(entry.body)
    assert verify(entry.attestation.public_key, entry.signed_bytes, entry.attestation.signature)


def test_the_body_is_sliced_at_the_last_hash_member_even_when_a_string_looks_like_one() -> None:
    """RF-7."""
    entry = build(decision_draft(productId='x","hash":"' + "b" * 64))
    assert parse_line("L12", entry.line).body == entry.body
    assert sha256_hex(entry.body) == entry.hash


def test_members_of_a_draft_may_come_in_any_order() -> None:
    """RF-23."""
    draft = decision_draft()
    shuffled = dict(reversed(draft.items()))
    shuffled["modelIdentity"] = dict(reversed(draft["modelIdentity"].items()))
    assert build(shuffled).line == build(draft).line


def test_an_optional_member_stands_after_prev_hash_or_not_at_all() -> None:
    """RF-6."""
    turn_id = "t_01ARZ3NDEKTSV4RRFFQ69G5FAV"
    names = list(members_of(build(decision_draft(turnId=turn_id), tenant_id="acme")))
    assert names[names.index("prevHash") :][:4] == ["prevHash", "tenantId", "turnId", "callId"]
    assert not {"tenantId", "turnId"} & members_of(build(decision_draft())).keys()


@pytest.mark.parametrize("name", ["id", "recordedAtMs", "recordedAtIso", "prevHash", "tenantId"])
def test_a_draft_may_not_set_what_the_chain_sets(name: str) -> None:
    """RF-23."""
    draft = decision_draft(**{name: 1})
    for judge in (build, lambda draft: check_draft("L12", "v2", draft)):
        with pytest.raises(SchemaError, match=f"{name} must be left out of a draft"):
            judge(draft)


@pytest.mark.parametrize("name", ["hash", "attestation", "extra"])
def test_a_draft_with_an_unknown_member_is_refused(name: str) -> None:
    for judge in (build, lambda draft: check_draft("L12", "v2", draft)):
        with pytest.raises(SchemaError, match=f"{name} must be left out: there is no such member"):
            judge(decision_draft(**{name: "x"}))


def test_a_draft_without_a_member_is_refused() -> None:
    draft = decision_draft()
    del draft["schemaValid"]
    for judge in (build, lambda draft: check_draft("L12", "v2", draft)):
        with pytest.raises(SchemaError, match="schemaValid must be present"):
            judge(draft)


def test_a_draft_is_refused_before_anything_is_signed() -> None:
    with pytest.raises(SchemaError):
        build({}, signer=ReplaySigner(b"", b""))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"id": 0}, "id must be an integer from 1"),
        ({"recorded_at_ms": -1}, "recordedAtMs must be"),
        ({"prev_hash": "A" * 64}, "prevHash must be 64"),
        ({"tenant_id": "-"}, "tenantId must be"),
        ({"tenant_id": "Acme"}, "tenantId must be"),
        ({"signed_at_iso": "today"}, "signedAtIso must be a time"),
        ({"signer": ReplaySigner(b"k" * 31, b"s" * 64)}, "publicKey must be 32 bytes"),
        ({"signer": ReplaySigner(b"k" * 32, b"s" * 63)}, "signature must be 64 bytes"),
    ],
)
def test_a_wrong_place_or_signer_makes_no_line(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        build(decision_draft(), **changes)


def test_unknown_layers_and_forms_make_no_line() -> None:
    with pytest.raises(UnsupportedError, match="no layer L99"):
        build({}, "L99")
    with pytest.raises(UnsupportedError, match="no form v1"):
        build({}, "L10", "v1")


def test_a_string_that_is_too_long_or_no_text_is_refused_in_a_draft() -> None:
    """RF-4."""
    for text in ("a" * (MAX_STRING_BYTES + 1), "\ud800"):
        with pytest.raises(EncodingError, match="string"):
            check_draft("L12", "v2", decision_draft(productId=text))


def test_a_line_that_would_be_too_long_is_refused() -> None:
    """RF-1: the body fits, the whole line does not."""
    rows = [{"tool": "t" * 4_000, "provider": "p", "status": "ok", "n": 1, "costMicroUsd": None} for _ in range(15)]
    spare = MAX_LINE_BYTES - len(build(turn_draft(tools=rows), "L10").line)
    rows.append({"tool": "", "provider": "p", "status": "ok", "n": 1, "costMicroUsd": None})
    spare -= len(encode(rows[-1])) + 1
    rows[-1]["tool"] = "t" * spare
    assert len(build(turn_draft(tools=rows), "L10").line) == MAX_LINE_BYTES
    rows[-1]["tool"] = "t" * (spare + 1)
    check_draft("L10", "v2", turn_draft(tools=rows))
    with pytest.raises(EncodingError, match="line would have 65537 bytes"):
        build(turn_draft(tools=rows), "L10")


def test_members_out_of_order_are_refused_at_any_depth() -> None:
    """RF-6."""
    members = members_of(build(decision_draft()))
    swapped = [dict(reversed(members.items()))]
    swapped.append({"productId": members["productId"]} | {k: v for k, v in members.items() if k != "productId"})
    swapped.append(members | {"modelIdentity": dict(reversed(members["modelIdentity"].items()))})
    swapped.append(members | {"attestation": dict(reversed(members["attestation"].items()))})
    for wrong in swapped:
        with pytest.raises(SchemaError, match=r"order|ends with an attestation"):
            parse_line("L12", encode(wrong))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"hash": "b" * 63}, "hash must be 64"),
        ({"recordedAtIso": "2025-12-01T16:38:45.387Z"}, "recordedAtIso must be the time of recordedAtMs"),
        ({"id": 0}, "id must be an integer from 1"),
        ({"turnId": None}, "turnId must be t_"),
    ],
)
def test_a_line_with_a_wrong_member_is_refused(change: dict[str, Any], words: str) -> None:
    """RF-9, RF-21."""
    members = members_of(build(decision_draft(turnId="t_01ARZ3NDEKTSV4RRFFQ69G5FAV")))
    with pytest.raises(SchemaError, match=words):
        parse_line("L12", encode(members | change))


@pytest.mark.parametrize("data", [b"1", b'"a"', b"[]", b"{}", b'{"attestation":1}', b'{"attestation":{}}', b"null"])
def test_a_line_that_is_no_attested_object_is_refused(data: bytes) -> None:
    with pytest.raises(SchemaError, match="attestation"):
        parse_line("L12", data)


def attested(**changes: object) -> bytes:
    members = members_of(build(decision_draft()))
    return encode(members | {"attestation": members["attestation"] | changes})


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"algorithm": "ml-dsa-44"}, "algorithm"),
        ({"algorithm": "ml-dsa-44", "signature": "longer", "canonicalForm": "v9"}, "algorithm"),
        ({"canonicalForm": "v3"}, "form"),
        ({"canonicalForm": ""}, "form"),
        ({"algorithm": 1}, "schema"),
        ({"canonicalForm": None}, "schema"),
        ({"algorithm": "ml-dsa-44", "extra": "x"}, "schema"),
        ({"canonicalForm": "v1"}, "schema"),
    ],
)
def test_what_is_from_another_version_is_unsupported_before_it_is_wrong(changes: dict[str, Any], check: str) -> None:
    """RF-21: whole attestation first, then algorithm, then form, then everything that depends on the form."""
    with pytest.raises(FormatError) as caught:
        parse_line("L12", attested(**changes))
    assert caught.value.check == check


def test_another_algorithm_in_an_attestation_out_of_order_is_no_version_of_ours() -> None:
    members = members_of(build(decision_draft()))
    members["attestation"] = dict(reversed((members["attestation"] | {"algorithm": "ed448"}).items()))
    with pytest.raises(SchemaError, match="attestation must be an object whose members stand in"):
        parse_line("L12", encode(members))


def test_another_algorithm_in_an_attestation_that_is_not_last_is_no_version_of_ours() -> None:
    members = members_of(build(decision_draft()))
    members["attestation"]["algorithm"] = "ed448"
    members["hash"] = members.pop("hash")
    with pytest.raises(SchemaError, match="ends with an attestation"):
        parse_line("L12", encode(members))


def test_an_entry_of_another_layer_breaks_the_table() -> None:
    with pytest.raises(SchemaError, match=r"turnId|specId"):
        parse_line("L12", build(turn_draft(), "L10").line)


def test_the_first_golden_line_is_read_as_it_says() -> None:
    entry = parse_line("L12", vector_lines("golden.jsonl")[0])
    assert (entry.layer, entry.form, entry.id, entry.recorded_at_ms) == ("L12", "v2", 1, NOW_MS)
    assert entry.fields["specId"] == "turn-router"
    assert entry.draft["callId"] == "c_5D6MN4MREN4MZ0RGP2ART1QH7X"
    assert entry.attestation.signed_at_iso == "2025-12-01T16:38:45.386Z"
