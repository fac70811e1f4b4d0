"""What the format's tests work on: the frozen vectors, test signers, drafts, and chains walked as a verifier would."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from nacl.signing import SigningKey

from receipt_writer.format.chain import Head, check_link, genesis_head, next_entry
from receipt_writer.format.digest import split_origin
from receipt_writer.format.entry import Entry, parse_line
from receipt_writer.format.policy import Policy, TrustedKey
from receipt_writer.format.schema import layer_of_chain

ROOT = Path(__file__).parents[3]
VECTORS = ROOT / "verifier" / "vectors" / "v2"
SHARED_DATA = ROOT.parent / "shared" / "data"
ORIGIN = "prometheus.example/decisions/-"
START_MS = 1_764_607_125_386


class SeedSigner:
    """Signs with a key made of a 32-byte seed."""

    def __init__(self, seed: bytes) -> None:
        self._key = SigningKey(seed)
        self.public_key = bytes(self._key.verify_key)

    def sign(self, message: bytes) -> bytes:
        return self._key.sign(message).signature


class ReplaySigner:
    """Gives back a signature that somebody else made, for chains whose seed is not published."""

    def __init__(self, public_key: bytes, signature: bytes) -> None:
        self.public_key = public_key
        self._signature = signature

    def sign(self, message: bytes) -> bytes:
        assert message
        return self._signature


def vector(name: str) -> bytes:
    return (VECTORS / name).read_bytes()


def vector_json(name: str) -> Any:
    return json.loads(vector(name))


def vector_lines(name: str) -> list[bytes]:
    lines = vector(name).split(b"\n")
    assert lines.pop() == b"", f"{name} does not end with a line break"
    return lines


def entry_signer() -> SeedSigner:
    return SeedSigner(bytes.fromhex(vector_json("basics.json")["entrySeedHex"]))


def checkpoint_signer() -> SeedSigner:
    return SeedSigner(bytes.fromhex(vector_json("basics.json")["checkpointSeedHex"]))


def shared_data(*parts: str) -> Path:
    """Return a path of the public test data, or skip the test where that data is not at hand."""
    path = SHARED_DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"the public test data {'/'.join(parts)} is not beside this checkout")
    return path


def decision_draft(**changes: Any) -> dict[str, Any]:
    """Return an L12 v2 draft, with members changed, or left out where the change is None."""
    draft: dict[str, Any] = {
        "productId": "prometheus-agent",
        "specId": "reply-drafter",
        "specHash": "1" * 64,
        "inputHash": "2" * 64,
        "outputCanonicalHash": "3" * 64,
        "category": "drafter",
        "modelIdentity": {"provider": "offline", "model": "rules", "version": "1"},
        "latencyMs": 12,
        "schemaValid": True,
        "reviewerVerdict": None,
        "fallbackTriggered": False,
        "callId": "c_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "exitState": "ok",
        "commitment": "hmac-sha256",
    }
    return draft | changes


def turn_draft(**changes: Any) -> dict[str, Any]:
    """Return an L10 v2 draft with members changed."""
    draft: dict[str, Any] = {
        "productId": "prometheus-agent",
        "turnId": "t_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "sessionId": "s_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "gateway": "cli",
        "outcome": "replied",
        "iterations": 2,
        "inputHash": "2" * 64,
        "replyHash": "3" * 64,
        "model": {
            "id": "rules",
            "inputTokens": 1,
            "outputTokens": 2,
            "cacheReadTokens": 0,
            "cacheWriteTokens": 0,
            "costMicroUsd": 0,
            "estimated": True,
            "calls": [{"kind": "loop", "n": 2}],
        },
        "tools": [{"tool": "memory_search", "provider": "memory", "status": "ok", "n": 1, "costMicroUsd": None}],
        "memory": {"searches": 1, "used": 1, "kept": 0, "unsent": 0, "reportId": None},
        "decisions": {"n": 2, "firstId": 4, "lastId": 5},
        "totalMicroUsd": 0,
        "traceHash": "4" * 64,
        "commitment": "hmac-sha256",
    }
    return draft | changes


def decision_chain(
    drafts: Iterable[dict[str, Any]], signer: SeedSigner, origin: str = ORIGIN, step_ms: int = 1
) -> list[Entry]:
    """Return the L12 v2 chain of these drafts, one entry every `step_ms`."""
    head, entries = genesis_head(origin), []
    for number, draft in enumerate(drafts):
        entry, head = next_entry(
            head,
            "L12",
            "v2",
            draft,
            now_ms=START_MS + number * step_ms,
            tenant_id=split_origin(origin).tenant_id,
            signer=signer,
        )
        entries.append(entry)
    return entries


def walk(data: bytes, origin: str, keys: Sequence[TrustedKey] | None) -> Head:
    """Check a whole chain file as its writer would on opening it, and return its head.

    Raises whatever the first bad line raises; the head it was held against is the error's `head_size` note.
    """
    parts = split_origin(origin)
    layer = layer_of_chain(parts.chain).name
    head = genesis_head(origin)
    *lines, tail = data.split(b"\n")
    for line in lines:
        try:
            head = check_link(head, parse_line(layer, line), tenant_id=parts.tenant_id, keys=keys)
        except Exception as error:
            error.add_note(str(head.size + 1))
            raise
    if tail:
        raise EOFError
    return head


def policy_for(signer: SeedSigner, origin: str = ORIGIN) -> Policy:
    return Policy(origin, (TrustedKey(signer.public_key, "entry"),))
