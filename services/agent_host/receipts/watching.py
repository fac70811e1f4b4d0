"""Continuous verification: what the writer recorded, judged as it lands by a verifier that shares no code with us.

The entries of a `Watch` are copied, byte for byte, into a file that `verifier/verify.py --follow` reads: hashes, links,
signatures and keys, from the first entry on. So it also sees a writer that serves another chain than it stores. Our own
part is what no verifier can know: whether the commitments open with the openings that this host holds.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from pathlib import Path
from typing import Final

from agent_host.errors import WriterUnavailableError
from agent_host.receipts.commitments import digest_of
from agent_host.receipts.openings import OpeningStore
from agent_host.receipts.protocol import StoredEntry
from agent_host.receipts.verification import VERIFIER

_HOLDS: Final = re.compile(rb"verify: (\d+) entries, all hold so far\n")
_OWNERS: Final = ("callId", "turnId", "reviewId")


async def lasting(
    watch: Callable[[int], AsyncGenerator[StoredEntry, None]], writer_again: Callable[[], Awaitable[None]]
) -> AsyncGenerator[StoredEntry, None]:
    """Streams a chain for as long as anybody listens, over the ends of its writers.

    `watch` streams it from an id on; `writer_again` returns once a writer answers. The next writer is asked from the
    last entry on, so that one which it has otherwise is in the stream a second time, and does not hold.

    Raises:
        ReceiptRefusedError: the next writer's chain is shorter than what was seen.
    """
    last: StoredEntry | None = None
    while True:
        with suppress(WriterUnavailableError):
            async with aclosing(watch(0 if last is None else last.id)) as entries:
                async for entry in entries:
                    if entry != last:
                        last = entry
                        yield entry
        await writer_again()


class ContinuousVerification:
    """One chain under watch. `tell` gets each entry once everything up to it holds."""

    def __init__(
        self, copy: Path, trust: Sequence[str], openings: OpeningStore, tell: Callable[[StoredEntry], None]
    ) -> None:
        self._copy = copy
        self._trust = trust
        self._openings = openings
        self._tell = tell
        self._waiting: deque[StoredEntry] = deque()

    async def run(self, entries: AsyncIterator[StoredEntry]) -> str:
        """Follows a chain from its first entry until something is wrong; returns what, in one sentence.

        Raises:
            WriterUnavailableError, ReceiptRefusedError: the stream of entries ended; what came before it held.
            OSError: the copy cannot be written.
        """
        async with AsyncExitStack() as resources:
            self._copy.write_bytes(b"")
            resources.callback(self._copy.unlink, missing_ok=True)
            words = ("-P", "-m", VERIFIER, str(self._copy), "--follow", "--json", "--workers", "1", *self._trust)
            verifier = await asyncio.create_subprocess_exec(
                sys.executable, *words, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
            )
            resources.push_async_callback(_ended, verifier)
            copying = asyncio.ensure_future(self._copied(entries))
            judging = asyncio.ensure_future(self._judged(verifier))
            try:
                await asyncio.wait({copying, judging}, return_when=asyncio.FIRST_COMPLETED)
                return (judging if judging.done() else copying).result()
            finally:
                for task in (copying, judging):
                    task.cancel()
                await asyncio.wait({copying, judging})

    async def _copied(self, entries: AsyncIterator[StoredEntry]) -> str:
        """Hands entries on to the verifier until one does not say what this host did."""
        descriptor = os.open(self._copy, os.O_WRONLY | os.O_APPEND)
        try:
            async for entry in entries:
                if fault := commitment_fault(entry, self._openings):
                    return fault
                self._waiting.append(entry)
                os.write(descriptor, entry.line.encode() + b"\n")
        finally:
            os.close(descriptor)
        return "The writer's stream of entries ended."

    async def _judged(self, verifier: Process) -> str:
        """Tells of entries that hold, until the verifier finds one that does not."""
        if verifier.stderr is None or verifier.stdout is None:
            raise TypeError("the verifier was started without pipes")
        said = b""
        async for line in verifier.stderr:
            said = line
            if holds := _HOLDS.fullmatch(line):
                self._tell_to(int(holds[1]))
        report = await verifier.stdout.read()
        if not report:  # usage or I/O: no report, its reason is on stderr
            return f"The verifier ended: {said.decode(errors='replace').strip()}"
        found = json.loads(report)
        if found["id"] is None:
            return f"The verifier says {found['verdict']}."
        self._tell_to(found["id"] - 1)
        return f"Entry {found['id']} does not hold: {found['verdict']} ({found['check']}); those before it do."

    def _tell_to(self, last_id: int) -> None:
        while self._waiting and self._waiting[0].id <= last_id:
            self._tell(self._waiting.popleft())


def commitment_fault(entry: StoredEntry, openings: OpeningStore) -> str | None:
    """Returns in one sentence where an entry differs from what this host holds; None when it does not."""
    body = json.loads(entry.line)
    owner_id = next((str(body[name]) for name in _OWNERS if name in body), "")
    for opening in openings.of(owner_id):
        if body.get(opening.field) not in {None, digest_of(opening)}:
            return f"Entry {entry.id} ({owner_id}) has another {opening.field} than this host committed to."
    return None


async def _ended(verifier: Process) -> None:
    """Ends the verifier with the signal that it ends on by itself, with its report."""
    if verifier.returncode is None:
        verifier.send_signal(signal.SIGTERM)
    await verifier.communicate()
