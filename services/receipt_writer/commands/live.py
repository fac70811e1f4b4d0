"""Commands about a running writer."""

import sys
from typing import Annotated

import typer


def serve(context: typer.Context) -> None:
    """Own the ledger of a home and serve it over gRPC until told to stop."""
    from receipt_writer.serving import main

    raise typer.Exit(main(context.args))


def health(
    address: Annotated[str, typer.Argument(help="Where the writer listens: unix:PATH or HOST:PORT.")],
) -> None:
    """Ask a running writer whether it serves; exit 0 when it does, else 1."""
    from receipt_writer.health import is_serving
    from receipt_writer.listen import parse_address

    serving = is_serving(parse_address(address))
    sys.stdout.write("SERVING\n" if serving else "NOT SERVING\n")
    raise typer.Exit(0 if serving else 1)
