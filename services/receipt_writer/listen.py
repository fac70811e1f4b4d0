"""The address to serve on: a Unix socket on one machine, host and port between machines."""

import os
import socket
import stat
from dataclasses import dataclass
from pathlib import Path

from receipt_writer.errors import ListenError

_LONGEST_PATH_BYTES = 107  # sun_path, without its final NUL
_PATIENCE_S = 0.5
_URI_CHARACTERS = "%?#,"


@dataclass(frozen=True)
class UnixAddress:
    """A socket file: only its owner may connect."""

    path: Path

    @property
    def target(self) -> str:
        """The address as gRPC writes it."""
        return f"unix:{self.path}"


@dataclass(frozen=True)
class TcpAddress:
    """A host and a port, 0 for any free one."""

    host: str
    port: int

    @property
    def target(self) -> str:
        """The address as gRPC writes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


Address = UnixAddress | TcpAddress


def parse_address(text: str) -> Address:
    """Read `unix:PATH` or `HOST:PORT` (`[::1]:PORT` for IPv6).

    Raises:
        ListenError: It is neither, or the path cannot be one of a socket.
    """
    if text.startswith("unix:"):
        path = Path(text.removeprefix("unix:").removeprefix("//")).absolute()
        if len(os.fsencode(path)) > _LONGEST_PATH_BYTES:
            raise ListenError(f"The socket path {path} is longer than {_LONGEST_PATH_BYTES} bytes; use a shorter one.")
        if any(character in str(path) for character in _URI_CHARACTERS):
            raise ListenError(
                f"The socket path {path} has one of {_URI_CHARACTERS} in it, which gRPC reads as part of a URI."
            )
        return UnixAddress(path)
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise ListenError(f"{text!r} is no address; use unix:PATH or HOST:PORT.")
    return TcpAddress(host, int(port))


def make_way(address: Address) -> None:
    """Make sure that the address is free: replace the socket file of a dead process, never that of a live one.

    Raises:
        ListenError: A live process listens there, or the address cannot be used.
    """
    if isinstance(address, UnixAddress):
        _make_way_for_socket(address.path)
    else:
        _require_free_port(address)


def _make_way_for_socket(path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise ListenError(f"{path} is in the way and is no socket; choose another path.")
        if _answers(path):
            raise ListenError(f"A live process listens on {path} already; stop it, or choose another path.")
        path.unlink()
    except FileNotFoundError:
        return
    except OSError as error:
        raise ListenError(f"The socket {path} cannot be used: {_reason(error)}.") from error


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_PATIENCE_S)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
        except TimeoutError:  # alive, only busy
            return True
    return True


def _require_free_port(address: TcpAddress) -> None:
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # leftovers of closed connections do not count
            probe.bind(where)
    except OSError as error:
        raise ListenError(
            f"{address.target} cannot be listened on: {_reason(error)}; stop what uses it, or choose another port."
        ) from error


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
