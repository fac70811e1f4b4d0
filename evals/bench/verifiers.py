"""Both verifiers on chains made here, beside a plain loop of hash and signature checks and packages of the trade."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import resource
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
from tests.verifier.ledger import ENTRY_KEY, START_MS, Chain, decision, iso, policy, public
from verifier import verify

ROOT = Path(__file__).parents[2]
ENTRIES, MANY = 40_000, 1_000_000  # of the plain loop, and of the verifiers
PROGRAMS = (("verify.py", sys.executable), ("verify.mjs", "node"))
SIGNED_AT = iso(START_MS)


class Run(NamedTuple):
    """What judging one entry took: on the clock and of processor time, in microseconds; and the peak memory of all."""

    wall_us: float
    cpu_us: float
    peak_bytes: int = 0

    @property
    def rate(self) -> float:
        """Entries a second, by the clock."""
        return 1e6 / self.wall_us


def main() -> int:
    """Prints what each verifier takes for an entry at both levels, and in memory for a million; one receipt; peers.

    Each stands beside a plain loop that ran in the same minute. On a machine that others use go by the processor time:
    two quiet cores judge 2,000,000 / CPU entries a second at best.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        chain, trusted, rates = folder / "chain.jsonl", folder / "policy.json", {}
        trusted.write_text(json.dumps(policy()))
        with chain.open("wb") as file:
            file.writelines(_lines(MANY))
        print(f"{MANY:,} entries, start-up included; the loop takes {ENTRIES:,} in one thread")
        for program, level in ((program, level) for level in ("full", "chain") for program in PROGRAMS):
            plain, run = _plain_loop(chain), _verify(program, chain, trusted, level)
            rates[program[0], level] = run.rate
            by_clock, by_cpu = plain.wall_us / run.wall_us, 2 * plain.cpu_us / run.cpu_us
            print(f"{program[0]:11} --level {level:5}   {run.rate:9.0f} entries/s   {by_clock:5.1f}x the loop", end="")
            print(f"   {run.cpu_us:6.2f} us of CPU an entry, so {by_cpu:.1f}x on two quiet cores", end="")
            print(f"   {run.peak_bytes / 1e6:3.0f} MB in all   (loop {plain.rate:.0f}/s, {plain.cpu_us:.1f} us)")
        print(f"one receipt by its proof    {_proof_ms(Chain().fill(1 << 10), folder, trusted):9.2f} ms of CPU")
    for peer in measure_peers():
        rate = float(str(peer["entries"])) / float(str(peer["verify_s"]))
        print(f"{peer['name']:20}        {rate:9.0f} entries/s   verify.py {rates['verify.py', 'full'] / rate:.1f}x")
    return 0


def _plain_loop(chain: Path) -> Run:
    """Checks a chain the shortest way: slice, hash, compare the link, verify the signature with PyNaCl."""
    key = VerifyKey(base64.b64decode(public(ENTRY_KEY)))
    with chain.open("rb") as file:
        lines = [next(file)[:-1] for _ in range(ENTRIES)]
    before, started, cpu = None, time.perf_counter(), time.process_time()
    for line in lines:
        body = line[: line.rindex(b',"hash":"')] + b"}"
        entry = json.loads(line)
        if hashlib.sha256(body).hexdigest() != entry["hash"] or before not in (entry["prevHash"], None):
            raise AssertionError(entry["id"])
        key.verify(_signed(body), base64.b64decode(entry["attestation"]["signature"]))
        before = entry["hash"]
    return _per_entry(started, cpu, time.process_time(), ENTRIES)


def _per_entry(started: float, cpu: float, cpu_now: float, entries: int, peak_bytes: int = 0) -> Run:
    """Spreads what went by since a reading of both clocks over so many entries."""
    wall = time.perf_counter() - started
    return Run(wall / entries * 1e6, (cpu_now - cpu) / entries * 1e6, peak_bytes)


def _signed(body: bytes) -> bytes:
    """Returns what is signed of a body, all at one time."""
    kind = f"application/vnd.prometheus.receipt+json;layer=L12;form=v2;signedAt={SIGNED_AT}".encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(body), body)


def _lines(size: int) -> Iterator[bytes]:
    """Makes a sound chain from the parts of its first entry, to be quick."""
    first = Chain().fill(1).lines[0]
    head, tail = first.split(b',"hash":"', 1)
    hash_, after = json.loads(first)["prevHash"].encode(), tail[64:]
    start, end = after.split(json.loads(first)["attestation"]["signature"].encode())
    template = head.replace(hash_, b"%b").split(b',"productId"', 1)[1]
    for number in range(1, size + 1):
        ms = decision(1)["recordedAtMs"] + number
        body = b'{"id":%d,"recordedAtMs":%d,"recordedAtIso":"%b"' % (number, ms, iso(ms).encode())
        body += b',"productId"' + template % hash_ + b"}"
        hash_ = hashlib.sha256(body).hexdigest().encode()
        signature = base64.b64encode(ENTRY_KEY.sign(_signed(body)).signature)
        yield b'%b,"hash":"%b%b%b%b\n' % (body[:-1], hash_, start, signature, end)


def _verify(program: tuple[str, str], chain: Path, trusted: Path, level: str) -> Run:
    """Runs a verifier, start-up included."""
    command = [program[1], str(ROOT / "verifier" / program[0]), str(chain), "--policy", str(trusted), "--level", level]
    peak, started, cpu = 0, time.perf_counter(), _children_cpu_s()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, _memory(process.pid))
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
    if process.returncode:
        raise AssertionError(process.args)
    return _per_entry(started, cpu, _children_cpu_s(), MANY, peak)


def _children_cpu_s() -> float:
    """Returns the processor time of all processes that this one waited for, and of those they waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


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
