"""Whom a ledger trusts, from its own key log (RF-28, RF-29)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from receipt_writer.errors import LedgerDamagedError
from receipt_writer.format.chain import genesis_head
from receipt_writer.format.digest import split_origin
from receipt_writer.format.errors import FormatError
from receipt_writer.format.keylog import KEY_CHAIN, KeyEvent, next_event
from receipt_writer.format.policy import TrustedKey, parse_policy
from receipt_writer.identity import LedgerName
from receipt_writer.trust import Trust, first_keys, judged_trust
from tests.receipt_writer.format.material import ROOT, START_MS, SeedSigner, walk

ORIGIN = "home-1/keys/-"
OLD, NEW, NOTARY = (SeedSigner(bytes([number]) * 32) for number in (1, 2, 3))
ROOTS = (TrustedKey(OLD.public_key, "entry"), TrustedKey(NOTARY.public_key, "checkpoint"))
BEGUN = (
    KeyEvent("created", "entry", OLD.public_key),
    KeyEvent("created", "checkpoint", NOTARY.public_key),
)
ROTATED = KeyEvent("rotated", "entry", NEW.public_key, OLD.public_key, "", (("keys", 4), ("turns", 9)))
CORPUS = ROOT / "verifier" / "vectors" / "v3"


def key_log_cases() -> list[dict[str, Any]]:
    """Return the cases of the corpus that are about nothing but one chain, one policy and a key log."""
    cases = json.loads((CORPUS / "manifest.json").read_bytes())
    return [
        case
        for case in cases
        if case["keyLog"]
        and len(case["inputs"]) == len(case["policies"]) == 1
        and not case["checkpoints"]
        and not case["args"]
        and (CORPUS / case["policies"][0]).is_file()
        and case["inputs"][0].endswith(".jsonl")
        and (CORPUS / case["keyLog"]).read_bytes().endswith(b"\n")  # a torn tail is the store's affair
    ]


def lines(*events: KeyEvent, signer: SeedSigner = OLD) -> list[bytes]:
    head, made = genesis_head(ORIGIN), []
    for event in events:
        holders = () if event.event == "revoked" else (OLD, NEW, NOTARY)
        entry, head = next_event(head, event, now_ms=START_MS, tenant_id=None, signer=signer, holders=holders)
        made.append(entry.line)
    return made


def test_the_first_keys_are_those_that_the_log_begins_with() -> None:
    log = lines(*BEGUN, ROTATED, KeyEvent("created", "entry", NEW.public_key))
    assert first_keys(log) == ROOTS
    assert first_keys(log[:1]) == ROOTS[:1]
    assert first_keys([]) == ()


def test_trust_follows_the_log_chain_by_chain() -> None:
    trust = judged_trust(ORIGIN, lines(*BEGUN, ROTATED), ROOTS)
    assert trust == Trust(ROOTS, (*BEGUN, ROTATED))
    assert trust.keys("turns")[0] == TrustedKey(OLD.public_key, "entry", 1, 8)
    assert trust.keys("keys")[0] == TrustedKey(OLD.public_key, "entry", 1, 3)
    assert (trust.in_force("entry"), trust.in_force("checkpoint")) == (NEW.public_key, NOTARY.public_key)


def test_without_a_log_the_first_keys_are_in_force() -> None:
    trust = judged_trust(ORIGIN, [], ROOTS)
    assert trust.keys("turns") == ROOTS
    assert trust.in_force("entry") == OLD.public_key
    assert trust.with_event(ROTATED).in_force("entry") == NEW.public_key


def test_after_the_last_key_was_revoked_none_is_in_force() -> None:
    gone = KeyEvent("revoked", "checkpoint", NOTARY.public_key)
    assert judged_trust(ORIGIN, lines(*BEGUN, gone), ROOTS).in_force("checkpoint") is None


def test_a_log_that_does_not_hold_is_damage_at_its_own_entry() -> None:
    good = lines(*BEGUN, ROTATED)
    for number, log in ((1, lines(*BEGUN, signer=NEW)), (2, [good[0], good[2]]), (3, [*good[:2], b"{}"])):
        with pytest.raises(
            LedgerDamagedError, match=rf"Entry {number} of the chain keys is not what was recorded\. .*"
        ):
            judged_trust(ORIGIN, log, ROOTS)
    with pytest.raises(LedgerDamagedError, match="Entry 2 of the chain keys"):
        first_keys([good[0], b"not json"])


def test_a_log_of_another_ledger_is_damage() -> None:
    with pytest.raises(LedgerDamagedError, match="Entry 1 of the chain keys"):
        judged_trust("home-2/keys/-", lines(*BEGUN), ROOTS)


@pytest.mark.parametrize("case", key_log_cases(), ids=lambda case: case["name"])
def test_the_writer_judges_the_corpus_of_key_logs_as_the_verifiers_do(case: dict[str, Any]) -> None:
    """RF-26 to RF-29."""
    policy = parse_policy((CORPUS / case["policies"][0]).read_bytes())
    parts = split_origin(policy.origin)
    log = (CORPUS / case["keyLog"]).read_bytes().split(b"\n")
    origin = LedgerName(parts.substrate_id, parts.tenant_id).origin(KEY_CHAIN)
    if case["exit"] == 2:
        with pytest.raises(LedgerDamagedError):
            judged_trust(origin, log[:-1], policy.keys)
        return
    keys = judged_trust(origin, log[:-1], policy.keys).keys(parts.chain)
    chain = Path(CORPUS / case["inputs"][0]).read_bytes()
    if case["verdict"] == "PASS":
        walk(chain, policy.origin, keys)
        return
    with pytest.raises(FormatError) as refusal:
        walk(chain, policy.origin, keys)
    assert (refusal.value.check, refusal.value.__notes__) == (case["check"], [f"{case['id']}"])


def test_the_corpus_has_key_logs() -> None:
    assert {case["exit"] for case in key_log_cases()} >= {0, 1, 2}
    assert len(key_log_cases()) > 20
