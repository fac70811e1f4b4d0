"""RF-15: what a commitment commits to is the RFC 8785 bytes, by the public vectors and by the project's own."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest

from agent_host.receipts.commitments import canonical_bytes, commit
from receipt_writer.format import digest

ROOT = Path(__file__).parents[3]
DATA = ROOT.parent / "shared" / "data" / "rfc8785"
OWN: list[dict[str, Any]] = json.loads((ROOT / "verifier" / "vectors" / "v3" / "commitments.json").read_text())
PUBLIC = ("arrays", "french", "structures", "unicode", "values", "weird")
KEY = bytes(range(32))


@pytest.mark.skipif(not DATA.exists(), reason="the public RFC 8785 vectors are not beside the project")
@pytest.mark.parametrize("name", PUBLIC)
def test_a_value_of_the_rfc_8785_vectors_commits_to_their_bytes(name: str) -> None:
    value = json.loads((DATA / "input" / f"{name}.json").read_bytes())
    expected = (DATA / "output" / f"{name}.json").read_bytes()

    assert canonical_bytes(value) == expected
    assert canonical_bytes(value) == bytes.fromhex((DATA / "outhex" / f"{name}.txt").read_text())
    made = commit("t_1", "inputHash", value)
    assert made.digest == hmac.new(made.opening.key, expected, hashlib.sha256).hexdigest()


@pytest.mark.parametrize("row", OWN, ids=lambda row: str(row["name"]))
def test_a_value_of_the_projects_own_vectors_commits_to_their_bytes(row: dict[str, Any]) -> None:
    canonical = canonical_bytes(json.loads(row["written"]))

    assert canonical == row["canonical"].encode()
    assert digest.commit(canonical, None) == row["sha256"]
    assert digest.commit(canonical, KEY) == row["hmacSha256"]


@pytest.mark.parametrize("row", OWN, ids=lambda row: str(row["name"]))
def test_canonical_bytes_stand_as_they_are(row: dict[str, Any]) -> None:
    assert canonical_bytes(json.loads(row["canonical"])) == row["canonical"].encode()
