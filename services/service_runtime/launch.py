"""Start a server through the fork server, as if it had been started directly; the standard library only, for speed.

`python -m service_runtime.launch --socket PATH MODULE [ARGUMENT …]`, or `python -S -I …/launch.py` with the same words.
The server gets this process's standard input, output and error, working directory and environment; SIGTERM and SIGINT
reach it; its exit status becomes this process's. Without a fork server it becomes `python -m MODULE` itself, so any
stdio MCP client can start a server this way.

The request is 4 bytes of length, then JSON, with the three descriptors on the first byte. The answers are JSON lines:
`{"pid": 1}` or `{"refused": "…"}`, and at last `{"status": 0}`. A byte sent to the fork server is a signal to pass on.
"""

import contextlib
import json
import os
import signal
import socket
import sys

_OPTION = "--socket"


def main() -> int:
    """Hand the words after `--socket PATH` to the fork server there and wait for the end."""
    if len(sys.argv) < 4 or sys.argv[1] != _OPTION:  # noqa: PLR2004 - program, option, path, module
        sys.stderr.write(f"launch: use it as {_OPTION} PATH MODULE [ARGUMENT …].\n")
        return 2
    path, module, *arguments = sys.argv[2:]
    connection = _request(path, module, arguments)
    answers = connection.makefile("rb") if connection else None
    first = _answer(answers.readline()) if answers else {}
    if "refused" in first:
        sys.stderr.write(f"launch: {first['refused']}\n")
        return 2
    if connection is None or answers is None or "pid" not in first:
        os.execv(sys.executable, [sys.executable, "-P", "-m", module, *arguments])  # noqa: S606 - the same server, alone

    def forward(number: int, _: object) -> None:
        with contextlib.suppress(OSError):  # the fork server is gone, which ends the wait below
            connection.send(bytes([number]))

    signal.signal(signal.SIGTERM, forward)
    signal.signal(signal.SIGINT, forward)
    last = _answer(answers.readline())
    if "status" not in last:
        sys.stderr.write(f"launch: the fork server ended before {module} did.\n")
    return int(last.get("status", 1))


def _request(path: str, module: str, arguments: list[str]) -> socket.socket | None:
    """Return the connection with the request sent, or None when there is no fork server to take it."""
    try:
        folder = os.getcwd()  # noqa: PTH109 - importing pathlib would double this process's time
        words = {"module": module, "arguments": arguments, "environment": dict(os.environ), "folder": folder}
        body = json.dumps(words).encode()
        message = len(body).to_bytes(4, "big") + body
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(path)
        sent = socket.send_fds(connection, [message], [0, 1, 2])
        connection.sendall(message[sent:])
    except (OSError, AttributeError):  # nobody there, or a system without Unix sockets
        return None
    return connection


def _answer(line: bytes) -> dict[str, int | str]:
    return dict(json.loads(line)) if line.endswith(b"\n") else {}


if __name__ == "__main__":
    sys.exit(main())
