"""Writes a turn's trace lines to `traces/<local date>.jsonl` and hashes exactly what was to be written.

Several processes may append to one day's file: a line is one write at the end of the file, which the system keeps
whole, so no line ever stands inside another. A disk that fills up in the middle of a line, or a death there, leaves a
torn line; whoever appends next ends it first, and a reader passes over it. There is no fsync: after a power cut a trace
may lack its newest lines, and the receipt's trace hash tells.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
from datetime import datetime
from pathlib import Path

logger = logging.getLogger(__name__)


class TraceFile:
    """One turn's part of the day's trace file.

    A failed write never fails a turn: the first failure is logged, and the hash still covers every line, so that a
    receipt cannot claim a trace that differs from what happened. Later lines are tried again.
    """

    def __init__(self, folder: Path, started: datetime) -> None:
        self._path = folder / f"{started.date().isoformat()}.jsonl"
        self._sum = hashlib.sha256()
        self._warned = False

    def write(self, line: bytes) -> None:
        """Appends one line, its line break included, in a single write."""
        self._sum.update(line)
        try:
            self._append(line)
        except OSError as error:
            if not self._warned:
                self._warned = True
                logger.warning("the trace file %s cannot be written: %s", self._path.name, error.strerror)

    @property
    def sha256(self) -> str:
        """Lower-case hex SHA-256 of every line so far (receipts.md section 5, `traceHash`)."""
        return self._sum.hexdigest()

    def _append(self, line: bytes) -> None:
        descriptor = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            whole = b"\n" * torn + line
            if os.write(descriptor, whole) < len(whole):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(descriptor)
