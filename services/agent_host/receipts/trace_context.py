"""Puts the trace that is current into the metadata of calls to the writer (W3C trace context)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc.aio
from opentelemetry.propagate import inject


class TraceContext(grpc.aio.UnaryUnaryClientInterceptor):
    """Interceptor of calls with one request and one answer; makes no span: the writer does."""

    async def intercept_unary_unary(
        self,
        continuation: Callable[[grpc.aio.ClientCallDetails, Any], Any],
        client_call_details: grpc.aio.ClientCallDetails,
        request: Any,
    ) -> Any:
        """Sends the call on with the trace in its metadata."""
        told: dict[str, str] = {}
        inject(told)
        sent = client_call_details
        metadata = grpc.aio.Metadata(*(sent.metadata or ()), *told.items())
        details = grpc.aio.ClientCallDetails(sent.method, sent.timeout, metadata, sent.credentials, sent.wait_for_ready)
        return await continuation(details, request)
