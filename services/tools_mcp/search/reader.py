"""The page reader as a process of its own: a page that hangs or crashes its reader costs one answer, not the server.

The process gets no settings, so no key is near a stranger's bytes; on POSIX systems it is bounded in memory and CPU
time and cannot write a file. `python -m tools_mcp.search.reader` reads one `Raw` from its input and answers one
`Reading`.
"""

import asyncio
import contextlib
import dataclasses
import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from tools_mcp.search.reading import Kind, Raw, Reading, read

_MAIN_TEXT_S = 8.0
_LEAST_S = 3.0
_MEMORY_BYTES = 1_500_000_000
_CPU_S = 20
_AT_ONCE = 4
_LIBRARIES: dict[Kind, tuple[str, ...]] = {"html": ("trafilatura", "lxml.html"), "pdf": ("pypdf",), "text": ()}
_PASSED_ON = ("PATH", "PYTHONPATH", "SYSTEMROOT", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "LANG")
UNREADABLE = Reading(problem="cannot be read")
TOO_LONG = Reading(problem="took too long to read")


class PageReader(Protocol):
    """What turns the bytes of a page into text."""

    async def read(self, raw: Raw, timeout_s: float) -> Reading:
        """Read a page, in at most `timeout_s` seconds; never raises for what the page holds."""
        ...


@dataclass(frozen=True)
class ReaderProcess:
    """Starts a process for each page, a few at a time."""

    clock: Callable[[], float] = time.monotonic
    main_text_s: float = _MAIN_TEXT_S
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE), compare=False)

    async def read(self, raw: Raw, timeout_s: float) -> Reading:
        """Read a page; where the search for its main text takes too long, take all of its text instead."""
        deadline = self.clock() + timeout_s
        async with self._places:
            left = deadline - self.clock()
            if raw.kind != "html":
                return await _ask(raw, left)
            found = await _ask(raw, min(self.main_text_s, left - _LEAST_S)) if left > _LEAST_S else TOO_LONG
            if not found.problem:
                return found
            return await _ask(dataclasses.replace(raw, whole=True), deadline - self.clock())


async def _ask(raw: Raw, timeout_s: float) -> Reading:
    if timeout_s <= 0:
        return TOO_LONG
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", __name__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
    )
    try:
        answer, _ = await asyncio.wait_for(process.communicate(_packed(raw)), timeout_s)
    except TimeoutError:
        return TOO_LONG
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()  # what it still said: a pipe not read to its end outlives the event loop
    try:
        return Reading(**json.loads(answer))
    except (ValueError, TypeError):  # it died in the middle
        return UNREADABLE


def _packed(raw: Raw) -> bytes:
    told = {name: value for name, value in vars(raw).items() if name != "body"}
    return json.dumps(told).encode() + b"\n" + raw.body


def main() -> None:
    """Read one page from standard input and write what it says to standard output."""
    told = json.loads(sys.stdin.buffer.readline())
    for name in _LIBRARIES[told["kind"]]:  # before the bounds, so that Python may keep what it compiles of them
        importlib.import_module(name)
    _bound()
    reading = read(Raw(body=sys.stdin.buffer.read(), **told))
    sys.stdout.buffer.write(json.dumps(dataclasses.asdict(reading)).encode())


def _bound() -> None:
    if sys.platform == "win32":
        return
    import resource

    for kind, most in (
        (resource.RLIMIT_AS, _MEMORY_BYTES),
        (resource.RLIMIT_CPU, _CPU_S),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        with contextlib.suppress(ValueError, OSError):  # a system that does not have this limit
            resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


if __name__ == "__main__":
    main()
