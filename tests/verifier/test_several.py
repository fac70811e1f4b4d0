"""Several inputs in one call: which files are copies, which policy is whose, which verdict is the worst."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.verifier import ledger
from tests.verifier.both import NOW_MS, Outcome, Verifiers, run_python

ROOT = Path(__file__).parents[2]
READY = "OVERALL VERDICT" in (ROOT / "verifier" / "verify.mjs").read_text()
ACME = "prometheus.example/decisions/acme"


def run(verifiers: Verifiers, args: Sequence[str]) -> Outcome:
    return verifiers.run(args, NOW_MS) if READY else run_python([*args, "--json"])


def verdicts(outcome: Outcome) -> list[tuple[str, str]]:
    return [(report["input"], report["verdict"]) for report in outcome.report["reports"]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder as a writer lays it out: policies on top, chains below, and files there that are none."""
    (tmp_path / "chains").mkdir()
    for name, origin in (("turns", ledger.TURNS), ("decisions", ledger.ORIGIN)):
        (tmp_path / "chains" / f"{name}.jsonl").write_bytes(ledger.Chain(origin).fill(3).content)
        (tmp_path / f"policy-{name}.json").write_text(json.dumps(ledger.policy(origin)))
    (tmp_path / "chains" / "intents.jsonl").write_bytes(b"{}\n")
    (tmp_path / "ledger.json").write_bytes(b"{}\n")
    return tmp_path


def test_a_writers_folder_is_judged_with_its_policies_in_the_order_of_layers(home: Path, verifiers: Verifiers) -> None:
    outcome = run(verifiers, [str(home), "--policy", str(home)])

    assert (outcome.exit, outcome.report["verdict"]) == (0, "PASS")
    assert verdicts(outcome) == [("turns.jsonl", "PASS"), ("decisions.jsonl", "PASS")]


def test_a_chain_no_policy_is_for_is_unanchored_and_that_is_the_whole_verdict(home: Path, verifiers: Verifiers) -> None:
    outcome = run(verifiers, [str(home), "--policy", str(home / "policy-turns.json")])

    assert outcome.exit == 3
    assert verdicts(outcome) == [("turns.jsonl", "PASS"), ("decisions.jsonl", "UNANCHORED")]
    assert "None of the policies given is for this chain." in outcome.report["reports"][1]["notes"]


def test_an_empty_chain_is_known_by_its_files_name(home: Path, verifiers: Verifiers) -> None:
    (home / "chains" / "turns.jsonl").write_bytes(b"")

    outcome = run(verifiers, [str(home), "--policy", str(home)])

    assert verdicts(outcome) == [("turns.jsonl", "PASS"), ("decisions.jsonl", "PASS")]


def test_the_same_layer_of_another_tenant_is_another_chain(home: Path, verifiers: Verifiers) -> None:
    mine = home / "chains" / "decisions.jsonl"
    theirs = home / "theirs.jsonl"
    theirs.write_bytes(ledger.Chain(ACME).fill(2, tenantId="acme").content)
    (home / "policy-acme.json").write_text(json.dumps(ledger.policy(ACME)))

    outcome = run(verifiers, [str(mine), str(theirs), "--policy", str(home)])

    assert verdicts(outcome) == [("decisions.jsonl", "PASS"), ("theirs.jsonl", "PASS")]


def test_three_copies_are_one_chain(home: Path, verifiers: Verifiers) -> None:
    files = [home / f"{number}.jsonl" for number in range(3)]
    for file, size in zip(files, (3, 3, 5), strict=True):
        file.write_bytes(ledger.Chain().fill(size).content)
    forked = ledger.Chain().fill(1).add(ledger.decision(2, latencyMs=1)).fill(4)

    args = [*map(str, files), "--policy", str(home)]
    outcome = run(verifiers, args)
    files[2].write_bytes(forked.content)

    assert outcome.found == ("PASS", None, None)
    assert "The third copy has 5 lines, none bad; they agree." in outcome.report["notes"]
    assert run(verifiers, args).found == ("FORKED", 2, "copies")


def test_a_checkpoint_goes_to_the_chain_it_names(home: Path, verifiers: Verifiers) -> None:
    (home / "turns.checkpoint").write_bytes(ledger.Chain(ledger.TURNS).fill(4).checkpoint(4))

    outcome = run(verifiers, [str(home), "--policy", str(home), "--checkpoint", str(home / "turns.checkpoint")])

    assert verdicts(outcome) == [("turns.jsonl", "TRUNCATED"), ("decisions.jsonl", "PASS")]


def usage(home: Path) -> dict[str, list[str]]:
    chain, policy = str(home / "chains" / "turns.jsonl"), str(home / "policy-turns.json")
    return {
        "an empty folder": [str(home / "empty")],
        "a folder without policies": [chain, "--policy", str(home / "empty")],
        "two policies for one chain": [chain, "--policy", policy, "--policy", str(home)],
        "--min-entries of several chains": [str(home), "--min-entries", "1"],
        "--follow of several": [str(home), "--follow"],
        "no workers": [chain, "--workers", "0"],
        "too many workers": [chain, "--workers", "65"],
        "a key log without a key": [chain, "--key-log", chain],
        "a key log that is another chain": [chain, "--policy", policy, "--key-log", chain],
    }


@pytest.mark.parametrize("case", usage(Path()))
def test_what_cannot_be_done_is_one_sentence(case: str, home: Path, verifiers: Verifiers) -> None:
    (home / "empty").mkdir()

    outcome = run(verifiers, usage(home)[case])

    assert (outcome.exit, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("verify: ")
    assert len(outcome.stderr.splitlines()) == 1


def test_a_file_name_in_a_folder_cannot_write_to_the_terminal(home: Path) -> None:
    (home / "policy-\x1b]0;owned\x07.json").write_bytes(b"{}")

    outcome = run_python([str(home), "--policy", str(home)])

    assert outcome.exit == 2
    assert "policy-?]0;owned?.json" in outcome.stderr
    assert "\x1b" not in outcome.stderr
