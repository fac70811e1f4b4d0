"""Options that several commands share, and what they stand for."""

import os
from pathlib import Path
from typing import Annotated

import typer

from service_runtime.settings import load_settings

TURNS = "turns"

HomeOption = Annotated[str | None, typer.Option("--home", help="Home folder; default: PROMETHEUS_HOME.")]
TenantOption = Annotated[str | None, typer.Option("--tenant", help="The tenant's ledger instead of the main one.")]
ChainOption = Annotated[
    str,
    typer.Option("--chain", help="turns, decisions, specs, keys, calls, reviews, components, builds or another."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
EntryArgument = Annotated[str, typer.Argument(help="An entry's id, or its turnId, callId or other id of its own.")]


def receipts_folder(home: str | None, tenant: str | None = None) -> Path:
    """Return the folder of a ledger without creating it: reading must not.

    Raises:
        SetupError: The home cannot be used.
        RequestRefusedError: The tenant's name cannot be one: it would lead out of the folder of tenants.
    """
    folder = load_settings(os.environ, Path.cwd(), home).home.path / "receipts"
    if tenant is None:
        return folder
    from receipt_writer.tenants import tenant_folder
    from receipt_writer.tokens import require_tenant_id

    require_tenant_id(tenant, "a")
    return tenant_folder(folder, tenant)


def layer_of(chain: str) -> str:
    """Return the layer of a chain that a person named.

    Raises:
        RequestRefusedError: There is no such chain; the sentence names those there are.
    """
    from receipt_writer.errors import RequestRefusedError
    from receipt_writer.format.errors import UnsupportedError
    from receipt_writer.format.schema import layer_of_chain

    try:
        return layer_of_chain(chain).name
    except UnsupportedError as error:
        raise RequestRefusedError(str(error)) from error
