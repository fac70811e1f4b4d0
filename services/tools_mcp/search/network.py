"""The network seam of fetching: looking a name up, and connecting to one address. Tests put their own in its place."""

import asyncio
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from httpcore2 import AsyncNetworkStream


class Network(Protocol):
    """How a fetch reaches the world; nothing else in this server's fetching opens a connection or looks up a name."""

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Return the IP addresses of a name.

        Raises:
            OSError: There are none.
        """
        ...

    async def connect(self, address: str, port: int, timeout_s: float) -> "AsyncNetworkStream":
        """Connect to one IP address.

        Raises:
            httpcore2.ConnectError: It does not answer.
            httpcore2.ConnectTimeout: It does not answer in time.
        """
        ...


class SystemNetwork:
    """The network of this machine."""

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Ask the system's resolver, off the event loop.

        Raises:
            OSError: The name has no address, or the resolver does not answer.
        """
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except UnicodeError as error:  # the resolver's own codec refuses some names
            raise OSError from error
        return tuple(dict.fromkeys(str(address[0]) for *_, address in found))

    async def connect(self, address: str, port: int, timeout_s: float) -> "AsyncNetworkStream":
        """Open a TCP connection; an address is never looked up again.

        Raises:
            httpcore2.ConnectError: It does not answer.
            httpcore2.ConnectTimeout: It does not answer in time.
        """
        from httpcore2 import AnyIOBackend

        return await AnyIOBackend().connect_tcp(address, port, timeout=timeout_s)
