"""Writes a turn's trace lines to `traces/<local date>.jsonl` and hashes exactly what was written."""

from __future__ import annotations

import hashlib
import logging
import os
from datetime import datetime
from pathlib import Path

logger = logging.getLogger(__name__)


class TraceFile:
    """One turn's part of the day's trace file.

    A failed write never fails a turn: the first failure is logged, and the hash still covers every line, so that a
    receipt cannot claim a trace that differs from what happened.
    """

    def __init__(self, folder: Path, started: datetime) -> None:
        self._path = folder / f"{started.date().isoformat()}.jsonl"
        self._sum = hashlib.sha256()
        self._failed = False

    def write(self, line: bytes) -> None:
        """Appends one line, its line break included, in a single write."""
        self._sum.update(line)
        if self._failed:
            return
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError as error:
            self._failed = True
            logger.warning("the trace file %s cannot be written: %s", self._path.name, error.strerror)

    @property
    def sha256(self) -> str:
        """Lower-case hex SHA-256 of every line so far (receipts.md section 5, `traceHash`)."""
        return self._sum.hexdigest()
