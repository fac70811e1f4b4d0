"""The way to the receipt writer: one of the host's own as a child process, or one that runs elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from agent_host.children import Child, socket_path
from agent_host.errors import WriterUnavailableError
from agent_host.receipts.client import ReceiptClient, WriterAccess

START_TIMEOUT_S = 15.0  # for a writer of ours that starts
ANSWER_TIMEOUT_S = 2.0  # for one that should be there: a person waits for this
_LIVE_TIMEOUT_S = 0.5
_POLL_S = 0.05
_ENDING_POLLS = 5


class WriterLink:
    """Connects to the writer of a home, or to the one elsewhere when that is given."""

    def __init__(
        self,
        receipts_folder: Path,
        log: Path,
        environment: Mapping[str, str],
        elsewhere: WriterAccess | None,
        *,
        is_traced: bool = False,
    ) -> None:
        own = f"unix:{socket_path(receipts_folder, 'writer.sock')}"
        self._child = None
        if elsewhere is None:
            arguments = ["receipt_writer", "serve", "--listen", own, "--exit-with-stdin"]
            self._child = Child(arguments, environment, log)
        self._log = log
        self._has_answered = False
        self.client = ReceiptClient(elsewhere or WriterAccess(own), is_traced=is_traced)

    def start(self) -> None:
        """Starts the host's own writer, if there is one to start; does not wait for it.

        Raises:
            OSError: the process cannot be started.
        """
        if self._child is not None and self._child.ensure():
            self._has_answered = False

    async def connect(self) -> None:
        """Returns once the writer answers: one that runs already, else the host's own, started now.

        Raises:
            WriterUnavailableError: none answers.
        """
        try:
            await self.client.wait_ready(_LIVE_TIMEOUT_S)
        except WriterUnavailableError:
            await self.ensure()

    async def ensure(self) -> None:
        """Returns once the writer answers, starting it again first when it ended.

        Raises:
            WriterUnavailableError: it does not answer.
        """
        had_answered = self._has_answered
        try:
            await self._start_and_wait()
        except WriterUnavailableError:
            if not (had_answered and await self._is_ending()):
                raise
            await self._start_and_wait()  # it was killed just now, before the first try could see it

    async def _start_and_wait(self) -> None:
        try:
            self.start()
        except OSError as error:
            raise WriterUnavailableError(f"The receipt writer cannot be started: {error.strerror}.") from error
        starting = self._child is not None and not self._has_answered
        ready = asyncio.ensure_future(self.client.wait_ready(START_TIMEOUT_S if starting else ANSWER_TIMEOUT_S))
        while not ready.done() and self._ended() is None:
            await asyncio.wait({ready}, timeout=_POLL_S)
        if not ready.done() and (ended := self._ended()) is not None:
            ready.cancel()
            raise WriterUnavailableError(ended)
        await ready
        self._has_answered = True

    async def _is_ending(self) -> bool:
        """Tells whether the host's own writer ends within a moment; a killed process takes one."""
        for _ in range(_ENDING_POLLS):
            if self._ended() is not None:
                return True
            await asyncio.sleep(_POLL_S)
        return False

    def _ended(self) -> str | None:
        """Returns a sentence when the host's own writer is not running any more, else None."""
        status = self._child.exit_status if self._child else None
        if status is None:
            return None
        return f"The receipt writer ended with status {status}: {self._last_words()}"

    def _last_words(self) -> str:
        """Returns the last line of the writer's log, which is its reason in one sentence."""
        try:
            lines = self._log.read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            lines = []
        said = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return said or f"it gave no reason in {self._log}."

    async def close(self) -> None:
        """Closes the connection and ends the host's own writer."""
        await self.client.close()
        if self._child is not None:
            await asyncio.to_thread(self._child.stop)
