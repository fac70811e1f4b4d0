"""Whom a ledger trusts, from its own key log (RF-28, RF-29)."""

from __future__ import annotations

import pytest

from receipt_writer.errors import LedgerDamagedError
from receipt_writer.format.chain import genesis_head
from receipt_writer.format.keylog import KeyEvent, next_event
from receipt_writer.format.policy import TrustedKey
from receipt_writer.trust import Trust, first_keys, judged_trust
from tests.receipt_writer.format.material import START_MS, SeedSigner

ORIGIN = "home-1/keys/-"
OLD, NEW, NOTARY = (SeedSigner(bytes([number]) * 32) for number in (1, 2, 3))
ROOTS = (TrustedKey(OLD.public_key, "entry"), TrustedKey(NOTARY.public_key, "checkpoint"))
BEGUN = (
    KeyEvent("created", "entry", OLD.public_key),
    KeyEvent("created", "checkpoint", NOTARY.public_key),
)
ROTATED = KeyEvent("rotated", "entry", NEW.public_key, OLD.public_key, "", (("keys", 4), ("turns", 9)))


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
