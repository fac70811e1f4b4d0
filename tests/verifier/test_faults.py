"""Each check of the verifiers is there for a case of the vectors: without the check, that case comes out otherwise."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.verifier.both import NOW_MS, Outcome, Verifiers, run_python
from tests.verifier.faults import FAULTS, Fault
from tests.verifier.test_corpus import ALONE, CASES, alone, arguments
from tests.verifier.test_vectors import CASES as OLDER
from tests.verifier.test_vectors import CHOSEN
from tests.verifier.test_vectors import arguments as older_arguments

ROOT = Path(__file__).parents[2]
PYTHON, NODE = ((ROOT / "verifier" / name).read_text(encoding="utf-8") for name in ("verify.py", "verify.mjs"))
Expected = tuple[int, str | None, int | None, str | None]
EIGHT = """

def by_eight(point):
    for _ in range(3):
        point = add(point, point)
    inverse = pow(point[2], -1, P)
    return point[0] * inverse % P, point[1] * inverse % P
"""
"""What the one fault needs that adds arithmetic."""


def planted(source: str, edit: tuple[str, str]) -> str:
    right, wrong = edit
    assert source.count(right) == 1, right
    return source.replace(right, wrong)


def python_with(fault: Fault) -> types.ModuleType:
    """verify.py with the fault in it, and without PyNaCl where its own arithmetic is at stake."""
    assert fault.python is not None
    name = f"verify_with_{FAULTS.index(fault)}"
    module = sys.modules[name] = types.ModuleType(name)
    module.__file__ = str(ROOT / "verifier" / "verify.py")
    exec(compile(planted(PYTHON, fault.python) + EIGHT, name, "exec"), module.__dict__)  # noqa: S102 - the point
    if fault.case.startswith("curve:"):
        module.__dict__["crypto_sign_open"] = None
    return module


def asked(fault: Fault, folder: Path) -> tuple[list[str], Expected]:
    """The arguments of a fault's case, and what must come out."""
    kind, _, name = fault.case.rpartition(":")
    if kind == "alone":
        row = next(row for row in ALONE if row["name"] == name)
        passes = row["verdict"] == "PASS"
        exits = {"PASS": 0, "MALFORMED": 8, "UNSUPPORTED": 9}
        return alone(row, folder), (exits[row["verdict"]], row["verdict"], None if passes else 1, row["check"])
    case = next(case for case in (OLDER if kind == "v2" else CASES) if case["name"] == name)
    given = older_arguments(case) if kind == "v2" else arguments(case)
    if "reports" in case or case["name"].startswith("several/"):
        return given, (case["exit"], case["verdict"], None, None)
    return given, (case["exit"], case["verdict"], case["id"], CHOSEN.get(name, case["check"]))


def came_out(outcome: Outcome) -> Expected:
    return outcome.exit, *outcome.found


@cache
def curve() -> dict[str, dict[str, Any]]:
    rows = json.loads((ROOT / "verifier" / "vectors" / "v3" / "ed25519.json").read_text())
    return {f"curve:{row['name']}": row for row in rows}


def survives_in_python(fault: Fault, folder: Path) -> bool:
    module = python_with(fault)
    if row := curve().get(fault.case):
        return bool(module.ed25519_holds(*(bytes.fromhex(row[part]) for part in PARTS)) == row["holds"])
    given, expected = asked(fault, folder)
    return came_out(run_python([*given, "--json"], NOW_MS, module=module)) == expected


PARTS = ("key", "message", "signature")


def survives_in_node(fault: Fault, folder: Path, verifiers: Verifiers) -> bool:
    assert fault.node is not None
    file = folder / f"fault-{FAULTS.index(fault)}.mjs"
    file.write_text(planted(NODE, fault.node), encoding="utf-8")
    if row := curve().get(fault.case):
        held = verifiers.ask_node(ask="ed25519", file=str(file), **{part: row[part] for part in PARTS})
        return bool(held == row["holds"])
    given, expected = asked(fault, folder)
    outcome = verifiers.ask_node(ask="run", file=str(file), args=[*given, "--json"], nowMs=NOW_MS, threads=None)
    return came_out(Outcome(**outcome)) == expected


def test_the_faults_are_many_in_each_verifier() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert sum(fault.python is not None for fault in FAULTS) > 80
    assert sum(fault.node is not None for fault in FAULTS) > 70


@pytest.mark.parametrize(("source", "of"), [(PYTHON, "python"), (NODE, "node")], ids=["python", "node"])
def test_the_place_of_every_fault_is_still_there_once(source: str, of: str) -> None:
    edits = {fault.name: getattr(fault, of) for fault in FAULTS}

    assert [name for name, edit in edits.items() if edit and source.count(edit[0]) != 1] == []


@pytest.fixture(params=["verify.py", "verify.mjs"])
def survives(request: pytest.FixtureRequest, tmp_path: Path, verifiers: Verifiers) -> Iterator[Callable[[Fault], bool]]:
    """Whether a fault goes unseen: the case comes out as it must although the check is gone."""
    if request.param == "verify.py":
        yield lambda fault: fault.python is not None and survives_in_python(fault, tmp_path)
    else:
        yield lambda fault: fault.node is not None and survives_in_node(fault, tmp_path, verifiers)


@pytest.mark.fuzz
@pytest.mark.timeout(300)
def test_each_fault_makes_its_case_come_out_otherwise(survives: Callable[[Fault], bool]) -> None:
    assert [f"{fault.name}: {fault.case}" for fault in FAULTS if survives(fault)] == []
