"""`receipt-writer serve`: its own small command line, because a host waits for this process.

The other commands are typer's. Importing typer and what it needs takes about a third of the whole start.
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from receipt_writer.app import serve_process
from receipt_writer.listen import parse_address
from service_runtime import logs
from service_runtime.settings import load_settings


def main(arguments: Sequence[str]) -> int:
    """Own the ledger of a home and serve it until told to stop; return the exit status.

    0 is an orderly end, 1 a ledger that is damaged or a disk that failed, 2 a wrong set-up.

    Raises:
        ServiceError: The service could not start; one sentence.
    """
    options = _parser().parse_args(arguments)
    settings = load_settings(os.environ, Path.cwd(), options.home)
    logs.configure(options.log_level or settings.get("LOG_LEVEL", "info"))
    address = parse_address(options.listen)
    folder = settings.home.folder("receipts")
    return serve_process(folder, address, exit_with_stdin=options.exit_with_stdin, take_over=options.take_over)


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
    parser.add_argument("--log-level", metavar="LEVEL", help="debug info warning error critical (default: info)")
    return parser
