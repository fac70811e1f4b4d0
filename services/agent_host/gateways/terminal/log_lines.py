"""Log records of this process at a live terminal: lines among the others, and not written through what moves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent_host.gateways.screen import Screen

if TYPE_CHECKING:
    from collections.abc import Callable


class LogLines(logging.Handler):
    """Hands records to a screen, from any thread; at the prompt they stand above it."""

    def __init__(self, screen: Screen, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._screen = screen
        self._loop = loop

    def emit(self, record: logging.LogRecord) -> None:
        """Shows one record, soon."""
        try:
            self._loop.call_soon_threadsafe(self._show, self.format(record))
        except RuntimeError:  # the loop is closed: the conversation is over
            self.handleError(record)

    def _show(self, text: str) -> None:
        _above_the_prompt(lambda: self._screen.say(f"! {text}"))


@contextmanager
def logs_on(screen: Screen) -> Iterator[None]:
    """Has every log record go to a screen for a while, in the form and from the level that are set."""
    root = logging.getLogger()
    before = root.handlers[:]
    logging.getLogger("markdown_it").setLevel(logging.INFO)  # its every step is no news at any level
    lines = LogLines(screen, asyncio.get_running_loop())
    for handler in before:
        lines.setFormatter(handler.formatter)
        root.removeHandler(handler)
    root.addHandler(lines)
    try:
        yield
    finally:
        root.removeHandler(lines)
        for handler in before:
            root.addHandler(handler)


def _above_the_prompt(say: Callable[[], None]) -> None:
    from prompt_toolkit.application import get_app_or_none, run_in_terminal

    app = get_app_or_none()
    if app is not None and app.is_running:
        run_in_terminal(say)
    else:
        say()
