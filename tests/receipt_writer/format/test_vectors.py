"""Every case of the frozen vectors: goldens made again byte for byte, all others refused where the manifest says."""

from __future__ import annotations

from typing import Any

import pytest

from receipt_writer.format.chain import check_link, genesis_head, next_entry
from receipt_writer.format.checkpoint import Checkpoint, verify_note
from receipt_writer.format.digest import split_origin
from receipt_writer.format.entry import parse_line
from receipt_writer.format.errors import CheckpointError, ForkError, FormatError, LinkError, UnsupportedError
from receipt_writer.format.merkle import leaf_hash, root_of
from receipt_writer.format.policy import Policy, TrustedKey, parse_policy
from receipt_writer.format.schema import layer_of_chain
from tests.receipt_writer.format.material import (
    VECTORS,
    ReplaySigner,
    SeedSigner,
    entry_signer,
    vector,
    vector_json,
    vector_lines,
    walk,
)

MANIFEST: list[dict[str, Any]] = vector_json("manifest.json")
GOLDENS = {case["name"]: case for case in MANIFEST if case["name"].startswith("golden")}
# The page's order puts sizes and members under one check each; the manifest allows the other word for these.
EITHER = {"encoding", "schema"}

Judgement = tuple[str | None, int | None, str | None]


def policy_of(case: dict[str, Any]) -> Policy:
    return parse_policy(vector(case["policy"] or "policy.json"))


def rebuild(name: str, signer: SeedSigner | None) -> list[bytes]:
    """Make a golden chain again from its drafts and times; without a signer, with the signatures it carries."""
    origin = policy_of(GOLDENS[name]).origin
    parts = split_origin(origin)
    layer = layer_of_chain(parts.chain).name
    head, lines = genesis_head(origin), []
    for line in vector_lines(f"{name}.jsonl"):
        known = parse_line(layer, line)
        entry, head = next_entry(
            head,
            layer,
            known.form,
            known.draft,
            now_ms=known.recorded_at_ms,
            tenant_id=parts.tenant_id,
            signer=signer or ReplaySigner(known.attestation.public_key, known.attestation.signature),
        )
        lines.append(entry.line)
    return lines


@pytest.mark.parametrize("name", sorted(GOLDENS.keys() - {"golden-two-keys"}))
def test_a_golden_chain_is_made_again_byte_for_byte_from_its_drafts_and_the_seed(name: str) -> None:
    """RF-2, RF-7, RF-10, RF-11, RF-12."""
    assert rebuild(name, entry_signer()) == vector_lines(f"{name}.jsonl")


def test_the_chain_of_two_keys_is_made_again_with_the_published_seed_and_the_second_keys_signatures() -> None:
    """The second key's seed is not published: its half is made again around the signatures it carries."""
    lines = vector_lines("golden-two-keys.jsonl")
    assert rebuild("golden-two-keys", None) == lines
    assert rebuild("golden", entry_signer())[:16] == lines[:16]
    origin = policy_of(GOLDENS["golden-two-keys"]).origin
    assert walk(vector("golden-two-keys.jsonl"), origin, policy_of(GOLDENS["golden-two-keys"]).keys).size == 40


def judge_lines(data: bytes, policy: Policy, keys: tuple[TrustedKey, ...] | None) -> Judgement | None:
    """Return what the first bad line makes of a chain file; None when each whole line is good."""
    try:
        walk(data, policy.origin, keys)
    except LinkError as error:
        return ("FORKED" if isinstance(error, ForkError) else "TAMPERED"), error.id, error.check
    except FormatError as error:
        verdict = "UNSUPPORTED" if isinstance(error, UnsupportedError) else "MALFORMED"
        return verdict, int(error.__notes__[0]), error.check
    except EOFError:
        return None
    return None


def judge_size_and_roots(lines: list[bytes], checkpoints: list[Checkpoint], minimum: int) -> Judgement | None:
    """Return what the evidence from outside makes of a chain whose lines are good; None when it agrees."""
    if any(checkpoint.size > len(lines) for checkpoint in checkpoints):
        return "TRUNCATED", None, "checkpoint"
    if len(lines) < minimum:
        return "TRUNCATED", None, "min-entries"
    leaves = [leaf_hash(line) for line in lines]
    if any(root_of(leaves[: checkpoint.size]) != checkpoint.root_hash for checkpoint in checkpoints):
        return "FORKED", None, "checkpoint"
    return None


def judge(case: dict[str, Any]) -> Judgement:
    """Return verdict, id and check as the format's own checks give them; a verdict of None is a usage error."""
    policy = policy_of(case)
    keys = policy.keys if case["policy"] else None
    data = vector(case["chain"])
    trusted = [key.public_key for key in policy.keys if key.use == "checkpoint"]
    try:
        checkpoints = [verify_note(vector(name).decode(), policy.origin, trusted) for name in case["checkpoints"]]
    except CheckpointError:
        return None, None, None
    *lines, tail = data.split(b"\n")
    minimum = int(case["args"][1]) if case["args"] else 0
    return (
        judge_lines(data, policy, keys)
        or (("UNANCHORED", None, None) if keys is None else None)
        or judge_size_and_roots(lines, checkpoints, minimum)
        or (("TORN_TAIL", None, "framing") if tail else ("PASS", None, None))
    )


@pytest.mark.parametrize("case", [case for case in MANIFEST if case["name"] != "loworder-key"], ids=lambda c: c["name"])
def test_every_case_of_the_manifest_is_judged_as_it_says(case: dict[str, Any]) -> None:
    """RF-20, RF-21, RF-22."""
    verdict, first_bad_id, check = judge(case)
    assert (verdict, first_bad_id) == (case["verdict"], case["id"])
    either = "may be encoding or schema" in case["note"]
    assert check in EITHER if either else check == case["check"]


def test_a_key_of_low_order_is_refused_in_the_policy_and_in_the_line() -> None:
    """RF-13: the policy itself is unusable; without one, the signature check refuses the line."""
    case = next(case for case in MANIFEST if case["name"] == "loworder-key")
    with pytest.raises(FormatError, match="low order"):
        policy_of(case)
    entry = parse_line("L12", vector_lines(case["chain"])[0])
    with pytest.raises(LinkError) as caught:
        check_link(genesis_head("prometheus.example/decisions/-"), entry)
    assert (caught.value.check, caught.value.id) == (case["check"], case["id"])


def test_the_manifest_names_every_chain_that_is_here() -> None:
    chains = {path.name for path in VECTORS.glob("*.jsonl")}
    assert chains == {case["chain"] for case in MANIFEST}
    assert len(MANIFEST) == 91


def test_a_trusted_key_covers_each_half_of_the_chain_of_two_keys() -> None:
    """RF-18."""
    policy = policy_of(GOLDENS["golden-two-keys"])
    first, second = policy.keys
    swapped = (TrustedKey(second.public_key, "entry", 1, 16), TrustedKey(first.public_key, "entry", 17))
    with pytest.raises(LinkError) as caught:
        walk(vector("golden-two-keys.jsonl"), policy.origin, swapped)
    assert (caught.value.check, caught.value.id) == ("key", 1)
