"""With --unique each id that names an entry stands once in its chain (RF-23), but for a turn reported late (RF-24)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.verifier import ledger
from tests.verifier.both import NOW_MS, Outcome, Verifiers, run_python
from verifier import verify

ROOT = Path(__file__).parents[2]
READY = "--unique" in (ROOT / "verifier" / "verify.mjs").read_text()
NAMES = [f"{number:026}" for number in range(10)]


def judged(chain: ledger.Chain, folder: Path, verifiers: Verifiers, *args: str) -> Outcome:
    (folder / "chain.jsonl").write_bytes(chain.content)
    (folder / "policy.json").write_text(json.dumps(ledger.policy(chain.origin)))
    line = [str(folder / "chain.jsonl"), "--policy", str(folder / "policy.json"), *args]
    return verifiers.run(line, NOW_MS) if READY else run_python([*line, "--json"])


def turns(*told: tuple[int, str]) -> ledger.Chain:
    """Turns by number of their turnId and outcome."""
    chain = ledger.Chain(ledger.TURNS)
    for number, (name, outcome) in enumerate(told, 1):
        chain.add(ledger.turn(number, turnId=f"t_{NAMES[name]}", outcome=outcome))
    return chain


def decisions(*names: int) -> ledger.Chain:
    chain = ledger.Chain()
    for number, name in enumerate(names, 1):
        chain.add(ledger.decision(number, callId=f"c_{NAMES[name]}"))
    return chain


CASES: dict[str, tuple[ledger.Chain, tuple[Any, ...]]] = {
    "each call once": (decisions(0, 1, 2), ("PASS", None, None)),
    "a call twice": (decisions(0, 1, 2, 1, 0), ("TAMPERED", 4, "unique")),
    "each turn once": (turns((0, "replied"), (1, "interrupted")), ("PASS", None, None)),
    "a turn twice": (turns((0, "replied"), (0, "replied")), ("TAMPERED", 2, "unique")),
    "a late report": (turns((0, "interrupted"), (1, "replied"), (0, "replied")), ("PASS", None, None)),
    "two late reports": (turns((0, "interrupted"), (0, "replied"), (0, "failed")), ("TAMPERED", 3, "unique")),
    "interrupted twice": (turns((0, "interrupted"), (0, "interrupted")), ("TAMPERED", 2, "unique")),
    "interrupted after its report": (turns((0, "replied"), (0, "interrupted")), ("TAMPERED", 2, "unique")),
    "nothing": (decisions(), ("PASS", None, None)),
}


@pytest.mark.parametrize("name", CASES)
def test_an_id_stands_once(name: str, tmp_path: Path, verifiers: Verifiers) -> None:
    chain, found = CASES[name]

    assert judged(chain, tmp_path, verifiers, "--unique").found == found
    assert judged(chain, tmp_path, verifiers).found == ("PASS", None, None)


def test_the_page_has_a_line_for_it(tmp_path: Path, verifiers: Verifiers) -> None:
    lines: list[Sequence[str]] = []
    for chain in (decisions(0, 1), decisions(0, 0)):
        judged(chain, tmp_path, verifiers, "--unique")
        args = [str(tmp_path / "chain.jsonl"), "--policy", str(tmp_path / "policy.json"), "--unique"]
        lines.append(run_python(args).stdout.splitlines())

    assert "Unique ids        ok    2" in lines[0]
    assert "Unique ids        FAIL  repeated at id 2" in lines[1]


def test_the_first_of_several_repeats_is_told_whichever_hash_is_the_lowest(tmp_path: Path) -> None:
    (tmp_path / "chain.jsonl").write_bytes(decisions(0, 1, 2, 3, 4, 5, 2, 0).content)

    assert verify.find_repeat(tmp_path / "chain.jsonl", "L12") == 7
