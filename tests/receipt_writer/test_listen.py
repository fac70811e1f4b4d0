from __future__ import annotations

import socket
from pathlib import Path

import pytest

from receipt_writer.errors import ListenError
from receipt_writer.listen import TcpAddress, UnixAddress, make_way, parse_address


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("unix:/run/w.sock", "unix:/run/w.sock"),
        ("unix:///run/w.sock", "unix:/run/w.sock"),
        ("127.0.0.1:7443", "127.0.0.1:7443"),
        ("localhost:0", "localhost:0"),
        ("[::1]:7443", "[::1]:7443"),
        ("0.0.0.0:65535", "0.0.0.0:65535"),
    ],
)
def test_an_address_is_read(text: str, target: str) -> None:
    assert parse_address(text).target == target


def test_a_relative_socket_path_is_made_absolute() -> None:
    assert parse_address("unix:w.sock") == UnixAddress(Path.cwd() / "w.sock")


@pytest.mark.parametrize("text", ["", "7443", "localhost", ":7443", "localhost:", "localhost:http", "h:65536", "h:-1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ListenError, match="use unix:PATH or HOST:PORT"):
        parse_address(text)


def test_a_path_too_long_for_a_socket_is_refused() -> None:
    with pytest.raises(ListenError, match="longer than 107 bytes"):
        parse_address("unix:/" + "x" * 107)


@pytest.mark.parametrize("path", ["/a%20b/w", "/a?b", "/a#b", "/a,b"])
def test_a_path_that_grpc_would_read_otherwise_is_refused(path: str) -> None:
    with pytest.raises(ListenError, match="reads as part of a URI"):
        parse_address(f"unix:{path}")


def test_the_folder_of_a_socket_is_made_private(folder: Path) -> None:
    make_way(UnixAddress(folder / "a" / "w.sock"))
    assert (folder / "a").stat().st_mode & 0o777 == 0o700


def test_the_socket_of_a_dead_process_is_removed(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(folder / "w.sock"))
    make_way(UnixAddress(folder / "w.sock"))
    assert not (folder / "w.sock").exists()


def test_the_socket_of_a_live_process_is_left_alone(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as live:
        live.bind(str(folder / "w.sock"))
        live.listen()
        with pytest.raises(ListenError, match="live process listens on"):
            make_way(UnixAddress(folder / "w.sock"))
    assert (folder / "w.sock").exists()


def test_a_file_in_the_way_of_a_socket_is_left_alone(folder: Path) -> None:
    (folder / "w.sock").write_text("precious")
    with pytest.raises(ListenError, match="is no socket"):
        make_way(UnixAddress(folder / "w.sock"))
    assert (folder / "w.sock").read_text() == "precious"


def test_a_folder_that_cannot_be_made_is_told(folder: Path) -> None:
    (folder / "file").write_text("")
    with pytest.raises(ListenError, match="cannot be used"):
        make_way(UnixAddress(folder / "file" / "w.sock"))


def test_a_port_in_use_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ListenError, match=f"127.0.0.1:{port} cannot be listened on: address already in use"):
            make_way(TcpAddress("127.0.0.1", port))


def test_a_free_port_is_fine() -> None:
    make_way(TcpAddress("127.0.0.1", 0))
