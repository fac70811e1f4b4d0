"""Servers that several parts of the suite share, one of each a run, and what makes so many tests cheap to collect."""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests import postgres_server
from tests.postgres_server import PostgresServer

# Examples of every day; long runs say how many they want. A busy machine makes no example wrong.
settings.register_profile("everyday", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("everyday")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let no garbage collection walk over what modules and tests are made of: all of it stays to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


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
