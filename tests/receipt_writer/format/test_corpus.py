"""The attack corpus v3 as the writer's own reader sees it: a third implementation beside the two verifiers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from receipt_writer.format.chain import genesis_head
from receipt_writer.format.checkpoint import parse_note, verify_note
from receipt_writer.format.digest import split_origin
from receipt_writer.format.errors import FormatError, LinkError
from receipt_writer.format.keylog import judge_key_log, ring_of
from receipt_writer.format.merkle import Tree, leaf_hash
from receipt_writer.format.policy import TrustedKey, parse_policy
from receipt_writer.format.proof import parse_proof
from tests.receipt_writer.format.material import VECTORS, walk
from tests.verifier.bodies import LAYERS
from tests.verifier.corpus.families import judge
from tests.verifier.corpus.material import origin

CORPUS = VECTORS.parent / "v3"
CASES: list[dict[str, Any]] = json.loads((CORPUS / "manifest.json").read_text())
ALONE: list[dict[str, Any]] = json.loads((CORPUS / "families" / "alone.json").read_text())
CHAINS = {layer: chain for chain, (layer, _) in LAYERS.items()}
PLAIN = [case for case in CASES if len(case["policies"]) == len(case["inputs"]) == 1 and not case["args"]]


def read(name: str) -> bytes:
    return (CORPUS / name).read_bytes()


@pytest.mark.parametrize("row", ALONE, ids=lambda row: str(row["name"]))
def test_a_line_is_judged_as_the_family_says(row: dict[str, Any]) -> None:
    """RF-1 to RF-9, RF-11, RF-21."""
    line = bytes.fromhex(row["hex"]) if "hex" in row else str(row["text"]).encode()
    verdict, number, check = judge(line + b"\n", origin(CHAINS[row["layer"]]))
    assert (verdict, check) == (row["verdict"], row["check"])
    assert number == (None if verdict == "PASS" else 1)


def judged_under_a_log(case: dict[str, Any]) -> tuple[str | None, int | None, str | None]:
    """What a case with a key log comes to, as a writer would judge it; a verdict of None is no evidence."""
    policy = parse_policy(read(case["policies"][0]))
    *lines, tail = read(case["keyLog"]).split(b"\n")
    log_origin = policy.origin.replace("/decisions/", "/keys/")
    try:
        events = judge_key_log(genesis_head(log_origin), lines, policy.keys)
        ring = ring_of(policy.keys, events, "decisions")
        of_the_log = ring_of(policy.keys, events, "keys")
        for note in (read(name).decode() for name in case["checkpoints"]):
            mine = note.startswith(f"{log_origin}\n")
            check_note(note, log_origin if mine else policy.origin, of_the_log if mine else ring)
            if mine and not leads_to(note, lines):
                return None, None, None
    except FormatError:
        return None, None, None
    if tail or not events:
        return None, None, None
    try:
        walk(read(case["inputs"][0]), policy.origin, ring)
    except LinkError as error:
        return "TAMPERED", error.id, error.check
    return "PASS", None, None


def leads_to(note: str, lines: Sequence[bytes]) -> bool:
    """Whether a chain reaches a checkpoint's size and has its root there."""
    head = parse_note(note).checkpoint
    return head.size <= len(lines) and Tree(map(leaf_hash, lines)).root(head.size) == head.root_hash


def check_note(note: str, whole_origin: str, ring: Sequence[TrustedKey]) -> None:
    size = max(parse_note(note).checkpoint.size, 1)
    verify_note(note, whole_origin, [key.public_key for key in ring if key.use == "checkpoint" and key.covers(size)])


@pytest.mark.parametrize("case", [case for case in PLAIN if case["keyLog"]], ids=lambda case: str(case["name"]))
def test_a_chain_under_a_key_log_is_judged_as_the_manifest_says(case: dict[str, Any]) -> None:
    """RF-26 to RF-29."""
    assert judged_under_a_log(case) == (case["verdict"], case["id"], case["check"])


@pytest.mark.parametrize(
    "case", [case for case in PLAIN if case["inputs"][0].endswith(".tlog-proof")], ids=lambda case: str(case["name"])
)
def test_a_proof_holds_or_not_as_the_manifest_says(case: dict[str, Any]) -> None:
    """RF-32: the path and the checkpoint; the entry itself is judged by what judges lines."""
    policy = parse_policy(read(case["policies"][0]))
    try:
        proof = parse_proof(read(case["inputs"][0]).decode())
        check_note(proof.note, policy.origin, policy.keys)
    except FormatError:
        assert case["verdict"] is None
        return
    chain = split_origin(policy.origin).chain
    if case["verdict"] == "PASS":
        assert proof.holds()
        assert json.loads(proof.line)["id"] == proof.index + 1
    elif case["check"] == "proof":
        assert not proof.holds() or json.loads(proof.line)["id"] != proof.index + 1
    else:
        assert judge(proof.line + b"\n", origin(chain))[0] != "PASS"
