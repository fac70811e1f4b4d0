"""Running `receipt-writer` in this process, as a person would type it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from receipt_writer.__main__ import main


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it said."""

    status: int
    out: str
    err: str


class Commands:
    """Runs `receipt-writer` in this process against one home."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.home, self._monkeypatch, self._capsys = home, monkeypatch, capsys

    def run(self, *words: str) -> Ran:
        self._monkeypatch.setattr(sys, "argv", ["receipt-writer", *words])
        self._monkeypatch.setenv("PROMETHEUS_HOME", str(self.home))
        try:
            status = main()
        except SystemExit as leaving:
            status = leaving.code if isinstance(leaving.code, int) else 99
        printed = self._capsys.readouterr()
        return Ran(status, printed.out, printed.err)

    @property
    def folder(self) -> Path:
        return self.home / "receipts"
