from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def folder() -> Iterator[Path]:
    """A new receipts folder; its path is short enough for a socket."""
    path = Path(tempfile.mkdtemp(prefix="rw-"))
    yield path
    shutil.rmtree(path)
