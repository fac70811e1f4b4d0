"""The writer that a command talks to: one that runs already, or one of its own for as long as the command takes."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from receipt_writer.commands.options import receipts_folder
from receipt_writer.errors import WriterCallError
from service_runtime.errors import SetupError
from service_runtime.settings import load_settings

if TYPE_CHECKING:
    from receipt_writer.rpc.caller import Caller

_START_S = 30.0
_WRONG_SETUP = 2

ConnectOption = Annotated[
    str | None, typer.Option("--connect", help="A running writer's address; else one is started for the moment.")
]
TokenOption = Annotated[Path | None, typer.Option("--token-file", help="A file with the caller's token.")]
CaOption = Annotated[Path | None, typer.Option("--tls-ca", help="Certificates to trust; the writer speaks TLS then.")]


@contextmanager
def a_writer(
    home: str | None, connect: str | None, token_file: Path | None = None, ca_file: Path | None = None
) -> "Iterator[Caller]":
    """Give a caller of the writer at `connect`, or of one that owns the home's ledger for this block.

    Raises:
        SetupError: There is no ledger in the home, or no writer could be started on it.
    """
    from receipt_writer.listen import parse_address
    from receipt_writer.rpc.caller import Access, calling

    if connect is not None:
        with calling(Access(parse_address(connect), token_file, ca_file)) as caller:
            yield caller
        return
    folder = receipts_folder(home)
    if not (folder / "chains").is_dir():
        raise SetupError(f"There is no ledger in {folder}; name the home of one with --home.")
    with tempfile.TemporaryDirectory(prefix="receipt-writer-") as place:
        address = f"unix:{place}/w.sock"
        with _child(home, address), calling(Access(parse_address(address), token_file)) as caller:
            yield caller


@contextmanager
def _child(home: str | None, address: str) -> Iterator[None]:
    """Run `serve` as a child that ends with its standard input; its first line on stderr says how it went."""
    path = load_settings(os.environ, Path.cwd(), home).home.path
    command = [sys.executable, "-m", "receipt_writer", "serve", "--listen", address, "--home", str(path)]
    command += ["--exit-with-stdin", "--log-level", "info"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        if child.stdin is None or child.stderr is None:
            raise TypeError(child)
        said = [line.strip() for line in _until_ready(child.stderr)]
        try:
            if child.poll() is not None or not said or "ready:" not in said[-1]:
                status = child.wait(_START_S)
                reason = said[-1].removeprefix("receipt-writer: ") if said else "The writer did not start."
                hint = " If it should stay, name its address with --connect." if "running writer" in reason else ""
                raise (SetupError if status == _WRONG_SETUP else WriterCallError)(f"{reason}{hint}")
            yield
        finally:
            child.stdin.close()
            child.stderr.read()


def _until_ready(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield line
        if "ready:" in line:
            return
