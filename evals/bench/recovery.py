"""How long a killed writer is away: from `kill -9` to SERVING, over 100,000 entries, beside reading their file once.

Decisions alone, then turns that began and reported, then turns that were open when the writer died.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from receipt_writer.app import open_service
from receipt_writer.intents import DecisionSpan, Intent, interrupted_draft
from receipt_writer.ledger import Append, Begin
from receipt_writer.storage.index_file import index_path

ENTRIES = 100_000
BATCH = 1_000
ROUNDS = 5
OPEN_TURNS = 10_000
CHAIN = "decisions"


def main() -> int:
    """Prints seconds from the kill to the first SERVING: with and without the kept index, of an empty ledger, of turns.

    Where others use the machine, the CPU time says more than the clock.
    """
    with tempfile.TemporaryDirectory() as full, tempfile.TemporaryDirectory() as empty:
        chains = Path(full) / "receipts" / "chains"
        _fill(Path(full) / "receipts")
        size = (chains / f"{CHAIN}.jsonl").stat().st_size
        _recover(Path(full), 1)  # the first start keeps the index
        read_s = min(_read_s(chains / f"{CHAIN}.jsonl") for _ in range(ROUNDS))
        kept = _recover(Path(full), ROUNDS)
        parsed = _recover(Path(full), 2, without=index_path(chains, CHAIN))
        empty_ledger = _recover(Path(empty), ROUNDS)
    with tempfile.TemporaryDirectory() as home:
        _fill_turns(Path(home) / "receipts", ENTRIES)
        journal = (Path(home) / "receipts" / "chains" / "intents.jsonl").stat().st_size
        _recover(Path(home), 1)
        turns = _recover(Path(home), ROUNDS)
        times = [_open_turns(Path(home), round_number) for round_number in range(3)]
    print(f"{ENTRIES:,} entries, {size / 1e6:.0f} MB    read once {read_s:5.2f} s")
    ratio = kept.seconds / read_s
    print(f"kill to SERVING            {kept}   ({ratio:.0f}x reading; target 2 s, reach 0.5 s)")
    print(f"  without the kept index   {parsed}")
    print(f"  an empty ledger          {empty_ledger}   (the process itself)")
    print(f"  as many turns            {turns}   (journal of {journal / 1e6:.1f} MB)")
    print(f"  {OPEN_TURNS:,} of them open      {sorted(times)[1]}")
    return 0


@dataclass(frozen=True, order=True)
class _Start:
    seconds: float
    cpu_s: float

    def __str__(self) -> str:
        return f"{self.seconds:5.2f} s, {self.cpu_s:5.2f} s of CPU"


def _fill(folder: Path) -> None:
    folder.mkdir()
    service = open_service(folder)
    for start in range(0, ENTRIES, BATCH):
        service.writer.commit_now([Append("L12", _draft(start + number)) for number in range(BATCH)])
    service.store.close()


def _fill_turns(folder: Path, turns: int) -> None:
    folder.mkdir()
    service = open_service(folder)
    for start in range(0, turns, BATCH):
        numbers = range(start, start + BATCH)
        service.writer.commit_now([Begin(_intent(number)) for number in numbers])
        service.writer.commit_now([Append("L10", _report(number)) for number in numbers])
    service.store.close()


def _open_turns(home: Path, round_number: int) -> _Start:
    """Returns how long a start takes that finds as many turns open as may be."""
    service = open_service(home / "receipts")
    first = ENTRIES + round_number * OPEN_TURNS
    for start in range(first, first + OPEN_TURNS, BATCH):
        service.writer.commit_now([Begin(_intent(number)) for number in range(start, start + BATCH)])
    service.store.close()
    started = time.perf_counter()
    writer = _serving(home)
    taken = _Start(time.perf_counter() - started, _cpu_s(writer.pid))
    writer.terminate()
    writer.communicate()
    return taken


def _recover(home: Path, rounds: int, *, without: Path | None = None) -> _Start:
    """Returns the median of several recoveries; `without` is a file that is deleted before each."""
    times = []
    writer = _serving(home)
    for _ in range(rounds):
        time.sleep(1.0)  # what the writer does behind its first answer is not what is measured
        if without:
            without.unlink(missing_ok=True)
        started = time.perf_counter()
        writer.kill()
        writer.wait()
        writer = _serving(home)
        times.append(_Start(time.perf_counter() - started, _cpu_s(writer.pid)))
    writer.terminate()
    writer.communicate()
    return sorted(times)[len(times) // 2]


def _serving(home: Path) -> subprocess.Popen[bytes]:
    """Starts a writer; returns when it says SERVING."""
    target = f"unix:{home}/w.sock"
    command = [sys.executable, "-m", "receipt_writer", "serve", "--home", str(home), "--listen", target]
    writer = subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    assert writer.stderr is not None
    while b"ready:" not in (line := writer.stderr.readline()):
        if not line:
            raise RuntimeError("The writer did not start.")
    with grpc.insecure_channel(target) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        answer = stub.Check(health_pb2.HealthCheckRequest(), wait_for_ready=True, timeout=30)
    if answer.status != health_pb2.HealthCheckResponse.SERVING:
        raise RuntimeError(f"The writer answered {answer.status}.")
    return writer


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _read_s(path: Path) -> float:
    started = time.perf_counter()
    with path.open("rb", buffering=0) as file:
        while file.read(1 << 20):
            pass
    return time.perf_counter() - started


def _draft(number: int) -> dict[str, object]:
    return {
        "productId": "prometheus-agent",
        "specId": "reply-drafter",
        "specHash": "a" * 64,
        "inputHash": os.urandom(32).hex(),
        "outputCanonicalHash": os.urandom(32).hex(),
        "category": "drafter",
        "modelIdentity": {"provider": "offline", "model": "offline-rules", "version": "1"},
        "latencyMs": number % 900,
        "schemaValid": True,
        "reviewerVerdict": None,
        "fallbackTriggered": False,
        "turnId": f"t_{number // 3:026d}",
        "callId": f"c_{number:026d}",
        "exitState": "ok",
        "commitment": "hmac-sha256",
    }


def _intent(number: int) -> Intent:
    return Intent(f"t_{number:026d}", f"s_{number // 9:026d}", "cli", "prometheus-agent", "a" * 64, "sha256", "rules")


def _report(number: int) -> dict[str, object]:
    began = interrupted_draft(_intent(number), DecisionSpan())
    return began | {"outcome": "replied", "iterations": 1, "replyHash": os.urandom(32).hex()}


if __name__ == "__main__":
    sys.exit(main())
