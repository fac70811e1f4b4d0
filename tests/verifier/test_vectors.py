from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.verifier.both import NOW_MS, Outcome, Verifiers
from verifier import verify

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "verifier" / "vectors" / "v2"
CASES: list[dict[str, Any]] = json.loads((VECTORS / "manifest.json").read_text())
# Where the manifest allows two words, both verifiers follow RF-21: sizes and depth are of the encoding.
CHOSEN = {"schema-string-too-long": "encoding", "schema-deep": "encoding"}


def arguments(case: dict[str, Any]) -> list[str]:
    given = [str(VECTORS / case["chain"])]
    given += ["--policy", str(VECTORS / case["policy"])] if case["policy"] else []
    for checkpoint in case["checkpoints"]:
        given += ["--checkpoint", str(VECTORS / checkpoint)]
    return [*given, *case["args"]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_both_verifiers_judge_a_vector_as_the_manifest_says(case: dict[str, Any], verifiers: Verifiers) -> None:
    outcome = verifiers.run(arguments(case))

    assert outcome.exit == case["exit"]
    assert outcome.found == (case["verdict"], case["id"], CHOSEN.get(case["name"], case["check"]))


def test_the_manifest_has_every_verdict_but_the_one_that_needs_a_clock() -> None:
    assert {case["verdict"] for case in CASES} == {*verify.EXITS, None} - {"", "STALE"}


@pytest.mark.parametrize("program", [[sys.executable, "verifier/verify.py"], ["node", "verifier/verify.mjs"]])
@pytest.mark.parametrize("name", ["golden", "edit-body", "cp-forged", "torn-tail"])
def test_the_command_prints_what_the_function_gives(program: list[str], name: str, verifiers: Verifiers) -> None:
    case = next(case for case in CASES if case["name"] == name)

    ran = subprocess.run([*program, *arguments(case), "--json"], cwd=ROOT, capture_output=True, text=True, check=False)

    expected = verifiers.run(arguments(case), NOW_MS)
    assert Outcome(ran.returncode, ran.stdout, expected.stderr) == expected
    digest = hashlib.sha256((ROOT / program[-1]).read_bytes()).hexdigest()
    banner = f"{Path(program[-1]).name} {verify.VERSION} sha256 {digest}\n"
    assert ran.stderr == expected.stderr if case["exit"] == verify.EXITS.index("") else banner


def test_a_long_line_is_reported_with_its_byte_offset(verifiers: Verifiers) -> None:
    data = (VECTORS / "long-line.jsonl").read_bytes()

    outcome = verifiers.run([str(VECTORS / "long-line.jsonl"), "--policy", str(VECTORS / "policy.json")])

    assert data[: outcome.report["offset"]].count(b"\n") == 16
    assert data[outcome.report["offset"] :].startswith(b'{"id":17,')
