from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent_host.consolidation.parts import ConsolidatingHome


@pytest.fixture
def home(tmp_path: Path) -> Iterator[ConsolidatingHome]:
    made = ConsolidatingHome(tmp_path)
    yield made
    made.close()
