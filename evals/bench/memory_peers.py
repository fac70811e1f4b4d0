"""The memory server beside three that people use, in one run: time of an add and of a search as the store grows.

* `@modelcontextprotocol/server-memory` over stdio, with the same client as ours. Its search is a substring test of the
  whole query, so it is asked for one word, the rarest: a question finds nothing there, and a frequent word thousands.
* `mem0ai` in its own process and interpreter, with local storage, no inference, and vectors handed to it ready made, so
  that no model's time counts. Its own times are taken, no pipe.
* `basic-memory` over stdio, with the same client as ours; `memory_basic_memory` says how.

`make bench-peers` installs them below `build/peers`; one that is not there is left out and named. The load average is
printed at the beginning and end of each size: beside other work only the ratios within one size mean something.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import IO, Any, Self, cast
from zoneinfo import ZoneInfo

from evals.bench import memory_basic_memory
from evals.bench.memory_texts import invented_texts, questions
from memory_mcp import intake
from memory_mcp.indexing import index_text
from memory_mcp.memory import MemoryService
from memory_mcp.normal_form import body_hash
from memory_mcp.search import MemorySearch, Request
from memory_mcp.storage.protocol import NewMemory
from memory_mcp.storage.sqlite import FILE_NAME, open_sqlite

PEERS = Path(__file__).parents[2] / "build" / "peers"
NODE_SERVER = PEERS / "node_modules" / "@modelcontextprotocol" / "server-memory" / "dist" / "index.js"
MEM0_PYTHON = PEERS / "mem0" / "bin" / "python"
WORKER = Path(__file__).parent / "memory_mem0_worker.py"
SCOPE = "project:bench"
DIMENSIONS = 384
_ADDS, _SEARCHES = 20, 40
_BATCH = 1_000  # what mem0 is filled with at a time
_QUICK = 10_000  # up to here nobody takes minutes
_ANSWER_S = 600  # at 100,000 memories an answer of the reference server took more than a minute
_ZONE = ZoneInfo("UTC")


@dataclass(frozen=True)
class Times:
    """Milliseconds of each add and each search, and what else is to be said."""

    adds: Sequence[float]
    searches: Sequence[float]
    remark: str = ""


@dataclass(frozen=True)
class Work:
    """The same work for everyone: what is there already, what is added, what is asked."""

    known: Sequence[str]
    added: Sequence[str]
    asked: Sequence[str]


def print_growth(sizes: Sequence[int]) -> None:
    """Measures and prints everyone at each size, as ratios to ours over the same way in."""
    for size in sizes:
        texts = invented_texts(size + _ADDS)
        work = Work(texts[:size], texts[size:], questions(texts[:size], _SEARCHES))
        _say(f"growth, {size:,} memories (ms p50 / p95, and p50 as a ratio to ours), {_load()}")
        inside = in_the_service(work)
        outside = asyncio.run(over_stdio(work))
        _print("ours, in the service", inside, inside)
        _print("ours, over MCP", outside, outside)
        _print_peer("server-memory, over MCP", partial(server_memory, work), outside)
        if size > _QUICK and MEM0_PYTHON.exists():
            _say("  mem0 takes minutes now: it reads every vector in a search, and is filled a thousand at a time")
        _print_peer("mem0, in its process", partial(mem0, work), inside)
        if size > memory_basic_memory.LARGEST and memory_basic_memory.COMMAND.exists():
            _say(f"  {'basic-memory, over MCP':<24} left out: {memory_basic_memory.TOO_MANY}")
        else:
            absent = memory_basic_memory.NOT_INSTALLED
            _print_peer("basic-memory, over MCP", partial(basic_memory, work), outside, absent)
        _say(f"  done, {_load()}")


def _say(line: str) -> None:
    print(line, flush=True)  # whoever waits for minutes, or reads a log, sees where it is


def _load() -> str:
    return f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def _print(name: str, times: Times, ours: Times) -> None:
    cells = [
        f"{what} {_at(mine, 0.5):8.2f} / {_at(mine, 0.95):8.2f}  {_at(mine, 0.5) / _at(base, 0.5):7.1f}x"
        for what, mine, base in (("add", times.adds, ours.adds), ("search", times.searches, ours.searches))
    ]
    _say(f"  {name:<24} {'   '.join(cells)}{times.remark}")


def _print_peer(
    name: str, measure: Callable[[], Times | None], ours: Times, absent: str = "not installed (make bench-peers)"
) -> None:
    """Measures and prints a peer; one that breaks off is named with its reason, and the rest is measured."""
    from mcp import MCPError

    times, why = None, f"left out: {absent}"
    try:
        times = measure()
    except* (MCPError, RuntimeError, TimeoutError) as errors:
        why = f"gave up: {_reason(errors)}"
    if times is None:
        _say(f"  {name:<24} {why}")
    else:
        _print(name, times, ours)


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or "it took too long"


def filled(folder: Path, texts: Sequence[str]) -> None:
    """Fills a store quickly, many memories a transaction."""
    store = open_sqlite(folder / FILE_NAME)
    origin, at_ms = intake.origin("bench"), time.time_ns() // 1_000_000
    for start in range(0, len(texts), 5_000):
        with store.writing() as writer:
            for number, text in enumerate(texts[start : start + 5_000], start):
                content = intake.content(_ZONE, body=text, scope=SCOPE)
                place = f"episode {number // 20}"
                hashed, indexed = body_hash(text), index_text(content)
                writer.insert(NewMemory(f"mem_{number:020x}", content, hashed, origin, at_ms, indexed, place))
    store.close()


def in_the_service(work: Work) -> Times:
    """Measures ours without a protocol around it."""
    with tempfile.TemporaryDirectory() as folder:
        filled(Path(folder), work.known)
        store = open_sqlite(Path(folder) / FILE_NAME)
        search = MemorySearch(store, _ZONE, lambda: "rt")
        ids = (f"mem_{number:020x}" for number in count(len(work.known)))
        service = MemoryService(store, search, _ZONE, lambda: time.time_ns() // 1_000_000, lambda: next(ids))
        origin = intake.origin("bench")
        adds = [
            _timed(partial(service.remember, intake.content(_ZONE, body=text, scope=SCOPE), origin))
            for text in work.added
        ]
        asked = [_timed(partial(search.search, Request(query, scope=SCOPE))) for query in work.asked]
        store.close()
    return Times(adds, asked)


async def over_stdio(work: Work) -> Times:
    """Measures ours as a client over stdio meets it."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "memory"
        folder.mkdir(mode=0o700)
        filled(folder, work.known)
        environ = {**os.environ, "PROMETHEUS_HOME": home, "PROMETHEUS_MEMORY_MIRROR": "off"}
        return await _through_tools(
            [sys.executable, "-m", "memory_mcp"],
            environ,
            work,
            lambda text: ("memory_remember", {"body": text, "scope": SCOPE}),
            lambda query: ("memory_search", {"query": query, "scope": SCOPE}),
        )


def server_memory(work: Work) -> Times | None:
    """Measures the reference server, none when it is not installed."""
    if not NODE_SERVER.exists() or shutil.which("node") is None:
        return None
    texts_with = Counter(word for text in work.known for word in set(text.split()))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.jsonl"
        lines = (json.dumps({"type": "entity", **_entity(text)}) for text in work.known)
        path.write_text("\n".join(lines), encoding="utf-8")
        environ = {**os.environ, "MEMORY_FILE_PATH": str(path)}
        return asyncio.run(
            _through_tools(
                ["node", str(NODE_SERVER)],
                environ,
                work,
                lambda text: ("create_entities", {"entities": [_entity(text)]}),
                lambda query: ("search_nodes", {"query": min(query.split(), key=lambda word: texts_with[word])}),
            ),
        )


def _entity(text: str) -> dict[str, Any]:
    return {"name": text[:60], "entityType": "fact", "observations": [text]}


async def _through_tools(
    command: Sequence[str],
    environ: dict[str, str],
    work: Work,
    add: Callable[[str], tuple[str, dict[str, Any]]],
    search: Callable[[str], tuple[str, dict[str, Any]]],
) -> Times:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(command=command[0], args=list(command[1:]), env=environ)
    with tempfile.TemporaryFile("w") as log:
        async with Client(stdio_client(server, log), read_timeout_seconds=_ANSWER_S) as client:
            await client.call_tool(*search(work.asked[0]))
            adds = [await _timed_call(partial(client.call_tool, *add(text))) for text in work.added]
            asked = [await _timed_call(partial(client.call_tool, *search(query))) for query in work.asked]
    return Times(adds, asked)


def basic_memory(work: Work) -> Times | None:
    """Measures basic-memory, none when it is not installed.

    Raises:
        TimeoutError: it was not ready after half an hour.
    """
    return asyncio.run(_through_basic_memory(work)) if memory_basic_memory.COMMAND.exists() else None


async def _through_basic_memory(work: Work) -> Times:
    known = {f"note {number}": text for number, text in enumerate(work.known)}
    async with memory_basic_memory.basic_memory(known) as peer:
        added = [await peer.add(f"added {number}", text) for number, text in enumerate(work.added)]
        asked = [(await peer.search(query))[0] for query in work.asked]
    found = sum(at_once for _, at_once in added)
    remark = f"   {found} of {len(added)} found at once; ready after {peer.indexing_s:.0f} s"
    return Times([took_ms for took_ms, _ in added], asked, remark)


def mem0(work: Work) -> Times | None:
    """Measures mem0 by its own clock, none when it is not installed."""
    if not MEM0_PYTHON.exists():
        return None
    with Mem0() as peer:
        started = time.perf_counter()
        for start in range(0, len(work.known), _BATCH):
            part = work.known[start : start + _BATCH]
            peer.bulk(part, [spread(text) for text in part])
        remark = f"   filled in {time.perf_counter() - started:.0f} s"
        adds = [peer.add(text, spread(text)) for text in work.added]
        asked = [peer.search(query, spread(query))[0] for query in work.asked]
    return Times(adds, asked, remark)


def spread(text: str) -> list[float]:
    """Returns a vector for a text without a model: the time of a search does not depend on what a vector means."""
    import numpy as np

    return cast("list[float]", np.random.default_rng(abs(hash(text))).standard_normal(DIMENSIONS).round(4).tolist())


class Mem0:
    """mem0 in a process of its own interpreter, spoken to in JSON lines."""

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory()
        command = [str(MEM0_PYTHON), str(WORKER), self._folder.name]
        pipe = subprocess.PIPE
        self._log = Path(self._folder.name) / "log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)
        self._folder.cleanup()

    def bulk(self, texts: Sequence[str], vectors: Sequence[Sequence[float]], user: str = "bench") -> None:
        """Stores many texts without measuring."""
        self._ask({"do": "bulk", "texts": list(texts), "vectors": list(vectors), "user": user})

    def add(self, text: str, vector: Sequence[float], user: str = "bench") -> float:
        """Stores a text and returns the milliseconds it took."""
        return float(self._ask({"do": "add", "text": text, "vector": list(vector), "user": user})["ms"])

    def search(self, query: str, vector: Sequence[float], user: str = "bench") -> tuple[float, list[str]]:
        """Returns the milliseconds of a search and the texts found, best first."""
        answer = self._ask({"do": "search", "text": query, "vector": list(vector), "user": user})
        return float(answer["ms"]), list(answer["found"])

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        asked, told = cast("IO[str]", self._process.stdin), cast("IO[str]", self._process.stdout)
        asked.write(json.dumps(request) + "\n")
        asked.flush()
        line = told.readline()
        if not line:
            raise RuntimeError(f"mem0 ended: {self._log.read_text()[-500:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


async def _timed_call(action: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await action()
    return (time.perf_counter() - started) * 1000


def _at(times: Sequence[float], share: float) -> float:
    return statistics.quantiles(times, n=20)[round(share * 20) - 1]
