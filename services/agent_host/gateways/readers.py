"""Where messages come from: a person at a terminal, or a pipe."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Protocol, TextIO

from agent_host.gateways.message import MESSAGE_LIMIT

_LINE_BYTES = MESSAGE_LIMIT * 4 + 1  # a character takes at most four bytes in UTF-8, so this is too long
_CHUNK_BYTES = 65_536


class PromptInterruptedError(Exception):
    """The person pressed Ctrl-C at an empty prompt. `KeyboardInterrupt` itself would end the event loop."""


class Reader(Protocol):
    """A source of messages."""

    async def read(self) -> str | bytes | None:
        """Returns the next message, None at the end of input.

        Raises:
            PromptInterruptedError: the person pressed Ctrl-C at an empty prompt.
        """
        ...


class PipeReader:
    """One message a line, from a file descriptor.

    A daemon thread reads it without Python's buffering: waiting for input keeps no lock that the end of the process
    would need, so a conversation can end while its input stays open.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: asyncio.Queue[tuple[bytes | None, float]] = asyncio.Queue(maxsize=64)
        self._chunk_at_s = 0.0
        self._started = False
        self._has_ended = False
        self.came_at_s = 0.0
        """When the line that `read` returned last came in, by the monotonic clock."""

    async def read(self) -> bytes | None:
        """Returns the next line; only the first part of one that is too long, which is refused for its length."""
        if self._has_ended:
            return None
        if not self._started:
            self._started = True
            loop = asyncio.get_running_loop()
            threading.Thread(target=self._pump, args=(loop,), name="stdin", daemon=True).start()
        line, self.came_at_s = await self._lines.get()
        self._has_ended = line is None
        return line

    def _pump(self, loop: asyncio.AbstractEventLoop) -> None:
        for line in lines(self._chunks()):
            if not self._hand_over(loop, line):
                return
        self._hand_over(loop, None)

    def _chunks(self) -> Iterator[bytes]:
        while chunk := os.read(self._descriptor, _CHUNK_BYTES):
            self._chunk_at_s = time.monotonic()
            yield chunk

    def _hand_over(self, loop: asyncio.AbstractEventLoop, line: bytes | None) -> bool:
        try:
            asyncio.run_coroutine_threadsafe(self._lines.put((line, self._chunk_at_s)), loop).result()
        except (RuntimeError, concurrent.futures.CancelledError):
            return False  # the loop is closed: the conversation is over
        return True


def lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yields lines without their line breaks, and what follows the last one; at most `_LINE_BYTES` of each."""
    kept = bytearray()
    for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            yield bytes(kept + part[: _LINE_BYTES - len(kept)])
            kept.clear()
        kept += rest[: _LINE_BYTES - len(kept)]
    if kept:
        yield bytes(kept)


class PromptedLines:
    """A person at a terminal that can do no more than lines: a prompt, and what the terminal itself edits."""

    def __init__(self, prompt: str, stream: TextIO, lines: PipeReader) -> None:
        self._prompt = prompt
        self._stream = stream
        self._lines = lines
        self._early: deque[bytes] = deque()

    async def read(self) -> str | bytes | None:
        """Returns the next line; None for Ctrl-D. Ctrl-C is a signal here."""
        self._show(self._prompt)
        return self._early.popleft() if self._early else await self._lines.read()

    async def answer(self, prompt: str) -> str | None:
        """Asks for one line; None for Ctrl-D. What came before the question answers nothing: it is the next message."""
        asked_at_s = time.monotonic()  # before the prompt stands there: an answer may come at once
        self._show(prompt)
        while (told := await self._lines.read()) is not None and self._lines.came_at_s < asked_at_s:
            self._early.append(told)
        return None if told is None else told.decode(errors="replace")

    def _show(self, prompt: str) -> None:
        self._stream.write(prompt)
        self._stream.flush()
