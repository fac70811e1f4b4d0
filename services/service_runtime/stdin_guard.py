"""The server's end of stdin: every request gets an answer, and a signal ends the input like a closed pipe does.

The SDK drops a line that it cannot parse, for example one with half of a surrogate pair in it, and the caller waits
until its timeout. Such a line is replaced by a request with the same id and the method `UNREADABLE_METHOD`, which
`mcp_errors` refuses in words. A signal is turned into end of input because the SDK's reader thread cannot be
interrupted, while end of input closes the lifespan and the process in order.
"""

import io
import json
import os
import select
import signal
import sys
from collections.abc import Callable
from typing import Any, cast

from service_runtime.shutdown import leave_within

UNREADABLE_METHOD = "prometheus/unreadable"
_STOPPING = frozenset({signal.SIGTERM, signal.SIGINT})
_LEAVE_S = 1.5  # end of input to end of process is promised within 2 s


def install() -> None:
    """Put the guard between the SDK and file descriptor 0, and let SIGTERM and SIGINT end the input.

    Descriptor 0 itself becomes the null device, so no child process can read the protocol.
    """
    from mcp.types import jsonrpc_message_adapter

    wire = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)  # written by whichever thread the signal hits; a handler would wait for the main thread
    for number in _STOPPING:
        signal.signal(number, lambda *_: None)
    lines = _Lines(wire, woken, lambda line: jsonrpc_message_adapter.validate_json(line, by_name=False))
    sys.stdin = io.TextIOWrapper(io.BufferedReader(lines), encoding="utf-8", errors="replace")


def readable(line: bytes, parse: Callable[[bytes], object]) -> bytes:
    """Return the line, or a request that stands for it when the SDK could not parse it but an id can be found."""
    try:
        parse(line)
    except ValueError:
        request = _loosely(line)
        if "id" not in request or "method" not in request:
            return line
        params = request.get("params")
        meta = params.get("_meta", {}) if isinstance(params, dict) else {}
        stand_in = {"jsonrpc": "2.0", "id": request["id"], "method": UNREADABLE_METHOD, "params": {"_meta": meta}}
        return json.dumps(stand_in, ensure_ascii=False).encode(errors="replace") + b"\n"
    return line


def _loosely(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


class _Lines(io.RawIOBase):
    """The wire, line by line, until it ends or a signal came."""

    def __init__(self, wire: int, woken: int, parse: Callable[[bytes], object]) -> None:
        self._wire, self._woken, self._parse = wire, woken, parse
        self._partial = b""
        self._ready = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            chunk = self._receive()
            whole, newline, self._partial = (self._partial + chunk).rpartition(b"\n")
            lines = (whole + newline).splitlines(keepends=True) if newline else []
            if not chunk:
                lines, self._partial = [self._partial], b""
            self._ready = b"".join(readable(line, self._parse) for line in lines)
            if not chunk:
                break
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count

    def _receive(self) -> bytes:
        if not self._ended:
            chunk = b"" if self._told_to_stop() else os.read(self._wire, 65536)
            if chunk:
                return chunk
            self._ended = True
            leave_within(_LEAVE_S)
        return b""

    def _told_to_stop(self) -> bool:
        """Wait for input or for a signal that stops the process."""
        while sys.platform != "win32":  # select takes no pipes there, and there are no such signals
            ready, _, _ = select.select([self._wire, self._woken], [], [])
            if self._woken in ready and not _STOPPING.isdisjoint(os.read(self._woken, 64)):
                return True
            if self._wire in ready:
                return False
        return False
