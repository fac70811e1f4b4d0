"""Asks a running writer how it is, through the standard health service."""

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from receipt_writer.listen import Address

_PATIENCE_S = 3.0


def is_serving(address: Address) -> bool:
    """Return whether the writer at an address answers SERVING within three seconds (grpc.health.v1)."""
    with grpc.insecure_channel(address.target) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        try:
            answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=_PATIENCE_S)
        except grpc.RpcError:
            return False
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)
