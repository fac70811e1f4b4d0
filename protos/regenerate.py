"""Writes `protos/gen` anew from the `.proto` files.

`python protos/regenerate.py` rewrites the folder; `--check` writes nothing and exits with 1 when the folder
is not what the generator makes.
"""

from __future__ import annotations

import filecmp
import shutil
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from google.rpc import status_pb2  # type: ignore[import-untyped]
from grpc_tools import protoc

PROTOS = Path(__file__).resolve().parent
GENERATED = PROTOS / "gen"
DESCRIPTOR_SET = Path("prometheus", "receipts", "v1", "receipts.binpb")


def generate(target: Path) -> None:
    """Writes messages, their type stubs, the service stubs and one file that describes it all below `target`.

    The last is for clients in other languages: it needs no compiler and holds what the `.proto` files import.

    Raises:
        RuntimeError: the compiler refused a file; its own words are on stderr.
    """
    sources = sorted(str(path.relative_to(PROTOS)) for path in PROTOS.glob("prometheus/**/*.proto"))
    well_known = files("grpc_tools") / "_proto"
    arguments = ["protoc", f"-I{PROTOS}", f"-I{well_known}", f"-I{_common_protos()}", f"--python_out={target}"]
    arguments += [f"--pyi_out={target}", f"--grpc_python_out={target}"]
    arguments += [f"--descriptor_set_out={target / DESCRIPTOR_SET}", "--include_imports", *sources]
    (target / DESCRIPTOR_SET).parent.mkdir(parents=True)
    if protoc.main(arguments) != 0:
        message = "protoc refused the .proto files; its message is above"
        raise RuntimeError(message)
    for folder in (target / "prometheus").rglob("v1"):
        (folder / "py.typed").touch()


def _common_protos() -> Path:
    """Returns the folder under which `google/rpc/status.proto` lies: where googleapis-common-protos is installed."""
    return Path(status_pb2.__file__).parents[2]


def relative_files(folder: Path) -> list[Path]:
    """Returns every generated file below `folder`, relative and sorted."""
    return sorted(
        path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )


def is_fresh() -> bool:
    """Tells whether `protos/gen` holds exactly what the generator makes."""
    with tempfile.TemporaryDirectory() as temporary:
        expected = Path(temporary)
        generate(expected)
        names = relative_files(expected)
        if names != relative_files(GENERATED):
            return False
        return all(filecmp.cmp(expected / name, GENERATED / name, shallow=False) for name in names)


def main() -> int:
    """Regenerates or, with `--check`, compares."""
    if "--check" in sys.argv[1:]:
        if is_fresh():
            return 0
        sys.stderr.write("protos/gen is stale: run `make protos` and commit the result\n")
        return 1
    shutil.rmtree(GENERATED, ignore_errors=True)
    GENERATED.mkdir()
    generate(GENERATED)
    return 0


if __name__ == "__main__":
    sys.exit(main())
