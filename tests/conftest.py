"""Servers that several parts of the suite share, one of each a run, started when the first test asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import postgres_server
from tests.postgres_server import PostgresServer


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """The system's PostgreSQL."""
    binaries = postgres_server.installed()
    if binaries is None:
        pytest.skip(postgres_server.WHY_NOT)
    with postgres_server.running(binaries) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_with_vectors() -> Iterator[PostgresServer]:
    """A PostgreSQL that has pgvector."""
    binaries = postgres_server.installed_with_vectors()
    if binaries is None:
        pytest.skip(postgres_server.WHY_NO_VECTORS)
    with postgres_server.running(binaries) as server:
        yield server
