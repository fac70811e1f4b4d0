"""The packaged model is the file that was tested, and it works where there is no network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memory_mcp.embedding import packaged
from memory_mcp.embedding.packaged import load_packaged
from memory_mcp.errors import EmbeddingError
from tests.memory_mcp.serving import environment

OFFLINE = """
import sys

def guard(event, arguments):
    if event.startswith("socket."):
        raise PermissionError(event)

sys.addaudithook(guard)
from memory_mcp.embedding.packaged import load_packaged
one, other, unlike = load_packaged().embed(["My car broke down.", "The vehicle is out of order.", "Tea is ready."])
near = sum(a * b for a, b in zip(one.parts, other.parts))
far = sum(a * b for a, b in zip(one.parts, unlike.parts))
print("near" if near > far else "far", len(one.parts))
"""


def test_the_model_works_without_a_network_and_asks_for_none(tmp_path: Path) -> None:
    python = [sys.executable, "-c", OFFLINE]
    apart = ["unshare", "--map-root-user", "--net"]
    if sys.platform == "linux" and subprocess.run([*apart, "true"], capture_output=True, check=False).returncode == 0:
        python = [*apart, *python]
    done = subprocess.run(python, env=environment(tmp_path), capture_output=True, text=True, check=False)

    assert (done.stdout, done.returncode) == ("near 384\n", 0), done.stderr


def test_another_file_in_the_models_place_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"something else")
    with pytest.raises(EmbeddingError, match="not the file that was tested"):
        load_packaged(path)


def test_without_the_extra_the_way_to_get_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="prometheus-agent\\[embeddings\\]"):
        load_packaged(tmp_path / "absent.onnx")
    monkeypatch.setattr(packaged, "_WHEEL", "a-wheel-that-is-not-there")
    with pytest.raises(EmbeddingError, match="needs the extra `embeddings`"):
        load_packaged()


def test_nothing_heavy_is_imported_before_a_model_is_loaded(tmp_path: Path) -> None:
    code = (
        "import sys, memory_mcp.server, memory_mcp.app\n"
        "import memory_mcp.embedding.packaged, memory_mcp.embedding.background\n"
        "print({'onnxruntime', 'numpy', 'psycopg'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(tmp_path), capture_output=True, text=True, check=True
    )

    assert done.stdout == "set()\n"
