"""Headless Chromium for a test, spoken to over the pipes of its DevTools protocol: no port, no library, no driver."""

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_ARGUMENTS = (
    *("--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check", "--disable-gpu"),
    *("--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb", "--host-resolver-rules=MAP * ~"),
)
_AS_3_AND_4 = """
import fcntl, os, sys
pipes = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
os.dup2(pipes[0], 3), os.dup2(pipes[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Where Chromium looks for its two pipes."""


@dataclass(frozen=True)
class Look:
    """How a page is looked at."""

    width: int
    height: int = 900
    scheme: str = "light"


@dataclass
class Tab:
    """One page, and everything that its console said."""

    browser: "Browser"
    session: str
    said: list[str] = field(default_factory=list)

    def open(self, page: Path, look: Look) -> None:
        """Load a file and wait until it is drawn."""
        for method in ("Page.enable", "Runtime.enable", "Log.enable", "Network.enable"):
            self.ask(method)
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=look.width,
            height=look.height,
            deviceScaleFactor=1,
            mobile=look.width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": look.scheme}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask("Page.navigate", url=page.as_uri())
        self.browser.wait_for("Page.loadEventFired", self.session)

    def measure(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def photograph(self, place: Path) -> None:
        """Write a picture of the whole page."""
        taken = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        place.write_bytes(base64.b64decode(taken["data"]))

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """One request of the protocol to this page."""
        return self.browser.ask(method, self.session, **params)


@dataclass
class Browser:
    """A running browser."""

    to: IO[bytes]
    back: IO[bytes]
    _asked: int = 0
    _events: list[dict[str, Any]] = field(default_factory=list)

    def tab(self) -> Tab:
        """An empty page of its own."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Tab(self, session)

    def ask(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Send one request and return its result; events that come meanwhile are kept."""
        self._asked += 1
        request = {"id": self._asked, "method": method, "params": params} | ({"sessionId": session} if session else {})
        self.to.write(json.dumps(request).encode() + b"\0")
        self.to.flush()
        while (message := self._read()).get("id") != self._asked:
            self._events.append(message)
        assert "error" not in message, (method, message)
        return dict(message["result"])

    def wait_for(self, event: str, session: str) -> None:
        """Return once an event of a page has come."""
        while not any(one.get("method") == event and one.get("sessionId") == session for one in self._events):
            self._events.append(self._read())

    def complaints(self, session: str) -> list[str]:
        """What the console of a page said, what failed to load, and what it asked the network for."""
        found = []
        for event in self._events:
            told = event.get("method"), event.get("params", {})
            if event.get("sessionId") != session:
                continue
            if told[0] in {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}:
                found.append(json.dumps(told[1]))
            if told[0] == "Network.requestWillBeSent" and not told[1]["request"]["url"].startswith("file:"):
                found.append(told[1]["request"]["url"])
        return found

    def _read(self) -> dict[str, Any]:
        message = bytearray()
        while (byte := self.back.read(1)) != b"\0":
            assert byte, "the browser has gone"
            message += byte
        return dict(json.loads(message))


def chromium() -> str:
    """The browser's program; without one the test is skipped, but never where everything has to run."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        why = "no Chromium is installed (Debian: apt-get install chromium)"
        assert not os.environ.get("CI"), why
        pytest.skip(why)
    return found


@contextmanager
def browsing(profile: Path) -> Iterator[Browser]:
    """A browser with an empty profile, which can reach no network."""
    their_in, our_out = os.pipe()
    our_in, their_out = os.pipe()
    sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()
    command = [chromium(), *_ARGUMENTS, *sandbox, f"--user-data-dir={profile}", "about:blank"]
    with subprocess.Popen(
        [sys.executable, "-S", "-I", "-c", _AS_3_AND_4, str(their_in), str(their_out), *command],
        pass_fds=(their_in, their_out),
        env=os.environ | {"HOME": str(profile)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(their_in)
        os.close(their_out)
        with os.fdopen(our_out, "wb") as to, os.fdopen(our_in, "rb") as back:
            browser = Browser(to, back)
            try:
                yield browser
                browser.ask("Browser.close")
            finally:
                process.terminate()
                process.wait(timeout=30)
