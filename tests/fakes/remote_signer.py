"""A signer whose key is elsewhere: every signature is asked for over a socket, as a token or a key service would be."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from nacl.signing import SigningKey

_LENGTH_BYTES = 4
_SIGNATURE_BYTES = 64


class RemoteSigner:
    """Satisfies `format.signing.Signer` without ever holding the private key."""

    def __init__(self, connection: socket.socket, public_key: bytes) -> None:
        self.public_key = public_key
        self._connection = connection

    def sign(self, message: bytes) -> bytes:
        self._connection.sendall(len(message).to_bytes(_LENGTH_BYTES, "big") + message)
        return _receive(self._connection, _SIGNATURE_BYTES)


@contextmanager
def remote_signer(seed: bytes) -> Iterator[RemoteSigner]:
    """Run the far side, which has the key, until the block ends."""
    here, there = socket.socketpair()
    key = SigningKey(seed)
    far_side = threading.Thread(target=_serve, args=(there, key))
    far_side.start()
    try:
        yield RemoteSigner(here, bytes(key.verify_key))
    finally:
        here.close()
        far_side.join()
        there.close()


def _serve(connection: socket.socket, key: SigningKey) -> None:
    while length := _receive(connection, _LENGTH_BYTES):
        connection.sendall(key.sign(_receive(connection, int.from_bytes(length, "big"))).signature)


def _receive(connection: socket.socket, count: int) -> bytes:
    received = b""
    while len(received) < count and (part := connection.recv(count - len(received))):
        received += part
    return received
