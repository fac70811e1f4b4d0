"""A collector: takes spans over OTLP, by HTTP in protobuf and by gRPC, and keeps what came as it came."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest as Request
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse as Response
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

PATIENCE_S = 30.0


@dataclass(frozen=True)
class Span:
    """One span as a collector reads it; ids in hex, `parent` empty for a root."""

    name: str
    service: str
    trace: str
    id: str
    parent: str
    kind: int
    attributes: dict[str, Any]
    status: int
    status_words: str
    events: tuple[tuple[str, dict[str, Any]], ...]
    links: tuple[tuple[str, str], ...]  # trace and span


@dataclass
class Receiver:
    """What has arrived. With a `status` other than 200 every request over HTTP is refused."""

    endpoint: str = ""
    status: int = 200
    spans: list[Span] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    news: threading.Condition = field(default_factory=threading.Condition)

    def take(self, body: bytes, headers: dict[str, str]) -> None:
        with self.news:
            self.raw.append(body)
            self.headers.append(headers)
            if self.status == 200:
                self.spans += read(body)
            self.news.notify_all()

    def wait(self, wanted: Callable[[list[Span]], bool]) -> list[Span]:
        """Return the spans once they are as wanted."""
        with self.news:
            assert self.news.wait_for(lambda: wanted(self.spans), PATIENCE_S), [span.name for span in self.spans]
            return list(self.spans)

    def wait_for_request(self) -> None:
        """Return once something has come, refused or not."""
        with self.news:
            assert self.news.wait_for(lambda: bool(self.raw), PATIENCE_S)


def read(body: bytes) -> Iterator[Span]:
    """Yield the spans of an ExportTraceServiceRequest."""
    for resource in Request.FromString(body).resource_spans:
        about = {one.key: value(one.value) for one in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Span(
                    name=span.name,
                    service=about["service.name"],
                    trace=span.trace_id.hex(),
                    id=span.span_id.hex(),
                    parent=span.parent_span_id.hex(),
                    kind=span.kind,
                    attributes={one.key: value(one.value) for one in span.attributes},
                    status=span.status.code,
                    status_words=span.status.message,
                    events=tuple(
                        (event.name, {one.key: value(one.value) for one in event.attributes}) for event in span.events
                    ),
                    links=tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
                )


def value(told: AnyValue) -> Any:
    kind = told.WhichOneof("value")
    if kind == "array_value":
        return [value(one) for one in told.array_value.values]
    return getattr(told, kind) if kind else None


@contextmanager
def over_http(status: int = 200, hold: threading.Event | None = None) -> Iterator[Receiver]:
    """A collector at `/v1/traces`; with `hold` it takes each request and answers none before that is set."""
    receiver = Receiver(status=status)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            receiver.take(body, {name.lower(): told for name, told in self.headers.items()})
            if hold is not None:
                hold.wait(PATIENCE_S)
            self.send_response(receiver.status if self.path == "/v1/traces" else 404)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the library's name
            """Keeps quiet."""

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:
                self.close_connection = True  # the client was told to hurry

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = False  # closing waits for them, so that none outlives its test
    serving = threading.Thread(target=server.serve_forever, args=(0.05,))
    serving.start()
    receiver.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield receiver
    finally:
        if hold is not None:
            hold.set()
        server.shutdown()
        serving.join()
        server.server_close()


@contextmanager
def over_grpc() -> Iterator[Receiver]:
    """A collector of the gRPC kind."""
    receiver = Receiver()

    class Service(TraceServiceServicer):
        def Export(self, request: Request, context: grpc.ServicerContext) -> Response:  # noqa: N802 -- the contract's
            told = {name: str(word) for name, word in context.invocation_metadata()}
            receiver.take(request.SerializeToString(), told)
            return Response()

    server = grpc.server(futures.ThreadPoolExecutor(2))
    add_TraceServiceServicer_to_server(Service(), server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    receiver.endpoint = f"http://127.0.0.1:{port}"
    try:
        yield receiver
    finally:
        server.stop(None).wait()


def closed_port() -> str:
    """An endpoint where nobody listens."""
    with over_http() as receiver:
        return receiver.endpoint
