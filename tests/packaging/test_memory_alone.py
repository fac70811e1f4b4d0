"""`pip install 'prometheus-agent[memory]'` brings what the memory server needs, and nothing heavy."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
HEAVY = {
    *("grpcio", "grpcio-health-checking", "grpcio-reflection", "protobuf", "torch", "transformers", "tensorflow"),
    *("onnxruntime", "numpy", "psycopg", "anthropic", "openai", "dateparser", "trafilatura", "lxml", "typer"),
}
OWN_EXTRAS = ("embedding", "storage/postgres", "storage/sqlite_vectors")
"""Parts of the server with an extra of their own, imported only when they are asked for."""


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> list[Requirement]:
    """What the wheel says it requires."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = Parser().parsestr(archive.read(name).decode()).get_all("Requires-Dist") or []
    return [Requirement(line) for line in lines]


def closure(metadata: list[Requirement], extra: str) -> set[str]:
    """Every distribution that an extra of the wheel brings on this machine."""
    found: set[str] = set()
    pending = [requirement for requirement in metadata if _is_wanted(requirement, {extra, ""})]
    while pending:
        requirement = pending.pop()
        name = canonicalize_name(requirement.name)
        key = f"{name}[{','.join(sorted(requirement.extras))}]"
        if key in found:
            continue
        found |= {name, key}
        try:
            inside = map(Requirement, requires(name) or ())
        except PackageNotFoundError:  # not for this platform
            continue
        pending += [one for one in inside if _is_wanted(one, {*requirement.extras, ""})]
    return {name for name in found if "[" not in name}


def _is_wanted(requirement: Requirement, extras: set[str]) -> bool:
    return requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in extras)


def imported(folder: Path) -> Iterator[str]:
    """The top-level modules that a package's code imports, at its start or later."""
    for path in folder.rglob("*.py"):
        if any(path.relative_to(folder).as_posix().startswith(part) for part in OWN_EXTRAS):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.partition(".")[0]


def test_the_memory_extra_brings_nothing_heavy(metadata: list[Requirement]) -> None:
    brought = closure(metadata, "memory")

    assert {"fastmcp", "mcp", "pyyaml", "sqlite-utils"} <= brought
    assert brought & HEAVY == set()
    assert {"grpcio", "protobuf"} <= closure(metadata, "writer")


def test_spans_can_be_sent_without_grpc(metadata: list[Requirement]) -> None:
    brought = closure(metadata, "otel-http")

    assert "opentelemetry-sdk" in brought
    assert "grpcio" not in brought
    assert {"opentelemetry-sdk", "grpcio"} <= closure(metadata, "otel")


def test_the_memory_extra_brings_all_that_the_server_imports(metadata: list[Requirement]) -> None:
    brought = closure(metadata, "memory")
    distributions = packages_distributions()
    modules = {*imported(ROOT / "services" / "memory_mcp"), *imported(ROOT / "services" / "service_runtime")}
    foreign = modules - set(sys.stdlib_module_names) - {"memory_mcp", "service_runtime", "service_telemetry"}
    missing = {
        module
        for module in foreign
        if not {canonicalize_name(name) for name in distributions.get(module, [module])} & brought
    }

    assert {"fastmcp", "mcp", "yaml"} <= foreign
    assert missing == set()
