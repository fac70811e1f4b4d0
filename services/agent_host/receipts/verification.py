"""Runs the offline verifier over a home's chains, as a separate program that shares no code with us."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from agent_host.errors import UsageError
from service_runtime.home import Home

CHAINS = ("turns", "decisions")
VERIFIER = "verifier.verify"


def verify_home(home: Home, *, as_json: bool) -> int:
    """Verifies every chain of the home under its policy and newest checkpoint; prints the reports.

    Returns 0 when every verdict is PASS, else the first other verdict's exit status (receipts.md section 8).

    Raises:
        UsageError: the home has no ledger yet.
    """
    folder = home.path / "receipts"  # read only: it may be another's volume
    present = [chain for chain in CHAINS if (folder / "chains" / f"{chain}.jsonl").exists()]
    if not present:
        raise UsageError(f"{home.path} holds no receipts yet; say something with `agent-host chat` first.")
    runs = [
        subprocess.run(_command(folder, chain, as_json=as_json), capture_output=True, check=False) for chain in present
    ]
    statuses = [run.returncode for run in runs]
    if as_json:
        documents = {
            chain: json.loads(run.stdout) if run.stdout else {"error": run.stderr.decode(errors="replace").strip()}
            for chain, run in zip(present, runs, strict=True)
        }
        sys.stdout.write(json.dumps(documents, ensure_ascii=False) + "\n")
    else:
        for chain, run in zip(present, runs, strict=True):
            sys.stdout.write(f"== {chain}\n{run.stdout.decode(errors='replace')}\n")
            sys.stderr.write(run.stderr.decode(errors="replace"))
        sys.stdout.write(_closing_line(present, statuses))
    return next((status for status in statuses if status), 0)


def _command(folder: Path, chain: str, *, as_json: bool) -> list[str]:
    command = [sys.executable, "-P", "-m", VERIFIER, str(folder / "chains" / f"{chain}.jsonl")]
    command += ["--policy", str(folder / f"policy-{chain}.json")]
    checkpoint = folder / "chains" / f"{chain}.checkpoint"
    if checkpoint.exists():
        command += ["--checkpoint", str(checkpoint)]
    return [*command, "--json"] if as_json else command


def _closing_line(chains: Sequence[str], statuses: Sequence[int]) -> str:
    failed = [chain for chain, status in zip(chains, statuses, strict=True) if status]
    if not failed:
        return f"PASS: {', '.join(chains)}\n"
    return f"NOT VERIFIED: {', '.join(failed)} (see the verdict above)\n"
