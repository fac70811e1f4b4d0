"""A full check of one chain beside its writer, in a process of its own: it takes no time of the writer's.

`python -m receipt_writer.checking FOLDER LAYER` is that process. It prints JSON lines: `[done, total]` in bytes now and
then, and at the end an object with the finding's fields, or with `refused` when there was nothing to check.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from receipt_writer.errors import NotPossibleYetError, QueueFullError, ReceiptError, StorageFailedError
from receipt_writer.fsck import Finding, check_chain
from service_runtime.errors import SetupError

_MOST = 2
_RETRY_MS = 5_000
_NICENESS = 10  # appends go first


@dataclass(frozen=True)
class Progress:
    """How many bytes of a chain were found good, of how many."""

    done_bytes: int
    total_bytes: int


class Checks:
    """Runs the checks of one ledger, at most two at a time: no tenant waits for another's."""

    def __init__(self) -> None:
        self._running = 0

    async def run(self, folder: Path, layer: str) -> AsyncGenerator[Progress | Finding, None]:
        """Yield how far the check of a chain is, and its finding last. Ending the iteration ends the check.

        Raises:
            QueueFullError: Two checks run already.
            NotPossibleYetError: The chain cannot be checked.
            StorageFailedError: The check could not be run to its end.
        """
        if self._running >= _MOST:
            raise QueueFullError(f"{_MOST} checks run already; ask again in {_RETRY_MS} ms.", _RETRY_MS)
        self._running += 1
        try:
            async with _started(folder, layer) as output:
                async for line in output:
                    yield _told(line)
        finally:
            self._running -= 1


@asynccontextmanager
async def _started(folder: Path, layer: str) -> AsyncIterator[asyncio.StreamReader]:
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "receipt_writer.checking", str(folder), layer),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError as error:
        raise StorageFailedError("The check could not be started; free some memory or handles, ask again.") from error
    try:
        if process.stdout is None:
            raise TypeError(process)
        yield process.stdout
        if await process.wait():
            raise StorageFailedError("The check ended unexpectedly; ask again, or run receipt-writer fsck.")
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()  # what it still said: a pipe not read to its end outlives the event loop


def _told(line: bytes) -> Progress | Finding:
    told = json.loads(line)
    if isinstance(told, list):
        return Progress(*told)
    if "refused" in told:
        raise NotPossibleYetError("The chain cannot be checked now; run receipt-writer fsck, which says why.")
    return Finding(**told)


def main(folder: str, layer: str) -> None:
    """Check a chain and print what is found; the caller reads it line by line."""
    os.nice(_NICENESS)
    try:
        told = asdict(check_chain(Path(folder), layer, lambda done, total: _print([done, total])))
    except (ReceiptError, SetupError) as refusal:
        told = {"refused": str(refusal)}
    _print(told)


def _print(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
