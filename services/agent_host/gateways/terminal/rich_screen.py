"""A screen for people: replies as Markdown while they stream, what happens as it happens, a spinner under it all.

Finished blocks are written once and scroll like any text; only the unfinished one and the spinner are painted again.
`rich` is loaded at the first use, which `preload` can bring forward: the first prompt does not wait for it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import textwrap
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, TextIO

from agent_host.gateways.event_lines import event_line, started_line
from agent_host.gateways.plain_screen import CANCELLED, NoticesOnce, unshown, was_cut_short
from agent_host.gateways.screen import Rows, printable
from agent_host.gateways.terminal.region import Region
from agent_host.receipts.line import receipt_line
from agent_host.tracing.events import Notice, ReplyDelta, ToolCalled, ToolStarted, TurnEvent

if TYPE_CHECKING:
    from agent_host.gateways.terminal.painter import Painter
    from agent_host.turn import TurnResult

TICK_S: Final = 0.1
_WRITING: Final = "writing"


def preload() -> None:
    """Loads what the first reply needs; slow, meant for a thread beside the first prompt."""
    from agent_host.gateways.terminal.painter import warm_up

    warm_up()


class RichScreen:
    """Writes a conversation on a terminal that can move its cursor."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._region = Region(stream)
        self._loaded: Painter | None = None
        self._notices = NoticesOnce()
        self._streamed = ""
        self._doing = ""
        self._running: list[str] = []
        self._since = 0.0
        self._frame = 0
        self._ticking: asyncio.TimerHandle | None = None
        self._is_working = False

    def say(self, text: str) -> None:
        """Writes one or more whole lines, broken between words."""
        if self._loaded is None and not self._is_working:  # the first screen does not wait for rich
            width = shutil.get_terminal_size().columns
            lines = [textwrap.fill(line, width, break_on_hyphens=False) for line in printable(text).split("\n")]
            self._stream.write("".join(f"{line}\n" for line in lines))
            self._stream.flush()
        else:
            self._above(self._painter.plain(printable(text)))

    def table(self, rows: Rows) -> None:
        """Writes two columns, or one under the other where the terminal is narrow."""
        self._above(self._painter.table([(printable(name), printable(value)) for name, value in rows]))

    @contextmanager
    def working(self, doing: str = "thinking") -> Iterator[None]:
        """Shows a spinner in a moment."""
        self._since, self._doing, self._running = time.monotonic(), doing, []
        loop = asyncio.get_running_loop()
        with ExitStack() as ending:
            loop.add_signal_handler(signal.SIGTSTP, self._suspend)
            ending.callback(loop.remove_signal_handler, signal.SIGTSTP)
            ending.callback(self._stop)
            self._is_working = True
            self._ticking = loop.call_later(TICK_S, self._tick)
            yield

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keeps still and lets the person type."""
        was_working = self._is_working
        self._stop()
        try:
            yield
        finally:
            if was_working:
                self._is_working = True
                self._tick()

    def show(self, event: TurnEvent) -> None:
        """Takes one event of the running turn."""
        match event:
            case Notice():
                if self._notices.is_new(event.text):
                    self._own_line(f"! {printable(event.text)}", "yellow")
            case ReplyDelta():
                self._streamed += event.text
                self._doing = _WRITING
                self._above(self._painter.fed(event.text))
            case ToolStarted():
                self._flush()
                self._running.append(started_line(event).removeprefix("· "))
            case _ if (line := event_line(event)) is not None:
                self._ended(event)
                self._own_line(line, _style_of(event))
            case _:
                pass

    def finish(self, result: TurnResult) -> None:
        """Ends the turn: what of the reply was not shown yet, and the receipt line."""
        rest = unshown(result, self._streamed)
        self._flush()
        if rest:
            self._above(self._painter.fed(rest) + self._painter.ended())
        if was_cut_short(result):
            self._above(self._painter.plain(CANCELLED, "yellow"))
        line = printable(receipt_line(result.receipt, result.status))
        self._above(self._painter.plain(line, "dim") + "\n")
        self._streamed = ""
        self._notices.turn_ended()

    @property
    def _painter(self) -> Painter:
        if self._loaded is None:
            from agent_host.gateways.terminal.painter import Painter

            self._loaded = Painter(self._stream)
        return self._loaded

    def _ended(self, event: TurnEvent) -> None:
        if isinstance(event, ToolCalled) and self._running:
            name = f"{event.name} …"
            self._running.remove(name if name in self._running else self._running[0])

    def _own_line(self, text: str, style: str) -> None:
        self._flush()
        self._above(self._painter.plain(text, style))

    def _flush(self) -> None:
        """Writes what is open of the reply for good."""
        if self._streamed:
            self._above(self._painter.ended())
        self._streamed = ""

    def _above(self, text: str) -> None:
        if text:
            self._region.paint(text, self._lines() if self._is_working else ())

    def _suspend(self) -> None:
        """Ctrl-Z: gives the cursor back before this process is stopped, and goes on when it is continued."""
        with self.held():
            os.kill(os.getpid(), signal.SIGSTOP)

    def _tick(self) -> None:
        """Paints the lines that move, and comes again."""
        self._region.paint("", self._lines())
        self._frame += 1
        self._ticking = asyncio.get_running_loop().call_later(TICK_S, self._tick)

    def _stop(self) -> None:
        """Takes the moving lines away; what was open of the reply stays, as text."""
        if self._ticking is not None:
            self._ticking.cancel()
        self._ticking, self._is_working = None, False
        if self._streamed:
            self._above(self._painter.ended())
        self._region.paint("", ())

    def _lines(self) -> list[str]:
        doing = ", ".join(self._running) or f"{self._doing} …"
        seconds = int(time.monotonic() - self._since)
        return self._painter.moving(f"{doing} {seconds} s · Ctrl-C cancels", self._frame)


def _style_of(event: TurnEvent) -> str:
    return "red" if isinstance(event, ToolCalled) and event.outcome.is_error else "dim"
