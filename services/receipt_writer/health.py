"""Asks a running writer how it is, through the standard health service."""

from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from receipt_writer.errors import RequestRefusedError
from receipt_writer.listen import Address

_PATIENCE_S = 3.0


def is_serving(address: Address, ca_file: Path | None = None) -> bool:
    """Return whether the writer at an address answers SERVING within three seconds (grpc.health.v1).

    `ca_file` is the certificate to trust (PEM) of a writer that speaks TLS.

    Raises:
        RequestRefusedError: The file cannot be read.
    """
    with _channel(address, ca_file) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        try:
            answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=_PATIENCE_S)
        except grpc.RpcError:
            return False
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


def _channel(address: Address, ca_file: Path | None) -> grpc.Channel:
    if ca_file is None:
        return grpc.insecure_channel(address.target)
    try:
        trusted = ca_file.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise RequestRefusedError(f"{ca_file} cannot be read: {reason}.") from error
    return grpc.secure_channel(address.target, grpc.ssl_channel_credentials(trusted))
