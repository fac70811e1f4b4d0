"""The gRPC server's life: start, serve with health and reflection, drain within two seconds."""

import asyncio
import os
from collections.abc import Callable

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

from receipt_writer.errors import ListenError
from receipt_writer.listen import Address, TcpAddress, UnixAddress, make_way

MAX_MESSAGE_BYTES = 1 << 16
"""Largest request: what the longest entry has. A larger one is RESOURCE_EXHAUSTED, by its length alone: unread."""

_LEAVE_S = 0.25  # for calls that are being answered; appends were answered before, streams end themselves
_REFLECTION_V1 = "grpc.reflection.v1.ServerReflection"
_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.so_reuseport", 0),  # a second server on a port is an error, not a load balancer
)


class ReceiptServer:
    """One listening server; `register` adds the services' own RPCs.

    Attributes:
        leaving: Set when the server takes no new work; open streams end themselves then.
    """

    def __init__(self, service_name: str, register: Callable[[grpc.aio.Server, asyncio.Event], None]) -> None:
        self._names = (service_name, health.SERVICE_NAME, reflection.SERVICE_NAME)
        self._server = grpc.aio.server(options=_OPTIONS)
        self._health = health.aio.HealthServicer()
        self.leaving = asyncio.Event()
        register(self._server, self.leaving)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        self._add_reflection()

    async def start(self, address: Address) -> str:
        """Listen and serve; return the bound address as a client writes it.

        Raises:
            ListenError: The address is taken or cannot be used.
        """
        make_way(address)
        earlier = os.umask(0o177)  # the socket file is born 0600
        try:
            port = self._server.add_insecure_port(address.target)
        except RuntimeError as error:
            raise ListenError(f"{address.target} cannot be listened on; choose another address.") from error
        finally:
            os.umask(earlier)
        await self._server.start()
        await self._tell(health_pb2.HealthCheckResponse.SERVING)
        return address.target if isinstance(address, UnixAddress) else TcpAddress(address.host, port).target

    async def refuse_new_work(self) -> None:
        """Tell health checks that this server is leaving or has failed, and open streams to end; other calls go on."""
        self.leaving.set()
        await self._tell(health_pb2.HealthCheckResponse.NOT_SERVING)
        await self._health.enter_graceful_shutdown()

    async def stop(self) -> None:
        """Close the server: calls get a moment, streams that do not end are ended."""
        await self._server.stop(_LEAVE_S)

    async def _tell(self, status: health_pb2.HealthCheckResponse.ServingStatus.ValueType) -> None:
        for name in ("", *self._names[:1]):
            await self._health.set(name, status)

    def _add_reflection(self) -> None:
        reflection.enable_server_reflection(self._names, self._server)
        # The same messages under the newer service name: clients of today ask for v1 first.
        servicer = reflection.aio.ReflectionServicer(self._names)
        handler = grpc.stream_stream_rpc_method_handler(
            servicer.ServerReflectionInfo,
            request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
            response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
        )
        methods = {"ServerReflectionInfo": handler}
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_REFLECTION_V1, methods),))
