"""Sizes, names and docstrings the project holds itself to (CONTRIBUTING.md, Style)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE_CAP = 500
FUNCTION_CAP = 70
LOOP_CAP = 150
RUNTIME_CAP = 600
TELEMETRY_CAP = 200  # a package of its own, see docs/adr/0013
FORK_SERVER = {"forkserver", "launch"}  # a program of its own beside the plumbing, see docs/adr/0005
LARGER_FILES = {"verifier/verify.py": 1754}  # one file by design: it must run alone, with its own Ed25519
JUNK_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "core", "libs", "lib"}
FORBIDDEN_MARKS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def python_files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "gen" not in path.relative_to(ROOT).parts and "__pycache__" not in path.parts:
                yield path


def lines(path: Path) -> int:
    return path.read_text().count("\n")


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_no_file_is_longer_than_its_cap() -> None:
    files = list(python_files("services", "tests", "evals", "verifier", "protos", "packaging"))
    too_long = {name(path): lines(path) for path in files if lines(path) > LARGER_FILES.get(name(path), FILE_CAP)}

    assert len(files) > 100
    assert too_long == {}


def test_the_node_verifier_can_be_read_in_one_sitting() -> None:
    assert lines(ROOT / "verifier" / "verify.mjs") <= FILE_CAP + 803


def test_the_loop_stays_short_enough_to_read_aloud() -> None:
    assert lines(ROOT / "services" / "agent_host" / "loop.py") <= LOOP_CAP


def test_the_process_plumbing_stays_small() -> None:
    plumbing = [path for path in python_files("services/service_runtime") if path.stem not in FORK_SERVER]
    code = sum(_code_lines(path) for path in plumbing)

    assert code <= RUNTIME_CAP


def test_the_way_to_a_collector_stays_smaller() -> None:
    code = sum(_code_lines(path) for path in python_files("services/service_telemetry"))

    assert 0 < code <= TELEMETRY_CAP


def _code_lines(path: Path) -> int:
    """Lines that hold code: blank lines, comments and docstrings do not count."""
    tree = ast.parse(path.read_text())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    described: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            statement = node.body[0]
            described.update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    rows = enumerate(path.read_text().splitlines(), start=1)
    return sum(1 for number, row in rows if number not in described and row.strip() and not row.strip().startswith("#"))


def test_no_function_is_longer_than_its_cap() -> None:
    too_long = {
        f"{name(path)}:{function.name}": length
        for path in python_files("services", "evals", "verifier", "protos", "packaging")
        for function in functions(path)
        if (length := (function.end_lineno or 0) - function.lineno + 1) > FUNCTION_CAP
    }

    assert too_long == {}


def test_no_module_or_folder_is_a_junk_drawer() -> None:
    parts = {part.removesuffix(".py") for path in python_files("services") for part in path.relative_to(ROOT).parts}

    assert parts & JUNK_NAMES == set()


def test_no_work_is_left_behind_in_comments() -> None:
    marked = [
        name(path) for path in python_files("services", "evals", "verifier") if FORBIDDEN_MARKS.search(path.read_text())
    ]

    assert marked == []


@pytest.mark.parametrize("folder", ["services", "evals"])
def test_broad_excepts_are_rare(folder: str) -> None:
    files = list(python_files(folder))
    broad = sum(_broad_excepts(path) for path in files)
    thousands = sum(lines(path) for path in files) / 1000

    assert broad <= 0.3 * max(thousands, 1)


def _broad_excepts(path: Path) -> int:
    handlers = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ExceptHandler))
    return sum(
        1
        for handler in handlers
        if handler.type is None
        or (isinstance(handler.type, ast.Name) and handler.type.id in {"Exception", "BaseException"})
    )
