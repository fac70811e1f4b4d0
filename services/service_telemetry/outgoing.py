"""The last step before a collector: a span loses what may not leave, and the first failure is told, once.

Libraries record what went wrong in their own words, which quote arguments and answers. So of an exception only its type
leaves, of a status no description, and of what the conventions call content nothing at all, whoever put it on a span.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Final

from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import Status
from opentelemetry.util.types import AnyValue

from service_telemetry.redaction import redact_text

_CONTENT: Final = frozenset(
    f"gen_ai.{name}"
    for name in (
        *("input.messages", "output.messages", "system_instructions", "memory.records", "retrieval.documents"),
        *("tool.definitions", "tool.description", "tool.call.arguments", "tool.call.result", "retrieval.query.text"),
    )
)
_EXCEPTION_TYPE: Final = "exception.type"
_SYSTEMS_WORDS: Final = re.compile(r"\[Errno -?\d+\] ([\w ]+)")
_WORDS: Final = 200  # characters of what an exporter says
_logger = logging.getLogger("service_telemetry")


class Outgoing(SpanExporter):
    """Hands cleaned spans to the real exporter; warns of the first batch that does not arrive and of no other."""

    def __init__(self, exporter: SpanExporter, destination: str, said: "Said") -> None:
        """Takes the exporter, the collector's address as it may be shown, and who listens to the exporter."""
        self._exporter = exporter
        self._destination = destination
        self._said = said
        self._has_warned = False

    @property
    def is_in_trouble(self) -> bool:
        """Whether the collector has failed, or the exporter says of the batch under way that it has to try again."""
        return self._has_warned or bool(self._said.words)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch; never raises."""
        self._said.words = ""
        try:
            result = self._exporter.export([cleaned(span) for span in spans])
        except (OSError, RuntimeError, TypeError, ValueError) as error:
            self._said.words, result = type(error).__name__, SpanExportResult.FAILURE
        if result is SpanExportResult.SUCCESS:
            self._said.words = ""
        else:
            self.warn("no reason was given")
        return result

    def warn(self, otherwise: str) -> None:
        """Say once that spans do not arrive, with what the exporter said last, or else this."""
        if not self._has_warned:
            self._has_warned = True
            _logger.warning(
                "Spans cannot be sent to %s (%s); the work goes on, and this is said once.",
                self._destination,
                self._said.words or otherwise,
            )

    def shutdown(self) -> None:
        """Close the exporter."""
        self._exporter.shutdown()


class Said(logging.Handler):
    """Listens to what OpenTelemetry logs in place of everybody else, and keeps the last of it as it may be shown."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.words = ""
        logger = logging.getLogger("opentelemetry")
        logger.propagate, logger.handlers = False, [self]

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what a record says, or the system's own reason where it names one."""
        words = " ".join(record.getMessage().split())
        system = _SYSTEMS_WORDS.search(words)
        self.words = system[1].lower() if system else redact_text(words.removeprefix("Transient error "))[:_WORDS]


def cleaned(span: ReadableSpan) -> ReadableSpan:
    """Return the span without exceptions' words, status descriptions, content and secrets."""
    return ReadableSpan(
        name=redact_text(span.name),
        context=span.get_span_context(),
        parent=span.parent,
        resource=span.resource,
        attributes=_attributes(span.attributes or {}),
        events=[_event(event) for event in span.events],
        links=span.links,
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _event(event: Event) -> Event:
    told = (event.attributes or {}).items()
    kept = {name: value for name, value in told if name == _EXCEPTION_TYPE or not name.startswith("exception.")}
    return Event(event.name, _attributes(kept), event.timestamp)


def _attributes(attributes: Mapping[str, AnyValue]) -> dict[str, AnyValue]:
    return {name: _value(value) for name, value in attributes.items() if name not in _CONTENT}


def _value(value: AnyValue) -> AnyValue:
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return tuple(_value(item) for item in value)
    return value
