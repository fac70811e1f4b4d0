"""The fork server: imports the heavy SDKs once, then forks a server in milliseconds for each `service_runtime.launch`.

`python -m service_runtime.forkserver --socket PATH --allow MODULE … --preload MODULE …`. It serves until its own
standard input ends, which is how a host that was killed leaves nothing behind. A server is stopped then, and also when
its launcher is gone: SIGTERM, and SIGKILL for one that is still there after two seconds, because it hangs in C code.
The socket (0600) takes connections before the imports are done, so a launch at that moment waits instead of failing.
Forking is safe because the process has one thread: that is checked before the first fork. Linux only, where the end of
a child can be waited for like input; elsewhere it says so and `launch` starts each server by itself.
"""

import argparse
import contextlib
import gc
import importlib
import json
import os
import select
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

_REQUEST_TIMEOUT_S = 5.0
_STOP_S = 2.0  # from SIGTERM to SIGKILL


@dataclass(frozen=True)
class Launch:
    """One server to start, in the words `launch` sends, and the descriptors for its input, output and errors."""

    module: str
    arguments: Sequence[str]
    environment: dict[str, str]
    folder: str
    descriptors: Sequence[int]


@dataclass
class _Child:
    """A forked server; `kill_at_s` is when its patience ends (monotonic), None until it is told to stop."""

    pid: int
    launcher: socket.socket
    kill_at_s: float | None = None

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        os.kill(self.pid, number)  # not reaped yet, so the number is still its own
        self.kill_at_s = time.monotonic() + _STOP_S


def serve(listener: socket.socket, allowed: Sequence[str]) -> Launch | None:
    """Serve until standard input ends (None); in a forked child, return what that child is to run."""
    children: dict[int, _Child] = {}  # by the descriptor that tells their end
    while True:
        ready = _tend(children, [listener, 0])
        if 0 in ready and not os.read(0, 64):
            break
        accepted = _accept(listener, allowed) if listener in ready else None
        if accepted:
            launcher, launch = accepted
            pid = os.fork()
            if not pid:
                for inherited in (listener, launcher, *(child.launcher for child in children.values())):
                    inherited.close()
                _close([*children])
                return launch
            children[os.pidfd_open(pid)] = _Child(pid, launcher)
            _tell(launcher, {"pid": pid})
            _close(launch.descriptors)
    for child in children.values():
        child.stop()
    give_up_s = time.monotonic() + 2 * _STOP_S  # not even SIGKILL ends a process that waits for a broken disk
    while children and time.monotonic() < give_up_s:
        _tend(children, [])
    return None


def _tend(children: dict[int, _Child], others: Sequence[Any]) -> set[Any]:
    """Wait for news, see to the children, and return which of `others` can be read."""
    launchers = [child.launcher for child in children.values() if child.kill_at_s is None]
    deadlines = [child.kill_at_s for child in children.values() if child.kill_at_s is not None]
    patience_s = max(min(deadlines) - time.monotonic(), 0) if deadlines else None
    ready = set(select.select([*others, *children, *launchers], [], [], patience_s)[0])
    for ended in children.keys() & ready:
        _report(children.pop(ended))
        os.close(ended)
    now = time.monotonic()
    for child in children.values():
        if child.kill_at_s is not None and child.kill_at_s <= now:
            child.stop(signal.SIGKILL)
        elif child.launcher in ready and _is_gone(child.launcher):
            child.stop()
    return ready


def _is_gone(launcher: socket.socket) -> bool:
    try:
        return not launcher.recv(64)  # it has nothing more to say
    except OSError:
        return True


def _accept(listener: socket.socket, allowed: Sequence[str]) -> tuple[socket.socket, Launch] | None:
    """Take one request, waiting `_REQUEST_TIMEOUT_S` at most; refuse (None) what is none or names another module.

    Nothing else is served meanwhile: the socket is private, so whoever stalls it is the person's own process.
    """
    launcher, _ = listener.accept()
    launcher.settimeout(_REQUEST_TIMEOUT_S)
    descriptors: list[int] = []
    try:
        first, descriptors, _, _ = socket.recv_fds(launcher, 1, 3)
        launch = Launch(**json.loads(first + launcher.makefile("rb").readline()), descriptors=descriptors)
    except (OSError, ValueError, TypeError):
        launch = None
    if launch and launch.module in allowed:
        return launcher, launch
    _tell(launcher, {"refused": f"Only {', '.join(allowed)} may be started here."})
    launcher.close()
    _close(descriptors)
    return None


def _report(child: _Child) -> None:
    code = os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1])
    _tell(child.launcher, {"status": code if code >= 0 else 128 - code})
    child.launcher.close()


def _tell(launcher: socket.socket, answer: dict[str, int] | dict[str, str]) -> None:
    with contextlib.suppress(OSError):  # the launcher may be gone
        launcher.sendall(json.dumps(answer).encode() + b"\n")


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def run(launch: Launch) -> int:
    """Become the server: its descriptors, folder, environment and arguments, then its `main`."""
    for number, descriptor in enumerate(launch.descriptors):
        os.dup2(descriptor, number)
    _close(launch.descriptors)
    os.chdir(launch.folder)
    os.environ.clear()
    os.environ.update(launch.environment)
    time.tzset()
    entry = importlib.import_module(f"{launch.module}.__main__")
    sys.argv = [str(entry.__file__), *launch.arguments]
    return int(entry.main() or 0)


def _listen(path: Path) -> socket.socket:
    if not hasattr(os, "pidfd_open"):
        raise SetupError("The fork server needs Linux; without it each server starts by itself.")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.unlink(missing_ok=True)  # what a killed fork server left
        listener.bind(str(path))
        path.chmod(0o600)  # before anybody can connect
        listener.listen(64)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise SetupError(f"Cannot listen at {path}: {why}; pass --socket in a folder you can write to.") from error
    return listener


def _preload(modules: Sequence[str]) -> None:
    for name in modules:
        with contextlib.suppress(ImportError):  # an extra that is not installed needs no preloading
            importlib.import_module(name)
    if threading.active_count() > 1:
        raise SetupError("A preloaded module started a thread, so forking is not safe; preload fewer modules.")
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
        _preload(options.preload)
    except SetupError as error:
        sys.stderr.write(f"forkserver: {error}\n")
        return 2
    launch = serve(listener, options.allow)
    if launch:
        return run(launch)
    options.socket.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
