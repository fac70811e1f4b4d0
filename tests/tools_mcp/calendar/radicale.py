"""A real CalDAV server for the tests: Radicale as a process of its own, on loopback."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx

USER = "ann"
PASSWORD = "correct horse & battery"
READER = "reader"
_CONFIG = """
[server]
hosts = 127.0.0.1:{port}
[auth]
type = htpasswd
htpasswd_filename = {folder}/users
htpasswd_encryption = plain
delay = 0
[rights]
type = from_file
file = {folder}/rights
[storage]
filesystem_folder = {folder}/storage
[logging]
level = error
"""
_RIGHTS = """
[owner]
user: ann
collection: .*
permissions: RrWw
[reader]
user: reader
collection: .*
permissions: Rr
"""


@dataclass(frozen=True)
class Radicale:
    """A running server; `storage` is where it keeps one folder per user and in it one per calendar."""

    url: str
    storage: Path

    def calendar(self, name: str) -> str:
        """Make an empty calendar of Ann's and return its address."""
        folder = self.storage / "collection-root" / USER / name
        serve_folder(folder)
        return f"{self.url}/{USER}/{name}/"

    def stored(self, name: str) -> dict[str, bytes]:
        """The files of a calendar."""
        folder = self.storage / "collection-root" / USER / name
        return {path.name: path.read_bytes() for path in folder.glob("*.ics")}


def serve_folder(folder: Path) -> None:
    """Make a folder a calendar of Radicale's."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".Radicale.props").write_text(
        json.dumps({"tag": "VCALENDAR", "C:supported-calendar-component-set": "VEVENT"})
    )


@contextmanager
def radicale(folder: Path) -> Iterator[Radicale]:
    """Run Radicale in a folder until the block ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "users").write_text(f"{USER}:{PASSWORD}\n{READER}:{PASSWORD}\n")
    (folder / "rights").write_text(_RIGHTS)
    (folder / "config").write_text(_CONFIG.format(port=port, folder=folder))
    storage = folder / "storage"
    (storage / "collection-root" / USER).mkdir(parents=True)
    command = [sys.executable, "-m", "radicale", "--config", str(folder / "config")]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            _wait_until_it_answers(f"http://127.0.0.1:{port}", process)
            yield Radicale(f"http://127.0.0.1:{port}", storage)
        finally:
            process.terminate()
            process.wait(timeout=30)


def _wait_until_it_answers(url: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{url}/.web/", timeout=5, trust_env=False).status_code:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError(f"Radicale did not start on port {urlsplit(url).port}")
