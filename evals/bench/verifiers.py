"""Both verifiers on a chain made here, beside a plain single-threaded loop of hash and signature checks."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nacl.signing import VerifyKey

from tests.verifier.ledger import ENTRY_KEY, Chain, policy, public

ROOT = Path(__file__).parents[2]
ENTRIES = 40_000


def main() -> int:
    """Prints entries per second of each verifier at both levels, and as a ratio to the plain loop."""
    with tempfile.TemporaryDirectory() as folder:
        chain, trusted = Path(folder) / "chain.jsonl", Path(folder) / "policy.json"
        lines = Chain().fill(ENTRIES).content
        chain.write_bytes(lines)
        trusted.write_text(json.dumps(policy()))
        plain = _plain_loop(lines)
        print(f"plain loop, one thread      {plain:9.0f} entries/s   (hash, link and signature of {ENTRIES:,} entries)")
        for name, program in (("verify.py", sys.executable), ("verify.mjs", "node")):
            for level in ("full", "chain"):
                rate = _verifier(program, name, level, chain, trusted)
                print(f"{name:11} --level {level:5}   {rate:9.0f} entries/s   {rate / plain:5.1f}x")
    return 0


def _plain_loop(lines: bytes) -> float:
    """Checks a chain the shortest way: slice, hash, compare the link, verify the signature with PyNaCl."""
    key = VerifyKey(base64.b64decode(public(ENTRY_KEY)))
    started = time.perf_counter()
    for line in lines.split(b"\n")[:-1]:
        body = line[: line.rindex(b',"hash":"')] + b"}"
        entry = json.loads(line)
        attestation = entry["attestation"]
        kind = (
            f"application/vnd.prometheus.receipt+json;layer=L12;form=v2;signedAt={attestation['signedAtIso']}".encode()
        )
        signed = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(body), body)
        if hashlib.sha256(body).hexdigest() != entry["hash"]:
            raise AssertionError(entry["id"])
        key.verify(signed, base64.b64decode(attestation["signature"]))
    return ENTRIES / (time.perf_counter() - started)


def _verifier(program: str, name: str, level: str, chain: Path, trusted: Path) -> float:
    """Returns entries per second, start-up included."""
    command = [program, str(ROOT / "verifier" / name), str(chain), "--policy", str(trusted), "--level", level]
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return ENTRIES / (time.perf_counter() - started)
