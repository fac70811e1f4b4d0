"""The lock: complete, hashed, without addresses, and divisible by extra."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
SMALL = r"""# made by a tool
alpha==1.0 ; sys_platform != 'win32' \
    --hash=sha256:aa \
    --hash=sha256:bb
    # via beta
beta-x==2.0 \
    --hash=sha256:cc
"""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("locked_subset", ROOT / "packaging" / "locked_subset.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_subset_keeps_pins_markers_and_hashes_of_what_is_wanted(script: ModuleType) -> None:
    assert script.subset(SMALL, ["Beta_X"]) == "beta-x==2.0 \\\n    --hash=sha256:cc\n"
    assert "sys_platform != 'win32'" in script.subset(SMALL, ["alpha"])


def test_constraints_are_the_pins_without_hashes(script: ModuleType) -> None:
    assert script.without_hashes(SMALL) == "alpha==1.0 ; sys_platform != 'win32'\nbeta-x==2.0\n"


def test_a_distribution_without_a_pin_is_an_error(script: ModuleType) -> None:
    with pytest.raises(KeyError):
        script.subset(SMALL, ["gamma"])


def test_every_pin_of_the_lock_has_a_hash(script: ModuleType) -> None:
    pins = dict(script.blocks(LOCK))

    assert len(pins) > 50
    assert [name for name, block in pins.items() if "--hash=sha256:" not in block] == []


def test_the_lock_names_no_address() -> None:
    assert re.findall(r"https?://|--index-url|--find-links", LOCK) == []
