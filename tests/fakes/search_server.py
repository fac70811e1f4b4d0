"""A web server that answers every request the way a test says; it keeps what it was asked."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class SearchServer:
    """What to answer next, and the path and query of every request so far."""

    url: str = ""
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    silent: bool = False
    """Take the request and never answer."""
    asked: list[str] = field(default_factory=list)
    sent: list[bytes] = field(default_factory=list)
    """The body of every POST so far."""
    sent_headers: list[Mapping[str, str]] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)


@contextmanager
def search_server() -> Iterator[SearchServer]:
    """A server on a free port of the loopback interface."""
    state = SearchServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            state.sent_headers.append(dict(self.headers.items()))
            if state.silent:
                state.done.wait(timeout=30)
                return
            self.send_response(state.status)
            for name, value in state.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(state.body)))
            self.end_headers()
            self.wfile.write(state.body)

        def do_POST(self) -> None:
            state.sent.append(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield state
    finally:
        state.done.set()
        server.shutdown()
        thread.join()
        server.server_close()
