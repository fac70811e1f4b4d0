"""The writer that a command talks to: one that runs already, or one of its own for as long as the command takes."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
PassphraseOption = Annotated[
    Path | None,
    typer.Option("--passphrase-file", help="What the key files are sealed with; else PROMETHEUS_RECEIPTS_PASSPHRASE."),
]


@dataclass(frozen=True)
class Where:
    """Which writer a command means, and whose ledger: `tenant` of the home's, or what the token says."""

    home: str | None = None
    connect: str | None = None
    token_file: Path | None = None
    ca_file: Path | None = None
    passphrase_file: Path | None = None
    tenant: str | None = None


@contextmanager
def a_writer(where: Where) -> "Iterator[Caller]":
    """Give a caller of the writer that runs at an address, or of one that owns the home's ledger for this block.

    Raises:
        SetupError: There is no ledger in the home, or no writer could be started on it.
        RequestRefusedError: The address, the tenant or a file that was named cannot be used.
    """
    from receipt_writer.listen import parse_address
    from receipt_writer.rpc.caller import Access, calling

    if where.connect is None or where.tenant:
        _require_ledger(receipts_folder(where.home, where.tenant))
    with (
        _address(where) as address,
        _token(where) as token,
        calling(Access(parse_address(address), token, where.ca_file if where.connect else None)) as caller,
    ):
        yield caller


def _require_ledger(folder: Path) -> None:
    if not (folder / "chains").is_dir():
        raise SetupError(f"There is no ledger in {folder}; name the home of one with --home.")


@contextmanager
def _address(where: Where) -> Iterator[str]:
    if where.connect is not None:
        yield where.connect
        return
    with tempfile.TemporaryDirectory(prefix="receipt-writer-") as place:
        address = f"unix:{place}/w.sock"
        with _child(where, address):
            yield address


@contextmanager
def _token(where: Where) -> Iterator[str | None]:
    """Give the caller's token; to whoever owns the home, one of the moment for the tenant that is meant.

    A tenant is known by its token only, and so it stays: nothing else leads to its ledger. A crash in between leaves
    the hash of a token that nobody knows.
    """
    from receipt_writer.rpc.caller import read_token

    if where.tenant is None or where.token_file is not None:
        yield read_token(where.token_file) if where.token_file else None
        return
    from receipt_writer.storage.filesystem import OsFileSystem
    from receipt_writer.tokens import TOKENS_NAME, add_token, revoke_tokens

    path, files = receipts_folder(where.home) / TOKENS_NAME, OsFileSystem()
    token = add_token(files, path, where.tenant, time.time_ns() // 1_000_000)
    try:
        yield token
    finally:
        revoke_tokens(files, path, token)


@contextmanager
def _child(where: Where, address: str) -> Iterator[None]:
    """Run `serve` as a child that ends with its standard input; its first line on stderr says how it went."""
    path = load_settings(os.environ, Path.cwd(), where.home).home.path
    command = [sys.executable, "-m", "receipt_writer", "serve", "--listen", address, "--home", str(path)]
    command += ["--exit-with-stdin", "--log-level", "info"]
    if where.passphrase_file:
        command += ["--passphrase-file", str(where.passphrase_file)]
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
