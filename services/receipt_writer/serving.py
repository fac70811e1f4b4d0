"""`receipt-writer serve`: its own small command line, because a host waits for this process.

The other commands are typer's. Importing typer and what it needs takes about a third of the whole start.
"""

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from receipt_writer.credentials import read_certificate
from receipt_writer.errors import ListenError
from receipt_writer.handles import make_room
from receipt_writer.listen import parse_address
from receipt_writer.process import ServeOptions, serve_process
from receipt_writer.signers.source import key_source
from receipt_writer.state import STATE_EVERY_MS
from service_runtime import logs
from service_runtime.settings import load_settings
from service_telemetry.export import start

_LONGEST_S = 31_536_000  # a year


def main(arguments: Sequence[str]) -> int:
    """Own the ledger of a home and serve it until told to stop; return the exit status.

    0 is an orderly end, 1 a ledger that is damaged or a disk that failed, 2 a wrong set-up.

    Raises:
        ServiceError: The service could not start; one sentence.
    """
    options = _parser().parse_args(arguments)
    settings = load_settings(os.environ, Path.cwd(), options.home)
    logs.configure(options.log_level or settings.get("LOG_LEVEL", "info"))
    make_room()
    address = parse_address(options.listen)
    serve_options = ServeOptions(
        exit_with_stdin=options.exit_with_stdin,
        take_over=options.take_over,
        is_token_required=options.require_token,
        state_every_ms=options.state_every * 1000,
        certificate=_certificate(options.tls_cert, options.tls_key),
    )
    source = key_source(settings.get, options.passphrase_file)
    export = start(settings.values, "receipt-writer")
    serve_options = replace(serve_options, is_traced=export is not None)
    try:
        return serve_process(settings.home.folder("receipts"), address, serve_options, source)
    finally:
        if export:
            export.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="receipt-writer serve",
        description="Own the ledger of a home and serve it over gRPC until told to stop.",
        allow_abbrev=False,
    )
    parser.add_argument("--listen", required=True, metavar="ADDRESS", help="unix:PATH or HOST:PORT")
    parser.add_argument("--home", metavar="FOLDER", help="home folder (default: PROMETHEUS_HOME)")
    parser.add_argument("--exit-with-stdin", action="store_true", help="leave when stdin ends: the host holds the pipe")
    parser.add_argument(
        "--take-over",
        action="store_true",
        help="take the ledger from a writer that hangs: it can acknowledge nothing from then on",
    )
    parser.add_argument("--passphrase-file", type=Path, metavar="FILE", help="what the key files are encrypted with")
    parser.add_argument("--require-token", action="store_true", help="refuse callers without a token")
    parser.add_argument("--tls-cert", type=Path, metavar="FILE", help="certificate chain (PEM): speak TLS only")
    parser.add_argument("--tls-key", type=Path, metavar="FILE", help="the certificate's own key (PEM, unencrypted)")
    parser.add_argument(
        "--state-every",
        type=_seconds,
        default=STATE_EVERY_MS // 1000,
        metavar="SECONDS",
        help="how old state.json may be while the ledger grows (default: %(default)s)",
    )
    parser.add_argument("--log-level", metavar="LEVEL", help="debug info warning error critical (default: info)")
    return parser


def _seconds(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _LONGEST_S:
        raise argparse.ArgumentTypeError(f"must be a number of seconds from 1 to {_LONGEST_S}")
    return int(text)


def _certificate(chain: Path | None, key: Path | None) -> tuple[bytes, bytes] | None:
    if chain and key:
        return read_certificate(chain, key)
    if chain or key:
        raise ListenError("TLS needs both --tls-cert and --tls-key.")
    return None
