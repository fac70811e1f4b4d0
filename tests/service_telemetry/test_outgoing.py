from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, Status, StatusCode, Tracer

from service_telemetry.outgoing import Outgoing, Said

KEY = "sk-ant-abcdefghijklmnopqrstuvwxyz"


class Refusing(SpanExporter):
    """Says why, as OpenTelemetry's own exporters do, and takes nothing."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.closed = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:  # noqa: ARG002 -- it takes none
        if self.error:
            raise self.error
        logging.getLogger("opentelemetry.exporter.otlp").error("Failed: 401 Unauthorized for Bearer %s", KEY)
        return SpanExportResult.FAILURE

    def shutdown(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    """OpenTelemetry's logger, as it was again afterwards."""
    logger = logging.getLogger("opentelemetry")
    handlers, propagate = logger.handlers, logger.propagate
    yield
    logger.handlers, logger.propagate = handlers, propagate


def tracer_to(exporter: SpanExporter) -> Tracer:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(Outgoing(exporter, "collector:4318", Said())))
    return provider.get_tracer("test")


def sent(name: str = "work", **attributes: str | int | Sequence[str]) -> ReadableSpan:
    kept = InMemorySpanExporter()
    with tracer_to(kept).start_as_current_span(name) as span:
        span.set_attributes({key.replace("__", "."): told for key, told in attributes.items()})
    return kept.get_finished_spans()[0]


def test_a_span_leaves_with_its_links() -> None:
    kept = InMemorySpanExporter()
    tracer = tracer_to(kept)
    with tracer.start_as_current_span("turn") as turn:
        pass
    tracer.start_span("work", links=[Link(turn.get_span_context())]).end()

    (link,) = kept.get_finished_spans()[1].links
    assert link.context == turn.get_span_context()


def test_a_span_leaves_with_what_it_is_about() -> None:
    span = sent(gen_ai__tool__name="notes_read", gen_ai__usage__input_tokens=12, mcp__tags=("a", "b"))

    assert span.attributes == {
        "gen_ai.tool.name": "notes_read",
        "gen_ai.usage.input_tokens": 12,
        "mcp.tags": ("a", "b"),
    }
    assert span.name == "work"
    assert span.end_time is not None
    assert span.resource.attributes["telemetry.sdk.language"] == "python"


@pytest.mark.parametrize(
    "name",
    [
        "gen_ai__input__messages",
        "gen_ai__tool__call__arguments",
        "gen_ai__tool__call__result",
        "gen_ai__tool__definitions",
    ],
)
def test_content_does_not_leave_whoever_put_it_there(name: str) -> None:
    assert sent(**{name: "my doctor is Ana"}).attributes == {}


def test_a_secret_is_hidden_wherever_it_stands() -> None:
    span = sent(f"tools/call {KEY}", url=f"https://me:hunter2@host/?api_key={KEY}", several=("ok", f"Bearer {KEY}"))

    assert span.name == "tools/call ***"
    assert span.attributes == {"url": "https://***@host/?api_key=***", "several": ("ok", "***")}


def test_an_exception_leaves_by_its_type_alone() -> None:
    kept = InMemorySpanExporter()
    with pytest.raises(ValueError, match="hunter2"), tracer_to(kept).start_as_current_span("work"):
        raise ValueError("the password hunter2 is wrong")
    (span,) = kept.get_finished_spans()

    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description is None
    assert [(event.name, event.attributes) for event in span.events] == [
        ("exception", {"exception.type": "ValueError"})
    ]


def test_another_event_keeps_its_attributes() -> None:
    kept = InMemorySpanExporter()
    with tracer_to(kept).start_as_current_span("work") as span:
        span.add_event("gen_ai.evaluation.result", {"gen_ai.evaluation.name": "relevance"})
        span.set_status(Status(StatusCode.OK))
    (seen,) = kept.get_finished_spans()

    assert seen.events[0].attributes == {"gen_ai.evaluation.name": "relevance"}
    assert seen.status.status_code is StatusCode.OK


def test_a_collector_that_refuses_is_one_warning_with_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    tracer = tracer_to(Refusing())
    for _ in range(3):
        tracer.start_span("work").end()

    (told,) = caplog.messages
    assert told.startswith(
        "Spans cannot be sent to collector:4318 (Failed: 401 Unauthorized for ***); the work goes on"
    )


def test_an_exporter_that_raises_is_one_warning_too(caplog: pytest.LogCaptureFixture) -> None:
    tracer = tracer_to(Refusing(RuntimeError("out of sockets")))
    for _ in range(3):
        tracer.start_span("work").end()

    assert caplog.messages == [
        "Spans cannot be sent to collector:4318 (RuntimeError); the work goes on, and this is said once."
    ]


def test_closing_closes_the_exporter() -> None:
    exporter = Refusing()

    Outgoing(exporter, "collector", Said()).shutdown()

    assert exporter.closed
