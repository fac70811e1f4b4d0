"""Start a server through the fork server, as if it had been started directly; the standard library only, for speed.

`python -m service_runtime.launch --socket PATH MODULE [ARGUMENT …]`, or `python -S -I …/launch.py` with the same words.
The server gets this process's standard input, output and error, working directory and environment; SIGTERM and SIGINT
reach it; its exit status becomes this process's. Without a fork server it becomes `python -m MODULE` itself, so any
stdio MCP client can start a server this way.

The request is one JSON line with the three descriptors on its first byte. The answers are JSON lines too: `{"pid": 1}`
or `{"refused": "…"}`, and at last `{"status": 0}`. When this process is gone, even killed, the fork server stops the
server: SIGTERM, then SIGKILL after two seconds.
"""

import json
import os
import signal
import socket
import sys
from io import BufferedReader


def main() -> int:
    """Hand the words after `--socket PATH` to the fork server there and wait for the end."""
    if len(sys.argv) < 4 or sys.argv[1] != "--socket":  # noqa: PLR2004 - program, option, path, module
        sys.stderr.write("launch: use it as --socket PATH MODULE [ARGUMENT …].\n")
        return 2
    path, module, *arguments = sys.argv[2:]
    answers = _request(path, module, arguments)
    first = _answer(answers)
    if "refused" in first:
        sys.stderr.write(f"launch: {first['refused']}\n")
        return 2
    if "pid" not in first:
        os.execv(sys.executable, [sys.executable, "-P", "-m", module, *arguments])  # noqa: S606 - the same server, alone
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: os.kill(first["pid"], number))
    last = _answer(answers)
    if "status" not in last:
        sys.stderr.write(f"launch: the fork server ended before {module} did.\n")
    return last.get("status", 1)


def _request(path: str, module: str, arguments: list[str]) -> BufferedReader | None:
    """Send the request and return where the answers come from, or None when there is no fork server to take it."""
    try:
        folder = os.getcwd()  # noqa: PTH109 - importing pathlib would double this process's time
        words = {"module": module, "arguments": arguments, "environment": dict(os.environ), "folder": folder}
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(path)
        message = json.dumps(words).encode() + b"\n"
        sent = socket.send_fds(connection, [message], [0, 1, 2])
        if rest := message[sent:]:  # sending nothing would fail once the answer is there and the other end closed
            connection.sendall(rest)
        return connection.makefile("rb")
    except (OSError, AttributeError):  # nobody there, or a system without Unix sockets
        return None


def _answer(answers: BufferedReader | None) -> dict[str, int]:
    """Read one answer; none when the fork server is not there any more."""
    try:
        return dict(json.loads(answers.readline())) if answers else {}
    except (OSError, ValueError):
        return {}


if __name__ == "__main__":
    sys.exit(main())
