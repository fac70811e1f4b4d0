"""The receipt writer over gRPC on a Unix socket, beside what the disk and the signature alone take here."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import grpc.aio
from nacl.signing import SigningKey

from prometheus.receipts.v1 import receipts_pb2 as wire
from prometheus.receipts.v1.receipts_pb2_grpc import ReceiptWriterStub

SYNCS = 300
ALONE = 300
CALLERS = 64
EACH = 60
BYTES = b"x" * 1_100


def main() -> int:
    """Prints durable appends of one caller and of 64, and the writer's CPU per entry."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sync_ms = statistics.median(_sync_times(folder / "raw"))
        target = f"unix:{folder}/w.sock"
        command = [sys.executable, "-m", "receipt_writer", "serve", "--home", name, "--listen", target]
        command.append("--exit-with-stdin")
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as writer:
            figures = asyncio.run(_measure(target, writer.pid))
    print(f"raw fdatasync of 1.1 kB     {sync_ms:7.2f} ms p50;  Ed25519 signature {_sign_us():.0f} us")
    more_ms = figures.alone_ms - sync_ms
    print(f"one caller                  {figures.alone_ms:7.2f} ms p50   (fdatasync + {more_ms:.2f} ms)")
    print(
        f"64 callers, unary           {figures.rate:7.0f} durable entries/s   "
        f"({figures.rate * figures.alone_ms / 1000:.1f}x one caller)"
    )
    print(f"writer CPU an entry         {figures.cpu_us:7.0f} us")
    return 0


@dataclass(frozen=True)
class _Figures:
    alone_ms: float
    rate: float
    cpu_us: float


async def _measure(target: str, writer_pid: int) -> _Figures:
    async with grpc.aio.insecure_channel(target) as channel:
        stub = ReceiptWriterStub(channel)  # type: ignore[no-untyped-call]  # generated
        await stub.GetHead(wire.GetHeadRequest(layer=wire.LAYER_L10_TURNS), wait_for_ready=True, timeout=30)
        alone = [await _append(stub, number) for number in range(ALONE)]
        cpu_s, started = _cpu_s(writer_pid), time.perf_counter()
        await asyncio.gather(*(_caller(stub, number) for number in range(CALLERS)))
        seconds, used_s = time.perf_counter() - started, _cpu_s(writer_pid) - cpu_s
    entries = CALLERS * EACH
    return _Figures(statistics.median(alone), entries / seconds, used_s / entries * 1e6)


def _sync_times(path: Path) -> list[float]:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    times = []
    for _ in range(SYNCS):
        started = time.perf_counter()
        os.write(descriptor, BYTES)
        os.fdatasync(descriptor)
        times.append((time.perf_counter() - started) * 1000)
    os.close(descriptor)
    return times


def _sign_us() -> float:
    key = SigningKey.generate()
    started = time.process_time()
    for _ in range(2_000):
        key.sign(BYTES)
    return (time.process_time() - started) / 2_000 * 1e6


async def _caller(stub: ReceiptWriterStub, number: int) -> None:
    for each in range(EACH):
        await _append(stub, 1_000_000 + number * EACH + each)


async def _append(stub: ReceiptWriterStub, number: int) -> float:
    draft = wire.DecisionDraft(
        product_id="prometheus-agent",
        spec_id="reply-drafter",
        spec_hash="a" * 64,
        input_hash="b" * 64,
        output_canonical_hash="c" * 64,
        category="drafter",
        model_identity=wire.ModelIdentity(provider="offline", model="offline-rules", version="1"),
        latency_ms=3,
        schema_valid=True,
        call_id=f"c_{number:026d}",
        exit_state="ok",
        commitment="hmac-sha256",
    )
    started = time.perf_counter()
    await stub.AppendDecision(wire.AppendDecisionRequest(draft=draft))
    return (time.perf_counter() - started) * 1000


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
