"""Packages of the same trade, installed into a throwaway environment and run on the same content in the same run."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

PEERS = ("obsigna==0.16.0", "auditchain==0.3.0", "signet-auth==0.11.0")
SCRIPT = Path(__file__).with_name("peer_appends.py")
PATIENCE_S = 300


def print_peers(our_rate: float, our_rate_alone: float, our_verify_rate: float) -> None:
    """Prints each peer's appends and verified entries a second, and ours as a ratio to them.

    Without a package index there are no peers, which one sentence says.
    """
    for peer in measure_peers():
        _print_peer(peer, our_rate, our_rate_alone, our_verify_rate)


def measure_peers() -> Iterator[dict[str, object]]:
    """Yields each peer's name and its seconds to append and to verify so many entries; says why when there are none."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = _environment(folder / "venv")
        if python is None:
            print("peers                       not measured: they could not be installed from a package index here")
            return
        (folder / "run").mkdir()
        run = subprocess.run([python, SCRIPT, folder / "run"], capture_output=True, text=True, check=False)
    if run.returncode:
        print(f"peers                       not measured: {run.stderr.strip().splitlines()[-1]}")
    for line in run.stdout.splitlines():
        yield json.loads(line)


def _print_peer(peer: dict[str, object], our_rate: float, our_rate_alone: float, our_verify_rate: float) -> None:
    entries = float(str(peer["entries"]))
    append, verify = entries / float(str(peer["append_s"])), entries / float(str(peer["verify_s"]))
    durable = "durable" if peer["is_durable"] else "never synced"
    ours = f"{our_rate_alone / append:5.2f}x alone, {our_rate / append:5.1f}x at 64"
    print(
        f"{peer['name']:20} append {append:6.0f}/s, {durable:12} (ours, durable: {ours})   "
        f"verify {verify:6.0f}/s (ours {our_verify_rate / verify:.1f}x)"
    )


def _environment(path: Path) -> Path | None:
    """Makes an environment with the peers; returns its Python, None when they cannot be had."""
    python = path / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PEERS]
    try:
        for command in ([sys.executable, "-m", "venv", str(path)], install):
            subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)
    except (subprocess.SubprocessError, OSError):
        return None
    return python
