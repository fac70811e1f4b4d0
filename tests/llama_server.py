"""A llama.cpp server of its own for the tests: the real program, a model of some kilobytes, a port that was free.

`LLAMA_SERVER` names the program, else `llama-server` on the PATH is it, else the same server from the wheel xllamacpp,
which `make build/peers/llama/.installed` puts apart from what we depend on.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO, cast

WHY_NOT = (
    "no llama.cpp server is there: put llama-server on the PATH, name it in LLAMA_SERVER, "
    "or run make build/peers/llama/.installed"
)
_PACKAGED = Path(__file__).parents[1] / "build" / "peers" / "llama" / "bin" / "python"
_AS_A_PROGRAM = """
import sys, threading, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.port = sys.argv[1], int(sys.argv[2]), 0
params.hostnames, params.n_parallel, params.warmup, params.cpuparams.n_threads = ["127.0.0.1"], 1, False, 1
server = xllamacpp.Server(params)
threading.Event().wait()
"""
_LISTENING = re.compile(r"listening on (http://127\.0\.0\.1:\d+)")


@dataclass(frozen=True)
class LlamaServer:
    """A running server and its address."""

    url: str
    process: subprocess.Popen[str]

    def kill(self) -> None:
        """Ends it in the middle of whatever it says."""
        self.process.kill()
        self.process.wait()


def found_program() -> list[str] | None:
    """Returns the beginning of the command line that starts a server, none when no server is there."""
    if named := os.environ.get("LLAMA_SERVER") or shutil.which("llama-server"):
        return [named]
    return [str(_PACKAGED), "-c", _AS_A_PROGRAM] if _PACKAGED.exists() else None


@contextmanager
def llama_server(program: Sequence[str], model: Path, context_tokens: int) -> Iterator[LlamaServer]:
    """Starts a server on a model and waits until it listens."""
    given = [str(model), str(context_tokens)]
    if len(program) == 1:
        given = ["-m", given[0], "-c", given[1], "--port", "0", "-np", "1", "-t", "1", "--no-warmup"]
    # A log that nobody reads would stop it once the pipe is full.
    with subprocess.Popen(
        [*program, *given], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        log = cast("IO[str]", process.stdout)
        reader = Thread(target=deque, args=(log, 0))
        try:
            url = _address(log)
            reader.start()
            yield LlamaServer(f"{url}/v1", process)
        finally:
            process.kill()
            if reader.ident is not None:
                reader.join()


def _address(log: IO[str]) -> str:
    """Reads the log up to the address; what was said before is told when it ends without one."""
    said = []
    for line in log:
        said.append(line)
        if listening := _LISTENING.search(line):
            return listening[1]
    raise RuntimeError(f"the llama.cpp server ended: {''.join(said[-5:])}")
