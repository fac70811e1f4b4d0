"""Each check of the format is there for a test: without the check, that test fails."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.receipt_writer.format.material import ROOT
from tests.receipt_writer.format.mutants import MUTANTS, Mutant
from tests.receipt_writer.format.planted import run

SOURCES = ROOT / "services" / "receipt_writer"
PLACE = "tests/receipt_writer/format/"
FAILED = 1  # pytest's word for "tests ran and some failed"; a test that cannot be run has another


def plant(mutant: Mutant, folder: Path) -> None:
    """Copy the format into a folder, with the fault in it."""
    shutil.copytree(
        SOURCES / "format", folder / "receipt_writer" / "format", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(SOURCES / "__init__.py", folder / "receipt_writer")
    file = folder / "receipt_writer" / "format" / f"{mutant.module}.py"
    source = file.read_text(encoding="utf-8")
    assert source.count(mutant.right) == 1, f"the place of the fault is no longer there once: {mutant}"
    file.write_text(source.replace(mutant.right, mutant.wrong), encoding="utf-8")


def test_the_faults_are_many_and_of_every_module() -> None:
    assert len({mutant.fault for mutant in MUTANTS}) == len(MUTANTS) > 50
    by_module = Counter(mutant.module for mutant in MUTANTS)
    assert by_module.keys() >= {
        "canonical",
        "chain",
        "checkpoint",
        "entry",
        "keylog",
        "kinds",
        "merkle",
        "policy",
        "signing",
    }


def test_the_place_of_every_fault_is_still_there_once() -> None:
    sources = {mutant.module: (SOURCES / "format" / f"{mutant.module}.py").read_text() for mutant in MUTANTS}

    assert [mutant.fault for mutant in MUTANTS if sources[mutant.module].count(mutant.right) != 1] == []


@pytest.mark.fuzz
@pytest.mark.timeout(600)
def test_each_fault_makes_its_test_fail(tmp_path: Path) -> None:
    def survives(number: int) -> str:
        mutant, folder = MUTANTS[number], tmp_path / str(number)
        plant(mutant, folder)
        code, printed = run(PLACE + mutant.test, folder)
        return "" if code == FAILED else f"{mutant.fault}: exit {code} of {mutant.test}\n{printed[-600:]}"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        survivors = [text for text in pool.map(survives, range(len(MUTANTS))) if text]

    assert not survivors, "\n".join(survivors)
