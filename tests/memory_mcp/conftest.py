"""One fresh memory world per test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.memory_mcp.world import World, opened


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A service over an empty store."""
    with opened(tmp_path) as fresh:
        yield fresh
