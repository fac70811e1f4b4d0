"""An embeddings endpoint that speaks the wire of OpenAI's, over real HTTP on this machine."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSIONS = 64
KEY = "sk-of-the-tests"


@dataclass
class EmbeddingsServer:
    """Its address, what it was asked, and how it answers: in words of its own when `answer` is set."""

    url: str
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    status: int = 200
    answer: str | None = None


@contextmanager
def serving() -> Iterator[EmbeddingsServer]:
    """A server, gone at the end of the block."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    state = EmbeddingsServer(f"http://127.0.0.1:{http.server_port}/v1")
    http.state = state  # type: ignore[attr-defined]
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        state: EmbeddingsServer = self.server.state  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        state.asked.append(body)
        state.headers.append(dict(self.headers))
        status, answer = state.status, state.answer
        if answer is None:
            status, answer = self._true_answer(status, body)
        sent = answer.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def _true_answer(self, status: int, body: dict[str, Any]) -> tuple[int, str]:
        if self.path != "/v1/embeddings":
            return 404, json.dumps({"error": {"message": "Unknown path", "type": "invalid_request_error"}})
        if status != 200:
            return status, json.dumps({"error": {"message": "No.", "type": "invalid_request_error", "code": None}})
        data = [
            {"object": "embedding", "index": index, "embedding": _embedding(text)}
            for index, text in enumerate(body["input"])
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        data.reverse()  # an answer may be in any order
        return 200, json.dumps({"object": "list", "data": data, "model": body["model"], "usage": usage})

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the standard library
        """Say nothing."""


def _embedding(text: str) -> list[float]:
    """A vector of the words of a text: texts that share words are near."""
    values = [0.01] * DIMENSIONS
    for word in text.lower().split():
        values[hashlib.sha256(word.encode()).digest()[0] % DIMENSIONS] += 1.0
    return values
