"""Both verifiers on chains made here, beside a plain loop of hash and signature checks and packages of the trade."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nacl.signing import VerifyKey

from evals.bench.ledger_peers import measure_peers
from tests.verifier.evidence import proof
from tests.verifier.ledger import ENTRY_KEY, Chain, decision, iso, policy, public
from verifier import verify

ROOT = Path(__file__).parents[2]
ENTRIES, MANY = 40_000, 1_000_000
PROGRAMS = (("verify.py", sys.executable), ("verify.mjs", "node"))


class Run(NamedTuple):
    """What one run of a verifier took: seconds on the clock, and the peak memory of all its processes together."""

    seconds: float
    peak_bytes: int


def main() -> int:
    """Prints entries per second of each verifier at both levels, each peer as a ratio, and memory at a million."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        chain, trusted, many = folder / "chain.jsonl", folder / "policy.json", folder / "many.jsonl"
        signed = Chain().fill(ENTRIES)
        chain.write_bytes(signed.content)
        trusted.write_text(json.dumps(policy()))
        with many.open("wb") as file:
            file.writelines(_unsigned_lines(MANY))
        plain = _plain_loop(signed.content)
        print(f"plain loop, one thread      {plain:9.0f} entries/s   hash, link and signature of {ENTRIES:,} entries")
        rates = {}
        for program, level in ((program, level) for program in PROGRAMS for level in ("full", "chain")):
            run = _verify(program, chain, trusted, level)
            rates[program[0], level] = rate = ENTRIES / run.seconds
            print(f"{program[0]:11} --level {level:5}   {rate:9.0f} entries/s   {rate / plain:5.1f}x the loop")
        for program in PROGRAMS:
            run = _verify(program, many, trusted, "chain")
            rate, peak = MANY / run.seconds, run.peak_bytes / 1e6
            print(f"{program[0]:11} --level chain   {rate:9.0f} entries/s   {MANY:,} entries, {peak:.0f} MB in all")
        print(f"one receipt by its proof    {_proof_ms(signed, folder, trusted):9.2f} ms of CPU")
    for peer in measure_peers():
        rate = float(str(peer["entries"])) / float(str(peer["verify_s"]))
        print(f"{peer['name']:20}        {rate:9.0f} entries/s   verify.py {rates['verify.py', 'full'] / rate:.1f}x")
    return 0


def _plain_loop(lines: bytes) -> float:
    """Checks a chain the shortest way: slice, hash, compare the link, verify the signature with PyNaCl."""
    key = VerifyKey(base64.b64decode(public(ENTRY_KEY)))
    before, started = None, time.perf_counter()
    for line in lines.split(b"\n")[:-1]:
        body = line[: line.rindex(b',"hash":"')] + b"}"
        entry = json.loads(line)
        at = entry["attestation"]["signedAtIso"]
        kind = f"application/vnd.prometheus.receipt+json;layer=L12;form=v2;signedAt={at}".encode()
        signed = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(body), body)
        if hashlib.sha256(body).hexdigest() != entry["hash"] or before not in (entry["prevHash"], None):
            raise AssertionError(entry["id"])
        key.verify(signed, base64.b64decode(entry["attestation"]["signature"]))
        before = entry["hash"]
    return ENTRIES / (time.perf_counter() - started)


def _unsigned_lines(size: int) -> Iterator[bytes]:
    """Makes a chain whose links and hashes hold; every line carries the first one's signature, to be quick."""
    first = Chain().fill(1)
    head, tail = first.lines[0].split(b',"hash":"', 1)
    before, hash_ = first.head.encode(), b""
    link = hashlib.sha256(f"prometheus-receipts genesis v1\n{first.origin}\n".encode()).hexdigest().encode()
    template = head.replace(link, b"%b").split(b',"productId"', 1)[1]
    for number in range(1, size + 1):
        ms = decision(1)["recordedAtMs"] + number
        start = b'{"id":%d,"recordedAtMs":%d,"recordedAtIso":"%b"' % (number, ms, iso(ms).encode())
        body = start + b',"productId"' + template % (hash_ or link)
        hash_ = hashlib.sha256(body + b"}").hexdigest().encode()
        yield body + b',"hash":"' + hash_ + tail[len(before) :] + b"\n"


def _verify(program: tuple[str, str], chain: Path, trusted: Path, level: str) -> Run:
    """Runs a verifier, start-up included."""
    command = [program[1], str(ROOT / "verifier" / program[0]), str(chain), "--policy", str(trusted), "--level", level]
    peak, started = 0, time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, _memory(process.pid))
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
    if process.returncode:
        raise AssertionError(process.args)
    return Run(time.perf_counter() - started, peak)


def _memory(pid: int) -> int:
    """Returns what a process and its children hold, shared pages counted once (Linux; 0 elsewhere)."""
    try:
        own = Path(f"/proc/{pid}/smaps_rollup").read_text().split("Pss:")[1].split()[0]
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (OSError, IndexError):
        return 0
    return int(own) * 1024 + sum(map(_memory, map(int, children)))


def _proof_ms(chain: Chain, folder: Path, trusted: Path) -> float:
    """Returns the milliseconds of CPU for reading and judging one receipt's proof, start-up not counted.

    Its path has 10 nodes; at 10 M entries it would have 24, which is 14 hashes more.
    """
    file, size = folder / "one.tlog-proof", 1 << 10
    file.write_bytes(proof(Chain(lines=chain.lines[:size]), 700, size))
    options = verify.read_options([str(file), "--policy", str(trusted)])
    policies = verify.read_policies(options)
    started = time.process_time()
    rounds = 200
    for _ in range(rounds):
        one = verify.read_proof(file)
        report = verify.report_proof(one, verify.proof_case(file, one, policies, options))
        if report.data["verdict"] != "PASS":
            raise AssertionError(report.text)
    return (time.process_time() - started) / rounds * 1000
