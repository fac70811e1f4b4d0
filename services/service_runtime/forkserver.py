"""The fork server: imports the heavy SDKs once, then forks a server in milliseconds for each `service_runtime.launch`.

`python -m service_runtime.forkserver --socket PATH --allow MODULE … --preload MODULE …`. It serves until its own
standard input ends, which is how a host that was killed leaves nothing behind; then its servers are told to stop too.
The socket (0600) takes connections before the imports are done, so a launch at that moment waits instead of failing.
Forking is safe because the process has one thread: that is checked before the first fork. POSIX only.
"""

import argparse
import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service_runtime.errors import SetupError

MCP_PRELOAD = (
    "fastmcp.server.server",
    "key_value.aio.adapters.pydantic",  # FastMCP imports these two at the first tool call
    "key_value.aio.stores.memory",
    "mcp.server.stdio",
    "service_runtime.mcp_errors",
    "service_runtime.tool_arguments",
)
"""What to preload for any of our MCP servers over stdio: all that costs time before the first tool's answer."""

_REQUEST_TIMEOUT_S = 5.0
_MAX_REQUEST_BYTES = 4 * 1024 * 1024
_STOP_S = 2.0
_FORWARDED = frozenset({signal.SIGTERM, signal.SIGINT})


@dataclass(frozen=True)
class Launch:
    """One server to start: what `launch` asked for and the three descriptors it handed over."""

    module: str
    arguments: Sequence[str]
    environment: dict[str, str]
    folder: str
    descriptors: Sequence[int]


class ForkServer:
    """Accepts launches on one socket, forks, forwards signals and reports exit statuses; one thread, one selector."""

    def __init__(self, listener: socket.socket, allowed: frozenset[str]) -> None:
        self._listener = listener
        self._allowed = allowed
        self._children: dict[int, socket.socket] = {}
        self._ended = False
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = socket.socketpair()
        self._wake.setblocking(False)  # noqa: FBT003 - the standard library's signature

    def serve(self) -> Launch | None:
        """Serve until standard input ends (None); in a forked child, return what that child is to run."""
        self._watch_signals()
        for source in (self._listener.fileno(), 0, self._woken.fileno()):
            self._selector.register(source, selectors.EVENT_READ)
        while not self._ended:
            for key, _ in self._selector.select():
                launch = self._handle(key)
                if launch is not None:
                    return launch
        self._stop_children()
        return None

    def _handle(self, key: selectors.SelectorKey) -> Launch | None:
        if key.data is not None:
            self._from_launcher(*key.data)
        elif key.fd == self._listener.fileno():
            connection, _ = self._listener.accept()
            return self._start(connection)
        elif key.fd == self._woken.fileno():
            self._woken.recv(4096)
            self._reap()
        else:
            self._ended = not os.read(0, 4096)
        return None

    def _start(self, connection: socket.socket) -> Launch | None:
        launch = _receive(connection)
        if launch is None:
            connection.close()
            return None
        if launch.module not in self._allowed:
            known = ", ".join(sorted(self._allowed))
            _tell(connection, {"refused": f"{launch.module!r} may not be started here; use one of {known}."})
            connection.close()
        else:
            pid = os.fork()
            if pid == 0:
                connection.close()
                self._forget_parent()
                return launch
            self._children[pid] = connection
            self._selector.register(connection, selectors.EVENT_READ, (pid, connection))
            _tell(connection, {"pid": pid})
        for descriptor in launch.descriptors:
            os.close(descriptor)
        return None

    def _from_launcher(self, pid: int, connection: socket.socket) -> None:
        """Forward a signal byte; a launcher that is gone means its server has to stop."""
        if pid not in self._children:
            return  # it ended in this same round
        try:
            sent = connection.recv(1)
        except OSError:
            sent = b""
        if not sent:
            self._selector.unregister(connection)
        number = sent[0] if sent else signal.SIGTERM
        if number in _FORWARDED:
            os.kill(pid, number)

    def _reap(self) -> None:
        for pid, connection in list(self._children.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self._children[pid]
                code = os.waitstatus_to_exitcode(status)
                _tell(connection, {"status": code if code >= 0 else 128 - code})
                with contextlib.suppress(KeyError):  # unregistered when its launcher went away
                    self._selector.unregister(connection)
                connection.close()

    def _stop_children(self) -> None:
        self._signal_children(signal.SIGTERM)
        deadline = time.monotonic() + _STOP_S
        self._woken.settimeout(0.1)
        while self._children and time.monotonic() < deadline:
            with contextlib.suppress(TimeoutError):
                self._woken.recv(4096)
            self._reap()
        self._signal_children(signal.SIGKILL)

    def _signal_children(self, number: int) -> None:
        for pid in self._children:
            os.kill(pid, number)

    def _watch_signals(self) -> None:
        def stop(*_: object) -> None:
            self._ended = True

        signal.set_wakeup_fd(self._wake.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in _FORWARDED:
            signal.signal(number, stop)

    def _forget_parent(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self._selector.close()
        for inherited in (self._listener, self._woken, self._wake, *self._children.values()):
            inherited.close()


def _receive(connection: socket.socket) -> Launch | None:
    """Read one request, or None when it is none; its descriptors are closed then."""
    connection.settimeout(_REQUEST_TIMEOUT_S)
    descriptors: list[int] = []
    try:
        head, descriptors, _, _ = socket.recv_fds(connection, 4, 3)
        size = int.from_bytes(head, "big")
        body = b""
        while len(body) < min(size, _MAX_REQUEST_BYTES) and (chunk := connection.recv(size - len(body))):
            body += chunk
        text = json.loads(body)
        launch = Launch(text["module"], text["arguments"], text["environment"], text["folder"], tuple(descriptors))
    except (OSError, ValueError, KeyError, TypeError):
        launch = None
    if launch is None or len(descriptors) != 3:  # noqa: PLR2004 - standard input, output and error
        for descriptor in descriptors:
            os.close(descriptor)
        return None
    return launch


def _tell(connection: socket.socket, answer: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # the launcher is gone, and its server is being stopped
        connection.sendall(json.dumps(answer).encode() + b"\n")


def run(launch: Launch) -> int:
    """Become the server: its descriptors, folder, environment and arguments, then its `main`."""
    for number, descriptor in enumerate(launch.descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(launch.folder)
    os.environ.clear()
    os.environ.update(launch.environment)
    time.tzset()
    entry = importlib.import_module(f"{launch.module}.__main__")
    sys.argv = [str(entry.__file__), *launch.arguments]
    return int(entry.main() or 0)


def _listen(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with contextlib.suppress(ConnectionRefusedError, FileNotFoundError):
            listener.connect(str(path))
            raise SetupError(f"A fork server is running at {path}; pass another --socket.")
        path.unlink(missing_ok=True)  # what a killed fork server left
        before = os.umask(0o177)  # the socket is born 0600
        try:
            listener.bind(str(path))
        finally:
            os.umask(before)
        listener.listen(64)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise SetupError(f"Cannot listen at {path}: {why}; pass --socket in a folder you can write to.") from error
    return listener


def _preload(modules: Sequence[str]) -> None:
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise SetupError(f"The module {name!r} cannot be imported; leave out its --preload.") from error
    tasks = Path("/proc/self/task")
    threads = len(list(tasks.iterdir())) if tasks.exists() else threading.active_count()
    if threads > 1:
        raise SetupError(f"A preloaded module started {threads - 1} threads, so forking is not safe; preload fewer.")
    gc.collect()
    gc.freeze()  # the collector would otherwise write to, and so copy, every shared page


def main() -> int:
    """Run the fork server, and in its children the servers."""
    parser = argparse.ArgumentParser(prog="forkserver", description="Start servers fast.", allow_abbrev=False)
    parser.add_argument("--socket", type=Path, required=True, metavar="PATH", help="where to listen")
    parser.add_argument("--allow", action="append", default=[], metavar="MODULE", help="may be started, repeatable")
    parser.add_argument("--preload", action="append", default=[], metavar="MODULE", help="imported once, repeatable")
    options = parser.parse_args()
    try:
        listener = _listen(options.socket)
        try:
            _preload(options.preload)
            launch = ForkServer(listener, frozenset(options.allow)).serve()
        except SetupError:
            options.socket.unlink(missing_ok=True)
            raise
    except SetupError as error:
        sys.stderr.write(f"forkserver: {error}\n")
        return 2
    if launch is not None:
        return run(launch)
    options.socket.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
