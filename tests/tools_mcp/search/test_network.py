import socket

import httpcore2
import pytest

from tools_mcp.search.addresses import is_public
from tools_mcp.search.network import SystemNetwork


async def test_a_name_is_looked_up_once_per_address() -> None:
    found = await SystemNetwork().resolve("localhost", 80)

    assert "127.0.0.1" in found
    assert len(set(found)) == len(found)
    assert not any(map(is_public, found))


@pytest.mark.parametrize("error", [socket.gaierror(socket.EAI_NONAME, "unknown"), UnicodeError("label too long")])
async def test_a_name_without_an_address_is_an_error_of_the_system(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(OSError):  # noqa: PT011 - the kind is the contract, the words are the system's
        await SystemNetwork().resolve("nowhere.example", 80)


async def test_a_connection_is_made_to_an_address_without_a_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *names, **_: asked.append(names[0]))
    with socket.create_server(("127.0.0.1", 0)) as server:
        stream = await SystemNetwork().connect("127.0.0.1", server.getsockname()[1], 5)
        await stream.aclose()
        closed = server.getsockname()[1]
    with pytest.raises(httpcore2.ConnectError):
        await SystemNetwork().connect("127.0.0.1", closed, 5)

    assert asked == []
