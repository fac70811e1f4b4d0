"""One HTTP request to addresses that were judged before: the name goes into Host and TLS, the connection to them.

Imported late, with the HTTP library. A proxy is not used: it would look the name up a second time, out of our sight.
"""

import ssl
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import httpcore2

from tools_mcp.search.addresses import Target
from tools_mcp.search.decoding import ACCEPTED, Unpacker
from tools_mcp.search.network import Network

_CONNECT_S = 5.0
_READ_S = 10.0
_MOST_ADDRESSES = 3
_PIECE_BYTES = 65_536


class Unreachable(Exception):  # noqa: N818 - an answer in words, not an error of ours
    """No answer came; `args[0]` says in a few words why."""


class TooSlow(Exception):  # noqa: N818 - same
    """The other side took too long."""


@dataclass(frozen=True)
class Reply:
    """What came back. `headers` have lower-case names; `is_cut` tells that the body was longer than was taken."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_cut: bool


@dataclass(frozen=True)
class Pinned(httpcore2.AsyncNetworkBackend):
    """Connects to the addresses it was given, whatever host it is asked for."""

    addresses: Sequence[str]
    network: Network

    async def connect_tcp(
        self,
        host: str,  # noqa: ARG002 - the point of this class
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's own signature
        local_address: str | None = None,  # noqa: ARG002 - same
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002 - same
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first of at most three addresses that answers."""
        *others, last = self.addresses[:_MOST_ADDRESSES]
        for address in others:
            try:
                return await self.network.connect(address, port, timeout or _CONNECT_S)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self.network.connect(last, port, timeout or _CONNECT_S)


async def get(
    target: Target,
    backend: Pinned,
    *,
    trust: ssl.SSLContext | None,
    headers: Mapping[str, str],
    most_bytes: int,
) -> Reply:
    """Ask for a page, once, without cookies, following nothing; read at most `most_bytes` of it.

    Raises:
        Unreachable: No whole answer came.
        TooSlow: The other side kept silent for too long.
        decoding.UnreadableBodyError: The body is packed in a way we did not ask for.
    """
    told = {"Host": target.authority, "Accept-Encoding": ACCEPTED, "Connection": "close", **headers}
    timeouts = {"connect": _CONNECT_S, "read": _READ_S, "write": _READ_S, "pool": _CONNECT_S}
    url = httpcore2.URL(
        scheme=target.scheme.encode(), host=target.host.encode(), port=target.port, target=target.path.encode()
    )
    try:
        async with (
            httpcore2.AsyncConnectionPool(ssl_context=trust, network_backend=backend) as pool,
            pool.stream("GET", url, headers=list(told.items()), extensions={"timeout": timeouts}) as response,
        ):
            return await _read(response, most_bytes)
    except httpcore2.TimeoutException as error:
        raise TooSlow from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.UnsupportedProtocol) as error:
        raise Unreachable(_why(error)) from error


async def _read(response: httpcore2.Response, most_bytes: int) -> Reply:
    headers = {name.decode("latin-1").lower(): _header(value) for name, value in response.headers}
    body = Unpacker(headers.get("content-encoding", "").lower(), most_bytes)
    async for chunk in response.aiter_stream():
        for at in range(0, len(chunk), _PIECE_BYTES):
            body.feed(chunk[at : at + _PIECE_BYTES])
        if body.is_cut:
            break
    body.end()
    return Reply(response.status, headers, bytes(body.body), body.is_cut)


def _header(value: bytes) -> str:
    try:
        return value.decode("utf-8").strip()  # what browsers send for addresses with other letters, and servers too
    except UnicodeDecodeError:
        return value.decode("latin-1").strip()


def _why(error: BaseException) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return "its TLS certificate or connection is not valid"
        cause = cause.__cause__ or cause.__context__
    return "the connection failed" if isinstance(error, httpcore2.NetworkError) else "it did not answer in valid HTTP"
