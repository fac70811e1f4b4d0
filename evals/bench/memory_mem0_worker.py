"""Runs mem0 for `memory_peers`, in the interpreter that has it: JSON lines in, JSON lines out. Imports nothing of ours.

No inference and no telemetry; the embedder is a stand-in that gives the vectors it was handed.
"""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from pathlib import Path
from typing import Any


class _Given:
    """An embedder that gives the vector of the request at hand."""

    def __init__(self) -> None:
        self.vector: list[float] = []

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        del text, memory_action
        return self.vector

    def embed_batch(self, texts: list[str], memory_action: str = "add") -> list[list[float]]:
        return [self.embed(text, memory_action) for text in texts]


def main() -> int:
    """Serves until the input ends."""
    folder = Path(sys.argv[1])
    os.environ |= {"MEM0_TELEMETRY": "false", "MEM0_DIR": str(folder)}
    from mem0 import Memory

    place = {"path": str(folder / "vectors"), "embedding_model_dims": 384, "on_disk": True}
    nobody = {"provider": "openai", "config": {"api_key": "none"}}
    memory = Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": place},
            "embedder": nobody,
            "llm": nobody,
            "history_db_path": str(folder / "history.db"),
        },
    )
    given = _Given()
    memory.embedding_model = given
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_done(memory, given, json.loads(line))) + "\n")
        sys.stdout.flush()
    return 0


def _done(memory: Any, given: _Given, request: dict[str, Any]) -> dict[str, Any]:
    user = request["user"]
    if request["do"] == "bulk":
        payloads = [{"data": text, "hash": text[:32], "user_id": user} for text in request["texts"]]
        names = [str(uuid.uuid4()) for _ in payloads]
        memory.vector_store.insert(vectors=request["vectors"], payloads=payloads, ids=names)
        return {}
    given.vector = request["vector"]
    started = time.perf_counter()
    if request["do"] == "add":
        memory.add(request["text"], user_id=user, infer=False)
        return {"ms": (time.perf_counter() - started) * 1000}
    answer = memory.search(request["text"], filters={"user_id": user}, top_k=20, threshold=0.0)
    took_ms = (time.perf_counter() - started) * 1000
    return {"ms": took_ms, "found": [entry["memory"] for entry in answer["results"]]}


if __name__ == "__main__":
    sys.exit(main())
