"""The server's end of stdin: every request gets an answer, and a signal ends the input like a closed pipe does.

The SDK drops a line that it cannot parse, for example one with half of a surrogate pair in it, and the caller waits
until its timeout. Such a line, and one over 4 MiB (the limit over HTTP too), is replaced by a request with the same id
and the method `UNREADABLE_METHOD`, which `mcp_errors` refuses in words. A signal is turned into end of input because
the SDK's reader thread cannot be interrupted, while end of input closes the lifespan and the process in order.
"""

import io
import json
import os
import re
import select
import signal
import sys
from collections.abc import Callable
from typing import Any

from service_runtime.shutdown import STOPPING, leave_within

UNREADABLE_METHOD = "prometheus/unreadable"
_LINE_BYTES = 4 * 1024 * 1024
_EDGE_BYTES = 4096
_MEMBER = rb'\s*"\w+"\s*:\s*(?:"(?:[^"\\]|\\.){0,200}+"|-?\d{1,30}+)\s*'
_FIRST, _LAST = re.compile(rb"\s*\{((?:%s,)*)" % _MEMBER), re.compile(rb"((?:,%s)*)\}\s*\Z" % _MEMBER)
_LEAVE_S = 1.5  # end of input to end of process is promised within 2 s


def install() -> None:
    """Put the guard between the SDK and file descriptor 0, and let SIGTERM and SIGINT end the input.

    Descriptor 0 itself becomes the null device, so no child process can read the protocol. Not on Windows, where
    nothing can wait for a pipe and a signal at once: there the SDK reads by itself.
    """
    if sys.platform == "win32":
        return
    from mcp.types import jsonrpc_message_adapter

    signals, writable = os.pipe()
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable)  # written by whichever thread a signal hits; a handler waits for the main thread
    for number in STOPPING:
        signal.signal(number, lambda *_: None)
    wire = _Wire(os.dup(0), signals)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    lines = _Lines(wire)
    lines.parse = lambda line: jsonrpc_message_adapter.validate_json(line, by_name=False)
    sys.stdin = io.TextIOWrapper(lines)  # the SDK takes its buffer


def readable(line: bytes, parse: Callable[[bytes], object]) -> bytes:
    """Return the line, or a request that stands for it when the SDK could not parse it but an id can be found."""
    try:
        parse(line)
    except ValueError:
        return _stand_in(line) or line
    return line


def _stand_in(line: bytes) -> bytes | None:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        request = _edges(line)
    if not isinstance(request, dict) or not request.keys() >= {"id", "method"}:
        return None
    params = request.get("params")
    meta = params.get("_meta", {}) if isinstance(params, dict) else {}
    request = {"jsonrpc": "2.0", "id": request["id"], "method": UNREADABLE_METHOD, "params": {"_meta": meta}}
    return json.dumps(request, ensure_ascii=False).encode(errors="replace") + b"\n"


def _edges(line: bytes) -> Any:
    """Return the plain members at both ends of an object that is too much for a parser: there its id and method are."""
    ends = (_FIRST.match(line[:_EDGE_BYTES]), _LAST.search(line[-_EDGE_BYTES:]))
    members = [end[1].strip(b", \t\r\n") for end in ends if end]
    try:
        return json.loads(b"{%s}" % b",".join(filter(None, members)))
    except ValueError:
        return None


class _Wire(io.RawIOBase):
    """The protocol's input, which ends by itself or with a signal."""

    def __init__(self, wire: int, signals: int) -> None:
        self._wire, self._signals, self._ended = wire, signals, False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = 0 if self._ended or self._told_to_stop() else os.readv(self._wire, [buffer])
        if not count and not self._ended:
            self._ended = True
            leave_within(_LEAVE_S)
        return count

    def _told_to_stop(self) -> bool:
        while True:
            ready, _, _ = select.select([self._wire, self._signals], [], [])
            if self._signals in ready and not STOPPING.isdisjoint(os.read(self._signals, 64)):
                return True
            if self._wire in ready:
                return False


class _Lines(io.BufferedReader):
    """Hands out one line at a time, each of them readable."""

    parse: Callable[[bytes], object]

    def read1(self, _: int = -1) -> bytes:
        line = self.readline(_LINE_BYTES + 1)
        if len(line) > _LINE_BYTES and not line.endswith(b"\n"):
            line = line[:_EDGE_BYTES] + b"\0" + self._last_of_line()  # NUL: no JSON by accident
        return readable(line, self.parse)

    def _last_of_line(self) -> bytes:
        last = b""
        while not last.endswith(b"\n") and (more := self.readline(_LINE_BYTES)):
            last = (last + more)[-_EDGE_BYTES:]
        return last
