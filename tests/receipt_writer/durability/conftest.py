from __future__ import annotations

import logging

import pytest


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Thousands of starts each say what they set aside; nobody reads it here."""
    caplog.set_level(logging.CRITICAL + 1)
