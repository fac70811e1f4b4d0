"""A span for each call of the contract that has one request and one answer, under the caller's own span.

The caller's W3C trace context comes in the call's metadata. Names are those of OpenTelemetry's conventions for RPC
(v1.45); no request and no answer is looked at. Imported only where spans are exported.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import grpc
import grpc.aio
from opentelemetry.propagate import extract
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, get_tracer

from receipt_writer.rpc.call import Context
from receipt_writer.rpc.handlers import PREFIX, Handler

_SYSTEM, _METHOD, _STATUS, _ERROR = "rpc.system.name", "rpc.method", "rpc.response.status_code", "error.type"
_CALLERS_FAULT: Final = frozenset(
    {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.CANCELLED,
    }
)
"""Answers that are no failure of the server (conventions for gRPC servers)."""


class CallSpans(grpc.aio.ServerInterceptor):
    """Records calls; stands outside the gate, so that a refusal has its span too."""

    def __init__(self, tracer: Tracer | None = None) -> None:
        """Record with this tracer, else the process's own."""
        self._tracer = tracer or get_tracer("receipt_writer")

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """Return the call's handler, with a span around it."""
        handler = await continuation(handler_call_details)
        path = handler_call_details.method
        if handler is None or handler.unary_unary is None or not path.startswith(PREFIX):
            return handler
        behaviour: Any = handler.unary_unary  # its published type is that of a synchronous server
        told = {name: value for name, value in handler_call_details.invocation_metadata or () if isinstance(value, str)}
        parent, name = extract(told), path.removeprefix("/")

        async def recorded(request: Any, context: Context) -> Any:
            about = {_SYSTEM: "grpc", _METHOD: name}
            with self._tracer.start_as_current_span(
                name, parent, SpanKind.SERVER, about, record_exception=False, set_status_on_exception=False
            ) as span:
                try:
                    return await behaviour(request, context)
                finally:
                    _conclude(span, context)

        return grpc.unary_unary_rpc_method_handler(
            recorded,
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )


def _conclude(span: Span, context: Context) -> None:
    """Say how a call ended; an answer leaves the context's code as it was, which is OK."""
    code = context.code()
    name = code.name if isinstance(code, grpc.StatusCode) else "OK"
    span.set_attribute(_STATUS, name)
    if isinstance(code, grpc.StatusCode) and code is not grpc.StatusCode.OK:
        span.set_attribute(_ERROR, name)
        if code not in _CALLERS_FAULT:
            span.set_status(StatusCode.ERROR)
