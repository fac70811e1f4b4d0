"""RF-18, RF-19: which keys are trusted, where, and what is no policy."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.verifier import ledger
from tests.verifier.both import Verifiers
from tests.verifier.conftest import Judge

PASS = ("PASS", None, None)
ENTRY, OTHER = ledger.public(ledger.ENTRY_KEY), ledger.public(ledger.OTHER_KEY)
LOW_ORDER = base64.b64encode(b"\x01" + bytes(31)).decode()


def two_keys(switch: int, size: int = 6) -> ledger.Chain:
    """A chain whose entries are signed with the other key from an id on."""
    chain = ledger.Chain().fill(switch - 1)
    chain.key = ledger.OTHER_KEY
    return chain.fill(size)


@pytest.mark.parametrize(
    ("ids", "found"),
    [
        ({}, PASS),
        ({"toId": 6}, PASS),
        ({"toId": 5}, ("TAMPERED", 6, "key")),
        ({"toId": 1}, ("TAMPERED", 2, "key")),
        ({"toId": 0}, ("TAMPERED", 1, "key")),
        ({"fromId": 2}, ("TAMPERED", 1, "key")),
        ({"fromId": 9, "toId": 3}, ("TAMPERED", 1, "key")),
        ({"fromId": 0}, PASS),
        ({"toId": 2**53 - 1}, PASS),
    ],
    ids=str,
)
def test_a_key_signs_only_in_its_range(ids: dict[str, Any], found: tuple[object, ...], judge: Judge) -> None:
    assert (
        judge(ledger.Chain().fill(6), policy=ledger.policy(keys=[ledger.trust(ledger.ENTRY_KEY, **ids)])).found == found
    )


def test_keys_follow_one_another(judge: Judge) -> None:
    def keys(last: int, first: int) -> dict[str, Any]:
        return ledger.policy(
            keys=[ledger.trust(ledger.ENTRY_KEY, toId=last), ledger.trust(ledger.OTHER_KEY, fromId=first)]
        )

    outcome = judge(two_keys(4), policy=keys(3, 4))
    assert outcome.found == PASS
    assert [key["entries"] for key in outcome.report["keys"]] == [3, 3]
    assert judge(two_keys(4), policy=keys(2, 4)).found == ("TAMPERED", 3, "key")
    assert judge(two_keys(4), policy=keys(3, 5)).found == ("TAMPERED", 4, "key")
    assert judge(two_keys(4), policy=keys(4, 3)).found == PASS


def test_one_key_may_have_several_ranges(judge: Judge) -> None:
    ranges = [
        ledger.trust(ledger.ENTRY_KEY, fromId=1, toId=2),
        ledger.trust(ledger.ENTRY_KEY, fromId=4),
        ledger.trust(ledger.OTHER_KEY),
    ]

    assert judge(ledger.Chain().fill(6), policy=ledger.policy(keys=ranges)).found == ("TAMPERED", 3, "key")
    assert judge(ledger.Chain().fill(2), policy=ledger.policy(keys=ranges)).found == PASS


@pytest.mark.parametrize("switch", [1, 4, 6])
def test_a_stranger_who_signs_from_some_id_on_is_seen(switch: int, judge: Judge) -> None:
    outcome = judge(two_keys(switch))

    assert outcome.found == ("TAMPERED", switch, "key")
    assert [key["entries"] for key in outcome.report["keys"]] == [switch - 1, 7 - switch]
    assert outcome.report["signatures"] == 6


def test_without_an_outside_key_nothing_passes(judge: Judge) -> None:
    for chain in (
        ledger.Chain().fill(3),
        ledger.Chain(key=ledger.OTHER_KEY).fill(3),
        ledger.Chain(),
        ledger.Chain(ledger.TURNS).fill(2),
    ):
        assert judge(chain, policy=None).found == ("UNANCHORED", None, None)
    assert judge(ledger.Chain().fill(3), policy=ledger.policy(keys=[])).found == ("UNANCHORED", None, None)
    assert judge(two_keys(2), policy=None).found == ("UNANCHORED", None, None)


def test_a_bad_line_is_told_without_any_key_too(judge: Judge) -> None:
    chain = ledger.Chain().fill(3)
    chain.lines[1] = chain.lines[1].replace(b'"latencyMs":1202', b'"latencyMs":1203')

    assert judge(chain, policy=None).found == ("TAMPERED", 2, "hash")
    assert judge(ledger.Chain().fill(3).content + chain.lines[2] + b"\n", policy=None).found == ("FORKED", 3, "id")


def test_unanchored_comes_before_what_the_end_of_the_file_shows(judge: Judge) -> None:
    assert judge(ledger.Chain().fill(3).content + b"torn", policy=None).found == ("UNANCHORED", None, None)
    assert judge(ledger.Chain().fill(3), "--min-entries", "9", "--max-age", "1s", policy=None).found == (
        "UNANCHORED",
        None,
        None,
    )


def test_keys_can_be_given_on_the_command_line(judge: Judge) -> None:
    chain = ledger.Chain().fill(3)

    outcome = judge(chain, "--trusted-key", ENTRY, policy=None)
    assert outcome.found == PASS
    assert any("genesis" in note for note in outcome.report["notes"])
    assert judge(chain, "--trusted-key", OTHER, policy=None).found == ("TAMPERED", 1, "key")
    assert judge(two_keys(3), "--trusted-key", OTHER, "--trusted-key", ENTRY, policy=None).found == PASS
    assert judge(two_keys(3), "--trusted-key", OTHER).found == PASS
    assert judge(ledger.Chain("any.where/decisions/-").fill(3), "--trusted-key", ENTRY, policy=None).found == PASS


def test_layer_and_tenant_come_from_the_first_line_where_nothing_else_tells_them(judge: Judge) -> None:
    key = ["--trusted-key", ENTRY]
    acme = ledger.Chain("x/decisions/acme").fill(3, tenantId="acme")

    assert judge(ledger.Chain(ledger.TURNS).fill(2), *key, policy=None).found == PASS
    assert judge(acme, *key, policy=None).found == PASS
    assert judge(acme.add(ledger.decision(4)), *key, policy=None).found == ("TAMPERED", 4, "tenant")
    assert judge(ledger.Chain().fill(2).add(ledger.decision(3, tenantId="acme")), *key, policy=None).found == (
        "TAMPERED",
        3,
        "tenant",
    )
    assert judge(ledger.Chain(ledger.TURNS).fill(2), "--layer", "L12", *key, policy=None).found == (
        "MALFORMED",
        1,
        "schema",
    )
    assert judge(ledger.Chain(ledger.TURNS).fill(2), "--layer", "L10", *key, policy=None).found == PASS
    assert judge(ledger.Chain().fill(2), "--layer", "L12").found == PASS
    assert judge(b"garbage\n" + acme.content, *key, policy=None).found == ("MALFORMED", 1, "encoding")
    assert judge(b"garbage\n", *key, policy=None).found == ("MALFORMED", 1, "encoding")
    assert judge(ledger.Chain().add(ledger.decision(1), form="v9"), *key, policy=None).found == (
        "UNSUPPORTED",
        1,
        "form",
    )


def test_a_key_of_low_order_verifies_nothing(judge: Judge) -> None:
    chain = ledger.Chain().add(
        ledger.decision(1), publicKey=LOW_ORDER, signature=base64.b64encode(b"\x01" + bytes(63)).decode()
    )
    policy = ledger.policy(keys=[{**ledger.trust(ledger.ENTRY_KEY), "publicKey": LOW_ORDER}])

    assert judge(chain, policy=policy).found == ("TAMPERED", 1, "signature")
    assert judge(chain, "--trusted-key", LOW_ORDER, policy=None).found == ("TAMPERED", 1, "signature")
    assert judge(chain, policy=None).found == ("TAMPERED", 1, "signature")


def spoilt(**changes: Any) -> str:
    return json.dumps({**ledger.policy(), **changes})


def with_key(**changes: Any) -> str:
    key = {**ledger.trust(ledger.ENTRY_KEY), **changes}
    return spoilt(keys=[{name: value for name, value in key.items() if value is not ...}])


GOOD = json.dumps(ledger.policy())
NO_POLICIES: dict[str, str | bytes] = {
    "empty": "",
    "not JSON": "{",
    "trailing comma": GOOD[:-1] + ",}",
    "array": "[]",
    "null": "null",
    "text": '"policy"',
    "number": "1",
    "NaN": "NaN",
    "two": GOOD + GOOD,
    "byte order mark": b"\xef\xbb\xbf" + GOOD.encode(),
    "UTF-16": GOOD.encode("utf-16"),
    "deep": "[" * 100_000,
    "binary": bytes(range(256)),
    "unknown member": spoilt(extra=1),
    "unknown member of a key": with_key(extra=1),
    "repeated member": GOOD[:-1] + ', "quorum": 0}',
    "repeated member of a key": GOOD.replace('"use": "entry"', '"use": "checkpoint", "use": "entry"'),
    "no origin": json.dumps({"keys": []}),
    "no keys": json.dumps({"origin": ledger.ORIGIN}),
    "null origin": spoilt(origin=None),
    "null keys": spoilt(keys=None),
    "keys as an object": spoilt(keys={}),
    "key as text": spoilt(keys=[ENTRY]),
    "key as array": spoilt(keys=[[ENTRY]]),
    "key as null": spoilt(keys=[None]),
    "witnesses as text": spoilt(witnesses="w"),
    "witness as an object": spoilt(witnesses=[{}]),
    "null quorum": spoilt(quorum=None),
    "quorum of one": spoilt(quorum=1),
    "negative quorum": spoilt(quorum=-1),
    "quorum as text": spoilt(quorum="0"),
    "quorum false": spoilt(quorum=False),
    "quorum as fraction": spoilt(quorum=0.5),
    "quorum 0.0": spoilt(quorum=0.0),
    "origin of two parts": spoilt(origin="a/decisions"),
    "origin of four": spoilt(origin="a/decisions/-/b"),
    "origin in capitals": spoilt(origin="A/decisions/-"),
    "origin with a space": spoilt(origin="a b/decisions/-"),
    "origin with an empty part": spoilt(origin="/decisions/-"),
    "origin without tenant": spoilt(origin="a/decisions/"),
    "origin too long": spoilt(origin="a" * 189 + "/decisions/-"),
    "origin with a line feed": spoilt(origin=ledger.ORIGIN + "\n"),
    "a chain unknown here": spoilt(origin="a/dreams/-"),
    "a chain named by a layer": spoilt(origin="a/L12/-"),
    "a chain named by a member": spoilt(origin="a/constructor/-"),
    "key missing": with_key(publicKey=...),
    "key null": with_key(publicKey=None),
    "key in hex": with_key(publicKey="ab" * 32),
    "short key": with_key(publicKey="AAAA"),
    "unpadded key": with_key(publicKey=ENTRY[:-1]),
    "loose key": with_key(publicKey=ENTRY[:-2] + "B="),
    "key with a line feed": with_key(publicKey=ENTRY + "\n"),
    "use missing": with_key(use=...),
    "use unknown": with_key(use="both"),
    "use null": with_key(use=None),
    "fromId null": with_key(fromId=None),
    "fromId as text": with_key(fromId="1"),
    "fromId negative": with_key(fromId=-1),
    "fromId as fraction": with_key(fromId=1.5),
    "fromId 1.0": with_key(fromId=1.0),
    "fromId 1e2": GOOD.replace('"fromId": 1', '"fromId": 1e2', 1),
    "fromId true": with_key(fromId=True),
    "toId as text": with_key(toId="9"),
    "toId negative": with_key(toId=-1),
    "toId too big": with_key(toId=2**53),
    "toId rounded": with_key(toId=2**53 + 1),
    "toId huge": with_key(toId=10**400),
    "toId infinite": GOOD.replace('"toId": null', '"toId": 1e999', 1),
    "toId false": with_key(toId=False),
    "toId array": with_key(toId=[]),
}


@pytest.mark.parametrize("name", NO_POLICIES)
def test_what_is_no_policy_is_a_usage_error(name: str, verifiers: Verifiers, tmp_path: Path) -> None:
    content = NO_POLICIES[name]
    (tmp_path / "chain").write_bytes(ledger.Chain().fill(1).content)
    (tmp_path / "policy").write_bytes(content if isinstance(content, bytes) else content.encode())

    outcome = verifiers.run([str(tmp_path / "chain"), "--policy", str(tmp_path / "policy")])

    assert (outcome.exit, outcome.stdout) == (2, "")
    assert len(outcome.stderr.splitlines()) <= 2
    assert "Traceback" not in outcome.stderr


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        json.dumps(ledger.policy(), indent=4),
        json.dumps(dict(reversed(ledger.policy().items()))),
        f"\t\r\n {GOOD} \n",
        json.dumps({"origin": ledger.ORIGIN, "keys": [{"publicKey": ENTRY, "use": "entry"}]}),
        spoilt(witnesses=["w.example+1234abcd+AQ=="]),
        GOOD.replace("prometheus.example", "prometheus\\u002eexample"),
        with_key(toId=2**53 - 1),
    ],
)
def test_a_policy_may_be_spelled_in_any_way_that_json_allows(text: str, verifiers: Verifiers, tmp_path: Path) -> None:
    (tmp_path / "chain").write_bytes(ledger.Chain().fill(2).content)
    (tmp_path / "policy").write_text(text)

    assert verifiers.run([str(tmp_path / "chain"), "--policy", str(tmp_path / "policy")]).found == PASS
