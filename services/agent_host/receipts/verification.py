"""Runs the offline verifier over a home's chains, as a separate program that shares no code with us."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_host.errors import UsageError
from agent_host.receipts.spool import waiting_receipts
from service_runtime.home import Home

ALWAYS = ("turns", "decisions")
"""Chains that every home's ledger has; any other is verified once something is in it."""

KEY_LOG = "keys"
VERIFIER = "verifier.verify"


def verify_home(home: Home, *, as_json: bool) -> int:
    """Verifies every chain of the home under its policy, key log and newest checkpoint, and the newest state.

    Prints the reports, then one verdict. Returns 0 when every verdict is PASS, else the exit status of the first other
    one (receipts.md section 8). A chain that has a policy and is not there is an error, as a chain that was deleted
    looks like that.

    Raises:
        UsageError: the home has no ledger yet.
    """
    folder = home.path / "receipts"  # read only: it may be another's volume
    named = [path.stem.removeprefix("policy-") for path in sorted(folder.glob("policy-*.json"))]
    if not any(_chain(folder, name).exists() for name in named):
        raise UsageError(f"{home.path} holds no receipts yet; say something with `agent-host chat` first.")
    present = [name for name in named if name in ALWAYS or _size(_chain(folder, name))]
    order = (KEY_LOG, *ALWAYS)
    chains = sorted(present, key=lambda name: (order.index(name) if name in order else len(order), name))
    checks = [_check(name, _evidence(folder, name)) for name in chains]
    if (folder / "state.json").exists():
        files = [str(_chain(folder, name)) for name in chains]
        checks.append(_check("state.json", [str(folder / "state.json"), *files, *_trust(folder, folder)]))
    return _tell(checks, waiting(home.path), as_json=as_json)


def _tell(checks: Sequence[_Check], queued: int, *, as_json: bool) -> int:
    worst = next((check for check in checks if check.status), None)
    verdict = worst.verdict if worst else "PASS"
    if as_json:
        reports = {check.name: check.report for check in checks}
        document = {"verdict": verdict, "exit": worst.status if worst else 0, "queued": queued, "chains": reports}
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
    else:
        for check in checks:
            sys.stdout.write(f"== {check.name}\n{check.text}\n")
        if queued:
            sys.stdout.write(f"Not on the chains yet: {queued} receipts wait unsigned in the spool.\n")
        sys.stdout.write(f"VERDICT {verdict}: {worst.where if worst else ', '.join(one.name for one in checks)}\n")
    return worst.status if worst else 0


def waiting(home: Path) -> int:
    """Returns how many receipts of a home wait for the writer."""
    return waiting_receipts(home / "host" / "spool.jsonl")


@dataclass(frozen=True)
class _Check:
    """What the verifier said of one chain, or of the state with all of them."""

    name: str
    status: int
    text: str
    report: Mapping[str, Any]

    @property
    def verdict(self) -> str:
        return str(self.report.get("verdict", "NOT CHECKED"))

    @property
    def where(self) -> str:
        entry_id = self.report.get("id")
        return self.name if entry_id is None else f"{self.name}, entry {entry_id} ({self.report.get('check')})"


def _evidence(folder: Path, name: str) -> list[str]:
    words = [str(_chain(folder, name)), *_trust(folder, folder / f"policy-{name}.json")]
    checkpoint = folder / "chains" / f"{name}.checkpoint"
    return [*words, "--checkpoint", str(checkpoint)] if checkpoint.exists() else words


def trust_of(folder: Path, chain: str, policy: Path | None) -> list[str]:
    """Returns the verifier's options for a chain of a ledger: the policy given, else the one its writer wrote.

    Raises:
        UsageError: there is no policy, and so nobody to trust.
    """
    known = policy or folder / f"policy-{chain}.json"
    if not known.exists():
        raise UsageError(f"{known} does not exist; name the policy of that writer with --policy.")
    return _trust(folder, known)


def _trust(folder: Path, policy: Path) -> list[str]:
    """Returns the options that say whom to trust: the policy, and the key log that leads on from it."""
    key_log = _chain(folder, KEY_LOG)
    leads = ["--key-log", str(key_log)] if _size(key_log) else []
    return ["--policy", str(policy), *leads]


def _check(name: str, words: Sequence[str]) -> _Check:
    command = [sys.executable, "-P", "-m", VERIFIER, *words]
    report, text = (subprocess.run([*command, *more], capture_output=True, check=False) for more in (["--json"], []))
    if not report.stdout:  # usage or I/O: no report, its reason is on stderr
        reason = report.stderr.decode(errors="replace").strip()
        return _Check(name, report.returncode, f"{reason}\n", {"error": reason})
    return _Check(name, report.returncode, text.stdout.decode(errors="replace"), json.loads(report.stdout))


def _chain(folder: Path, name: str) -> Path:
    return folder / "chains" / f"{name}.jsonl"


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
