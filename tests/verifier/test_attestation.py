"""RF-11, RF-12, RF-21: the attestation block, its versions, and what its signature binds."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.verifier import ledger
from tests.verifier.both import Verifiers
from tests.verifier.conftest import Judge

MEMBERS = ("algorithm", "publicKey", "signature", "signedAtIso", "canonicalForm")
ORDER_OF_THE_GROUP = 2**252 + 27742317777372353535851937790883648493


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def with_block(block: bytes) -> ledger.Chain:
    """Five entries, the third with this attestation."""
    chain = ledger.Chain().fill(5)
    before, _, _ = chain.lines[2].partition(b'"attestation":')
    chain.lines[2] = before + b'"attestation":' + block + b"}"
    return chain


def block(**changes: Any) -> dict[str, Any]:
    """The third entry's own attestation with some members changed."""
    chain = ledger.Chain().fill(2)
    body = ledger.canonical({**{k: v for k, v in ledger.decision(3).items() if v is not ...}, "prevHash": chain.head})
    return {**json.loads(chain.attest(body)), **changes}


def judged(judge: Judge, value: Any) -> tuple[str | None, int | None, str | None]:
    return judge(with_block(value if isinstance(value, bytes) else ledger.canonical(value)), text_too=False).found


def test_the_block_of_this_test_is_sound(judge: Judge) -> None:
    assert judged(judge, block()) == ("PASS", None, None)


@pytest.mark.parametrize("member", MEMBERS)
def test_a_member_missing_repeated_or_misplaced_is_malformed(member: str, judge: Judge) -> None:
    pairs = list(block().items())
    i = MEMBERS.index(member)
    variants = [
        pairs[:i] + pairs[i + 1 :],
        [*pairs[:i], ("x", "y"), *pairs[i:]],
        [*pairs[: i + 1], *pairs[i:]],
        [*pairs[i:], *pairs[:i]][: 5 if i else 4],
    ]

    for variant in variants:
        inner = b",".join(ledger.canonical(k) + b":" + ledger.canonical(v) for k, v in variant)
        assert judged(judge, b"{" + inner + b"}") == ("MALFORMED", 3, "schema")


@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("value", [None, True, 0, 1, [], {}, ["ed25519"]], ids=str)
def test_a_member_that_is_no_string_is_malformed(member: str, value: object, judge: Judge) -> None:
    assert judged(judge, block(**{member: value})) == ("MALFORMED", 3, "schema")


@pytest.mark.parametrize("value", [b"null", b"[]", b"{}", b'"x"', b"1", b"true"])
def test_an_attestation_that_is_no_such_object_is_malformed(value: bytes, judge: Judge) -> None:
    assert judged(judge, value) == ("MALFORMED", 3, "schema")


@pytest.mark.parametrize(
    "algorithm", ["ed448", "Ed25519", "ED25519", "", "none", "ed25519 ", "ml-dsa-44", "rsa", "é", "x" * 4000]
)
def test_an_unknown_algorithm_is_unsupported(algorithm: str, judge: Judge) -> None:
    assert judged(judge, block(algorithm=algorithm)) == ("UNSUPPORTED", 3, "algorithm")


@pytest.mark.parametrize("form", ["v3", "V2", "", "v", "v0", "v10", "v22", "2", " v2", "constructor", "__proto__", "é"])
def test_an_unknown_form_is_unsupported(form: str, judge: Judge) -> None:
    assert judged(judge, block(canonicalForm=form)) == ("UNSUPPORTED", 3, "form")


def test_an_unknown_algorithm_is_told_before_an_unknown_form_and_both_before_the_members(judge: Judge) -> None:
    future = block(algorithm="ml-dsa-44", canonicalForm="v9", publicKey="long", signature="longer", signedAtIso="later")

    assert judged(judge, future) == ("UNSUPPORTED", 3, "algorithm")
    assert judged(judge, {**future, "algorithm": "ed25519"}) == ("UNSUPPORTED", 3, "form")
    assert judged(judge, {**future, "algorithm": "ed25519", "canonicalForm": "v2"}) == ("MALFORMED", 3, "schema")


def test_a_form_from_the_future_may_have_members_of_its_own(judge: Judge) -> None:
    chain = ledger.Chain().fill(2).add(ledger.decision(3), spoil=lambda body: body[:-1] + b',"mood":"fine"}', form="v3")

    assert judge(chain).found == ("UNSUPPORTED", 3, "form")


def test_a_line_from_the_future_must_still_be_canonical(judge: Judge) -> None:
    chain = (
        ledger.Chain()
        .fill(2)
        .add(ledger.decision(3), spoil=lambda body: body.replace(b'"id":3', b'"id": 3'), form="v3")
    )

    assert judge(chain).found == ("MALFORMED", 3, "encoding")


def test_forms_belong_to_layers(judge: Judge) -> None:
    turns = ledger.policy(ledger.TURNS)

    assert judge(ledger.Chain(ledger.TURNS).add(ledger.turn(1), form="v1"), policy=turns).found == (
        "UNSUPPORTED",
        1,
        "form",
    )
    assert judge(ledger.Chain().add(ledger.decision(1), form="v1")).found == ("MALFORMED", 1, "schema")
    assert judge(ledger.Chain().add(ledger.decision_v1(1), form="v2")).found == ("MALFORMED", 1, "schema")
    assert judge(ledger.Chain(ledger.TURNS).fill(2)).found == ("MALFORMED", 1, "schema")
    assert judge(ledger.Chain().fill(2), policy=turns).found == ("MALFORMED", 1, "schema")


def test_a_chain_may_go_on_in_another_form_of_its_layer(judge: Judge) -> None:
    chain = ledger.Chain()
    for number in range(1, 9):
        chain.add(ledger.decision(number)) if number % 2 else chain.add(ledger.decision_v1(number), form="v1")

    assert judge(chain).found == ("PASS", None, None)


@pytest.mark.parametrize("member", ["publicKey", "signature"])
def test_base64_is_standard_padded_and_canonical(member: str, judge: Judge) -> None:
    text = block()[member]
    size = len(base64.b64decode(text))
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    bare = text.rstrip("=")
    loose = bare[:-1] + alphabet[alphabet.index(bare[-1]) + 1] + text[len(bare) :]
    wrong = [
        bare,
        text + "=",
        text[:-1],
        "-" + text[1:],
        "_" + text[1:],
        loose,
        text + "\n",
        " " + text,
        "",
        "=",
        "é" + text[1:],
        text.replace("=", "A"),
    ]
    wrong += [b64(b"x" * n) for n in (0, 1, size - 1, size + 1, size + 3, 2 * size)] + [b"x".hex() * size]

    for value in wrong:
        assert judged(judge, block(**{member: value})) == ("MALFORMED", 3, "schema"), value


@pytest.mark.parametrize(
    "at",
    [
        "2025-12-01T16:38:48.386+00:00",
        "2025-12-01",
        "now",
        " ",
        "2025-13-01T00:00:00.000Z",
        "2025-02-29T00:00:00.000Z",
        "2025-04-31T00:00:00.000Z",
        "2025-12-01T24:00:00.000Z",
        "2025-12-01T29:00:00.000Z",
        "2025-12-01T16:60:00.000Z",
        "2025-12-01T16:38:60.000Z",
        "2025-00-01T00:00:00.000Z",
        "2025-12-00T00:00:00.000Z",
        "2025-12-32T00:00:00.000Z",
        "1969-12-31T23:59:59.999Z",
        "0000-01-01T00:00:00.000Z",
        "10000-01-01T00:00:00.000Z",
        "2100-02-29T00:00:00.000Z",
        "2025-12-01T16:38:48.38Z",
        "2025-12-01t16:38:48.386Z",
        "\uff12025-12-01T16:38:48.386Z",
    ],
)
def test_the_time_of_signing_is_an_instant(at: str, judge: Judge) -> None:
    chain = ledger.Chain().fill(2).add(ledger.decision(3), at=at).fill(5)

    assert judge(chain).found == ("MALFORMED", 3, "schema")


@pytest.mark.parametrize(
    "at",
    ["1970-01-01T00:00:00.000Z", "2000-02-29T23:59:59.999Z", "2096-02-29T00:00:00.000Z", "9999-12-31T23:59:59.999Z"],
)
def test_the_time_of_signing_need_not_be_that_of_recording(at: str, judge: Judge) -> None:
    assert judge(ledger.Chain().fill(2).add(ledger.decision(3), at=at).fill(5)).found == ("PASS", None, None)


@pytest.mark.parametrize(
    "change", [{"signedAtIso": "2025-12-01T16:38:48.387Z"}, {"signature": "A" * 86 + "=="}], ids=str
)
def test_the_signature_is_over_time_and_body(change: dict[str, Any], judge: Judge) -> None:
    assert judged(judge, block(**change)) == ("TAMPERED", 3, "signature")


@pytest.mark.parametrize(("layer", "form"), [("L10", "v2"), ("L12", "v1"), ("L1", "v2"), ("", "v2")])
def test_the_signature_is_over_layer_and_form(layer: str, form: str, judge: Judge) -> None:
    chain = ledger.Chain().fill(2)
    chain.add(ledger.decision(3), layer=layer or " ", form=form, canonicalForm="v2").fill(4)

    assert judge(chain).found == ("TAMPERED", 3, "signature")


def test_every_bit_of_a_signature_counts(judge: Judge) -> None:
    signature = base64.b64decode(block()["signature"])
    for bit in range(0, 512, 13):
        flipped = bytearray(signature)
        flipped[bit // 8] ^= 1 << bit % 8
        assert judged(judge, block(signature=b64(bytes(flipped)))) == ("TAMPERED", 3, "signature")


@pytest.mark.parametrize("times", [1, 2, 15])
def test_a_signature_has_one_scalar(times: int, judge: Judge) -> None:
    signature = base64.b64decode(block()["signature"])
    scalar = int.from_bytes(signature[32:], "little") + times * ORDER_OF_THE_GROUP

    assert judged(judge, block(signature=b64(signature[:32] + scalar.to_bytes(32, "little")))) == (
        "TAMPERED",
        3,
        "signature",
    )


def test_a_signature_of_another_entry_or_chain_is_worthless(judge: Judge) -> None:
    other = ledger.Chain(ledger.ORIGIN.replace("/-", "/acme")).fill(3).lines[2]
    chain = ledger.Chain().fill(5)
    for stolen in (chain.lines[1], other):
        chain.lines[2] = (
            chain.lines[2].partition(b'"attestation":')[0] + b'"attestation":' + stolen.partition(b'"attestation":')[2]
        )
        assert judge(chain).found == ("TAMPERED", 3, "signature")


@pytest.mark.parametrize("body", [b"", b"{}"])
def test_the_hash_member_stands_before_the_attestation(body: bytes, verifiers: Verifiers) -> None:
    line = ledger.Chain().fill(1).lines[0]
    head, _, rest = line.partition(b',"hash":"')
    digest, attestation = rest[:64], rest[66:-1]
    variants = [
        head + b"," + attestation + b"}",
        head + b"," + attestation + b',"hash":"' + digest + b'"}',
        head + b',"hash":"' + digest.upper() + b'",' + attestation + b"}",
        head + b',"hash":"' + digest[:-1] + b'",' + attestation + b"}",
        head + b',"hash":null,' + attestation + b"}",
        head + b',"hash":"' + digest + b'","hash":"' + digest + b'",' + attestation + b"}",
        head + b',"hash":"' + digest + b'",' + attestation + b',"more":1}',
        head + b',"hash":"' + digest + b'"}' + body,
    ]

    judged = verifiers.alone("L12", variants)

    assert judged == ["MALFORMED schema"] * 7 + ["MALFORMED encoding" if body else "MALFORMED schema"]
