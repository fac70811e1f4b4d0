"""Holding the chains of a receipts folder against what callers were told, and against the verifier."""

from __future__ import annotations

import time
from pathlib import Path

from tests.receipt_writer.durability.clients import Work
from tests.receipt_writer.durability.lives import ChainReader
from tests.receipt_writer.parts import chain_file
from verifier import verify

PASS, TORN_TAIL = 0, 6


def hold_against(reader: ChainReader, receipts: Path, work: Work) -> None:
    """Require every acknowledged line byte for byte, and no request recorded twice."""
    decisions, turns = reader.entries(receipts, "L12"), reader.entries(receipts, "L10")
    lines = {entry.line.decode() for entry in (*decisions, *turns)} | {""}
    missing = [item for item, line in work.acknowledged.items() if line not in lines]
    assert missing == []
    calls = [entry.fields["callId"] for entry in decisions]
    reported = [entry.fields["turnId"] for entry in turns if entry.fields["outcome"] != "interrupted"]
    given_up = [entry.fields["turnId"] for entry in turns if entry.fields["outcome"] == "interrupted"]
    for keys in (calls, reported, given_up):
        assert len(set(keys)) == len(keys)


def verify_chain(receipts: Path, layer: str) -> None:
    """Let the verifier judge a chain under the folder's policy; a torn tail is what a kill may leave."""
    chain = chain_file(receipts, layer)
    policy = receipts / f"policy-{chain.stem}.json"
    status, report, complaint = verify.run([str(chain), "--policy", str(policy)], time.time_ns() // 1_000_000)
    assert status in {PASS, TORN_TAIL}, report + complaint
