"""Sets up the export of a process's spans, by OpenTelemetry's own variables.

    export = start(told, "receipt-writer")     # None: nobody asked, or it cannot be had (one warning)
    …
    if export: export.close()                           # what is left leaves, in less than a second

The SDK sends batches from a thread of its own, so nothing waits for a collector: not a turn, and not the end of the
process for longer than `close` may take.
"""

import logging
import os
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from service_telemetry.redaction import redact_text

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

    from service_telemetry.outgoing import Outgoing

PATIENCE_S: Final = 0.7
_PRODUCT: Final = "prometheus-agent"
_OTEL: Final = "OTEL_"
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_HTTP: Final = "http/protobuf"
_IMPORTED: Final = (
    "service_telemetry.outgoing",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.sdk.resources",
    "opentelemetry.sdk.trace.export",
)
_logger = logging.getLogger("service_telemetry")


class Export:
    """The spans of this process on their way; made by `start`."""

    def __init__(self, provider: "TracerProvider", outgoing: "Outgoing") -> None:
        self.provider = provider
        self._outgoing = outgoing
        self._flushing: threading.Thread | None = None

    def flush_soon(self) -> None:
        """Send what is there now, in the background; nothing when that is under way already."""
        if self._flushing is None or not self._flushing.is_alive():
            self._flushing = threading.Thread(target=self.provider.force_flush, daemon=True)
            self._flushing.start()

    def close(self, patience_s: float = PATIENCE_S) -> None:
        """Send what is left and stop; what takes longer than `patience_s`, or goes nowhere anyway, is given up."""
        ending = threading.Thread(target=self.provider.shutdown, daemon=True)
        ending.start()
        until_s = time.monotonic() + patience_s
        while ending.is_alive() and time.monotonic() < until_s and not self._outgoing.is_in_trouble:
            ending.join(0.02)
        if ending.is_alive():
            self._outgoing.warn("no answer in time")


def is_asked_for(told: Mapping[str, str]) -> bool:
    """Tell whether these variables ask for spans: an endpoint is set, and nothing switches them off."""
    is_off = told.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    exporters = {name.strip() for name in told.get("OTEL_TRACES_EXPORTER", "otlp").split(",")}
    return not is_off and "otlp" in exporters and bool(_first(_ENDPOINTS, told))


def preloads(told: Mapping[str, str]) -> tuple[str, ...]:
    """Return the modules that `start` will import in processes that are forked from one that has them already.

    Not those of gRPC, which must not be loaded before a fork.
    """
    is_http = (_first(_PROTOCOLS, told) or _HTTP) == _HTTP
    return _IMPORTED if is_http and is_asked_for(told) else ()


def start(told: Mapping[str, str], service: str) -> Export | None:
    """Begin to export this process's spans when that is asked for; None when it is not, or cannot be.

    `told` are the settings of the process; its `OTEL_…` members become environment variables, because the SDK takes
    them from nowhere else. What is missing or wrong is one warning: no work fails for want of a trace.
    """
    if not is_asked_for(told):
        return None
    os.environ.update({name: value for name, value in told.items() if name.startswith(_OTEL)})
    for name in [name for name, value in os.environ.items() if name.startswith(_OTEL) and not value]:
        del os.environ[name]  # empty is not set, which not every part of the SDK knows
    os.environ.setdefault("OTEL_BSP_SCHEDULE_DELAY", "200")  # the SDK's 5 s outlast many a process here
    try:
        return _export(told, service)
    except ImportError as error:
        _logger.warning("Spans are not exported: %s is missing; pip install 'prometheus-agent[otel]'.", error.name)
    except (OSError, ValueError) as error:
        _logger.warning("Spans are not exported: %s; correct the OTEL_ variables.", redact_text(str(error)))
    return None


def _export(told: Mapping[str, str], service: str) -> Export:
    from importlib.metadata import version

    from opentelemetry import trace
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from service_telemetry.outgoing import Outgoing, Said

    said = Said()
    exporter = _exporter(_first(_PROTOCOLS, told) or _HTTP, _first(_ENDPOINTS, told))
    named = {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": service}
    about = {"service.namespace": _PRODUCT, "service.version": version(_PRODUCT), **named}
    outgoing = Outgoing(exporter, _shown(_first(_ENDPOINTS, told)), said)
    provider = TracerProvider(resource=Resource.create(about), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(outgoing))
    if said.words:  # by any part of the SDK; up to a colon, as a value that cannot be read may be a secret
        _logger.warning("An OTEL_ variable is not used as it stands: %s.", said.words.partition(":")[0].rstrip("."))
        said.words = ""
    trace.set_tracer_provider(provider)
    return Export(provider, outgoing)


def _exporter(protocol: str, endpoint: str) -> "SpanExporter":
    """Return the exporter of a protocol, which takes the endpoint from the environment.

    Raises:
        ImportError: It is not installed.
        ValueError: There is none, or its variables are wrong.
    """
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter

        return GrpcExporter()
    if protocol != _HTTP:
        raise ValueError(f"OTEL_EXPORTER_OTLP_PROTOCOL must be {_HTTP} or grpc")
    if not endpoint.lower().startswith(("http://", "https://")):
        raise ValueError("OTEL_EXPORTER_OTLP_ENDPOINT must begin with http:// or https://")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter

    return HttpExporter()


def _first(names: tuple[str, ...], told: Mapping[str, str]) -> str:
    return next((told[name] for name in names if told.get(name)), "")


def _shown(endpoint: str) -> str:
    """Return an address as it may be shown: a user and a password in it are left out."""
    from urllib.parse import urlsplit

    return urlsplit(endpoint if "://" in endpoint else f"//{endpoint}").netloc.rpartition("@")[2]
