"""The gRPC server's life: start, serve with health and reflection, drain within two seconds."""

import asyncio
import os
from collections.abc import Coroutine, Sequence
from typing import Any

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

from receipt_writer.errors import ListenError, WriterStoppedError
from receipt_writer.listen import Address, TcpAddress, UnixAddress, make_way
from receipt_writer.rpc.call import Context, unless_leaving

MAX_MESSAGE_BYTES = 1 << 16
"""Largest request: what the longest entry has. A larger one is RESOURCE_EXHAUSTED, by its length alone: unread."""

MOST_RPCS = 4_096
"""Calls of every kind at once, those too whose request never comes; beyond it gRPC refuses, RESOURCE_EXHAUSTED."""

_LEAVE_S = 0.25  # for calls that are being answered; appends were answered before, streams end themselves
_REFLECTION_V1 = "grpc.reflection.v1.ServerReflection"
_ASK_MS, _PATIENCE_MS = 30_000, 10_000
_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.so_reuseport", 0),  # a second server on a port is an error, not a load balancer
    ("grpc.max_concurrent_streams", 1_000),  # of one connection; further calls wait at their client
    # What a stream may send ahead of being read. Left to itself, gRPC lets it grow to megabytes a stream.
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", MAX_MESSAGE_BYTES),
    # A peer that went without a word is asked after half a minute and given up ten seconds later, so that its streams
    # end. A client may ask the same of this server as often, also without a call.
    ("grpc.keepalive_time_ms", _ASK_MS),
    ("grpc.keepalive_timeout_ms", _PATIENCE_MS),
    ("grpc.http2.ping_timeout_ms", _PATIENCE_MS),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", _PATIENCE_MS),
)


class ReceiptServer:
    """One listening server. Its gates answer the service's own RPCs; health and reflection stand beside them."""

    def __init__(self, service_name: str, gates: Sequence[grpc.aio.ServerInterceptor], leaving: asyncio.Event) -> None:
        """Serve what `gates` choose, outermost first; `leaving` is set when open streams are to end themselves."""
        self._names = (service_name, health.SERVICE_NAME, reflection.SERVICE_NAME)
        self._leaving = leaving
        self._server = grpc.aio.server(interceptors=tuple(gates), options=_OPTIONS, maximum_concurrent_rpcs=MOST_RPCS)
        self._closing = asyncio.Event()
        self._health = _Health(self._closing)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        self._add_reflection()

    async def start(self, address: Address, certificate: tuple[bytes, bytes] | None = None) -> str:
        """Listen and serve; return the bound address as a client writes it.

        `certificate` is a chain and its key, both PEM: with it the server speaks TLS only.

        Raises:
            ListenError: The address is taken or cannot be used, or a certificate is given for a Unix socket.
        """
        if certificate and isinstance(address, UnixAddress):
            raise ListenError("A Unix socket has no TLS; leave --tls-cert and --tls-key out, or listen on HOST:PORT.")
        make_way(address)
        earlier = os.umask(0o177)  # the socket file is born 0600
        try:
            port = self._bind(address.target, certificate)
        except RuntimeError as error:
            raise ListenError(f"{address.target} cannot be listened on; choose another address.") from error
        finally:
            os.umask(earlier)
        await self._server.start()
        await self._tell(health_pb2.HealthCheckResponse.SERVING)
        return address.target if isinstance(address, UnixAddress) else TcpAddress(address.host, port).target

    async def refuse_new_work(self) -> None:
        """Tell health checks that this server is leaving or has failed, and open streams to end; other calls go on."""
        self._leaving.set()
        await self._tell(health_pb2.HealthCheckResponse.NOT_SERVING)
        await self._health.enter_graceful_shutdown()

    async def stop(self) -> None:
        """Close the server: calls get a moment, streams that do not end are ended."""
        self._closing.set()
        await self._server.stop(_LEAVE_S)

    def _bind(self, target: str, certificate: tuple[bytes, bytes] | None) -> int:
        if certificate is None:
            return self._server.add_insecure_port(target)
        chain, key = certificate
        return self._server.add_secure_port(target, grpc.ssl_server_credentials([(key, chain)]))

    async def _tell(self, status: health_pb2.HealthCheckResponse.ServingStatus.ValueType) -> None:
        for name in ("", *self._names[:1]):
            await self._health.set(name, status)

    def _add_reflection(self) -> None:
        # The same messages under both names: clients of today ask for v1 first, older ones know v1alpha only.
        handler = grpc.stream_stream_rpc_method_handler(
            self._reflect,
            request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
            response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
        )
        methods = {"ServerReflectionInfo": handler}
        names = (_REFLECTION_V1, reflection.SERVICE_NAME)
        self._server.add_generic_rpc_handlers(
            tuple(grpc.method_handlers_generic_handler(name, methods) for name in names)
        )

    async def _reflect(self, requests: object, context: Context) -> None:
        async def answer() -> None:
            async for response in reflection.aio.ReflectionServicer(self._names).ServerReflectionInfo(
                requests, context
            ):
                await context.write(response)

        await _end_with(self._closing, context, answer())


class _Health(health.aio.HealthServicer):  # type: ignore[misc]  # no types are published for it
    """The standard servicer, whose watches end when the server closes instead of being torn off."""

    def __init__(self, closing: asyncio.Event) -> None:
        super().__init__()
        self._closing = closing

    async def Watch(self, request: health_pb2.HealthCheckRequest, context: Context) -> None:  # noqa: N802 -- gRPC's name
        """Tell how a service is, now and at each change."""
        await _end_with(self._closing, context, super().Watch(request, context))


async def _end_with(closing: asyncio.Event, context: Context, work: Coroutine[Any, Any, None]) -> None:
    try:
        await unless_leaving(closing, work)
    except WriterStoppedError as stopped:
        await context.abort(grpc.StatusCode.UNAVAILABLE, str(stopped))
