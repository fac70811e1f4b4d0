"""The receipt writer over gRPC on a Unix socket, beside what the disk and the signature alone take here.

64 callers are 64 coroutines in this process, each of which waits for its answer before it sends again: the client has
one core, the writer the other. CPU is the writer's own, from its process times.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

import grpc.aio
import uvloop
from nacl.signing import SigningKey

from evals.bench.append_callers import Caller, StreamCaller, UnaryCaller
from evals.bench.ledger_peers import print_peers
from prometheus.receipts.v1 import receipts_pb2 as wire
from prometheus.receipts.v1.receipts_pb2_grpc import ReceiptWriterStub

SYNCS = 300
ALONE = 300
CALLERS = 64
EACH = 150
WATCHERS = 20
WATCHED = 200
WARM_UP = 5
BYTES = b"x" * 1_100
VERIFIER = Path(__file__).parents[2] / "verifier" / "verify.py"


@dataclass(frozen=True)
class Load:
    """What a number of callers got: entries a second, the writer's CPU for each, and what one waited."""

    rate: float
    cpu_us: float
    p50_ms: float
    p99_ms: float


def main() -> int:
    """Prints durable appends of one caller and of 64, over streams and unary calls, and the writer's CPU per entry."""
    with tempfile.TemporaryDirectory() as name:
        sync_ms = statistics.median(_sync_times(Path(name) / "raw"))
        client = asyncio.Runner(loop_factory=uvloop.new_event_loop)  # as the writer itself has it
        with serving(Path(name)) as (target, pid), client:
            loads = client.run(_measure(target, pid))
        verify_rate = _verify_rate(Path(name) / "receipts")
    sign_us = _sign_us()  # what a busy machine does to it, it does to the writer's CPU as well
    print(f"raw fdatasync of 1.1 kB     {sync_ms:7.2f} ms p50;  Ed25519 signature {sign_us:.0f} us")
    for kind in ("stream", "unary"):
        alone, many = loads[f"one caller, {kind}"], loads[f"{CALLERS} callers, {kind}"]
        print(
            f"one caller, {kind:6}          {alone.p50_ms:7.2f} ms p50   (fdatasync {alone.p50_ms - sync_ms:+.2f} ms)"
        )
        print(
            f"{CALLERS} callers, {kind:6}         {many.rate:7.0f} durable entries/s, p50 {many.p50_ms:.1f} ms, "
            f"p99 {many.p99_ms:.1f} ms   ({many.rate / alone.rate:.1f}x one caller, "
            f"{many.rate * sync_ms / 1000:.1f}x one fdatasync each)"
        )
        print(f"writer CPU an entry         {many.cpu_us:7.0f} us   ({many.cpu_us / sign_us:.1f}x a signature)")
    print(f"verify.py, every signature  {verify_rate:7.0f} entries/s")
    many, alone, watched = loads[f"{CALLERS} callers, stream"], loads["one caller, stream"], loads["watched"]
    print(
        f"one caller, {WATCHERS} watching     {watched.p50_ms:7.2f} ms p50, {watched.rate:.0f} durable entries/s   "
        f"({watched.rate / alone.rate:.2f}x unwatched), writer CPU an entry {watched.cpu_us:.0f} us"
    )
    print_peers(many.rate, alone.rate, verify_rate)
    return 0


@contextmanager
def serving(home: Path) -> Iterator[tuple[str, int]]:
    """Run a writer over an empty home; give its target and its process id."""
    target = f"unix:{home}/w.sock"
    command = [sys.executable, "-m", "receipt_writer", "serve", "--home", str(home), "--listen", target]
    command.append("--exit-with-stdin")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as writer:
        yield target, writer.pid


async def _measure(target: str, pid: int) -> dict[str, Load]:
    numbers = count(1)
    loads = {}
    async with grpc.aio.insecure_channel(target) as channel:
        stub = ReceiptWriterStub(channel)  # type: ignore[no-untyped-call]  # generated
        await stub.GetHead(wire.GetHeadRequest(layer=wire.LAYER_L10_TURNS), wait_for_ready=True, timeout=30)
        for kind, caller in (("stream", StreamCaller), ("unary", UnaryCaller)):
            loads[f"one caller, {kind}"] = await _load(partial(caller, channel, numbers), pid, 1, ALONE)
            loads[f"{CALLERS} callers, {kind}"] = await _load(partial(caller, channel, numbers), pid, CALLERS, EACH)
        async with _watching(target, WARM_UP + WATCHED):
            loads["watched"] = await _load(partial(StreamCaller, channel, numbers), pid, 1, WATCHED)
    return loads


async def _load(make: Callable[[int], Caller], pid: int, callers: int, each: int) -> Load:
    """Let callers append one after another; what they do to warm up is not measured."""
    times: list[float] = []
    ready, begin = asyncio.Semaphore(0), asyncio.Event()

    async def run(caller: Caller) -> None:
        async with caller:
            for _ in range(WARM_UP):
                await caller.append()
            ready.release()
            await begin.wait()
            for _ in range(each):
                started = time.perf_counter()
                await caller.append()
                times.append((time.perf_counter() - started) * 1000)

    running = [asyncio.create_task(run(make(WARM_UP + each))) for _ in range(callers)]
    for _ in running:
        await ready.acquire()
    cpu_s, started = _cpu_s(pid), time.perf_counter()
    begin.set()
    await asyncio.gather(*running)
    seconds, used_s = time.perf_counter() - started, _cpu_s(pid) - cpu_s
    entries = callers * each
    times.sort()
    return Load(entries / seconds, used_s / entries * 1e6, times[len(times) // 2], times[len(times) * 99 // 100])


@asynccontextmanager
async def _watching(target: str, entries: int) -> AsyncIterator[None]:
    """Let a process of its own follow the chain, many times over, while so many entries are appended."""
    command = [sys.executable, "-m", "evals.bench.watchers", target, str(WATCHERS), str(entries)]
    # uvloop's own way forks, of which gRPC warns.
    watchers = await asyncio.to_thread(partial(subprocess.Popen, command, stdout=subprocess.PIPE))
    assert watchers.stdout is not None
    await asyncio.to_thread(watchers.stdout.readline)
    yield
    if await asyncio.to_thread(watchers.wait):
        raise RuntimeError("The watchers missed an entry.")


def _verify_rate(folder: Path) -> float:
    """Returns the entries a second that the Python verifier judges in full, its start included."""
    chain, policy = folder / "chains" / "decisions.jsonl", folder / "policy-decisions.json"
    started = time.perf_counter()
    subprocess.run([sys.executable, VERIFIER, chain, "--policy", policy], check=True, capture_output=True)
    return chain.read_bytes().count(b"\n") / (time.perf_counter() - started)


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


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
