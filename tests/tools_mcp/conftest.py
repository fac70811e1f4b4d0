"""One fork server for all tests of the tool servers that a process runs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.tools_mcp.processes import Forked


@pytest.fixture(scope="session")
def forked(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Forked]":
    """What starts servers quickly."""
    from tests.tools_mcp.processes import fork_server

    with fork_server(tmp_path_factory.mktemp("fork")) as ready:
        yield ready
