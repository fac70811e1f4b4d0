from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.receipt_writer.commands import Commands


@pytest.fixture
def folder() -> Iterator[Path]:
    """A new receipts folder; its path is short enough for a socket."""
    path = Path(tempfile.mkdtemp(prefix="rw-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Commands:
    """The command line, on a home of its own that is empty."""
    from tests.receipt_writer.commands import Commands  # the format's own tests run without a command line

    return Commands(tmp_path, monkeypatch, capsys)
