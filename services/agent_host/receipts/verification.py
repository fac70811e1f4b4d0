"""Runs the offline verifier over a home's chains, as a separate program that shares no code with us."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_host.errors import UsageError
from agent_host.receipts.spool import waiting_receipts
from service_runtime.home import Home

CHAINS = ("turns", "decisions")
VERIFIER = "verifier.verify"


def verify_home(home: Home, *, as_json: bool) -> int:
    """Verifies every chain of the home under its policy and newest checkpoint; prints the reports, then one verdict.

    Returns 0 when every verdict is PASS, else the exit status of the first other one (receipts.md section 8). A chain
    that has a policy and is not there is an error, as a chain that was deleted looks like that.

    Raises:
        UsageError: the home has no ledger yet.
    """
    folder = home.path / "receipts"  # read only: it may be another's volume
    chains = [chain for chain in CHAINS if (folder / f"policy-{chain}.json").exists()]
    if not any((folder / "chains" / f"{chain}.jsonl").exists() for chain in chains):
        raise UsageError(f"{home.path} holds no receipts yet; say something with `agent-host chat` first.")
    checks = [_check(folder, chain) for chain in chains]
    queued = waiting(home.path)
    worst = next((check for check in checks if check.status), None)
    verdict = worst.verdict if worst else "PASS"
    if as_json:
        reports = {check.chain: check.report for check in checks}
        document = {"verdict": verdict, "exit": worst.status if worst else 0, "queued": queued, "chains": reports}
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
    else:
        for check in checks:
            sys.stdout.write(f"== {check.chain}\n{check.text}\n")
        if queued:
            sys.stdout.write(f"Not on the chains yet: {queued} receipts wait unsigned in the spool.\n")
        sys.stdout.write(f"VERDICT {verdict}: {worst.where if worst else ', '.join(chains)}\n")
    return worst.status if worst else 0


def waiting(home: Path) -> int:
    """Returns how many receipts of a home wait for the writer."""
    return waiting_receipts(home / "host" / "spool.jsonl")


@dataclass(frozen=True)
class _Check:
    """What the verifier said of one chain."""

    chain: str
    status: int
    text: str
    report: Mapping[str, Any]

    @property
    def verdict(self) -> str:
        return str(self.report.get("verdict", "NOT CHECKED"))

    @property
    def where(self) -> str:
        entry_id = self.report.get("id")
        return self.chain if entry_id is None else f"{self.chain}, entry {entry_id} ({self.report.get('check')})"


def _check(folder: Path, chain: str) -> _Check:
    command = [sys.executable, "-P", "-m", VERIFIER, str(folder / "chains" / f"{chain}.jsonl")]
    command += ["--policy", str(folder / f"policy-{chain}.json")]
    checkpoint = folder / "chains" / f"{chain}.checkpoint"
    if checkpoint.exists():
        command += ["--checkpoint", str(checkpoint)]
    report, text = (subprocess.run([*command, *words], capture_output=True, check=False) for words in (["--json"], []))
    if not report.stdout:  # usage or I/O: no report, its reason is on stderr
        reason = report.stderr.decode(errors="replace").strip()
        return _Check(chain, report.returncode, f"{reason}\n", {"error": reason})
    return _Check(chain, report.returncode, text.stdout.decode(errors="replace"), json.loads(report.stdout))
