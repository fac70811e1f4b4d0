"""Commands that make something: keys, copies."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from receipt_writer.commands.options import HomeOption, JsonOption, TenantOption, receipts_folder
from service_runtime.settings import load_settings


def keygen(
    home: HomeOption = None,
    substrate_id: Annotated[str | None, typer.Option(help="The ledger's name for good; default: a random one.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Create a new ledger's keys and policy files; the first `serve` does the same."""
    from receipt_writer.app import make_keys
    from receipt_writer.format.signing import fingerprint
    from receipt_writer.presentation import print_json

    settings = load_settings(os.environ, Path.cwd(), home)
    identity = make_keys(settings.home.folder("receipts"), substrate_id)
    prints = {
        "substrateId": identity.substrate_id,
        "entryKey": fingerprint(identity.entry_signer.public_key),
        "checkpointKey": fingerprint(identity.checkpoint_signer.public_key),
    }
    if as_json:
        print_json(prints)
    else:
        sys.stdout.write("".join(f"{name:14} {value}\n" for name, value in prints.items()))


def export(
    target: Annotated[Path, typer.Argument(help="A folder that does not exist yet, or an empty one.")],
    home: HomeOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy everything a verifier needs of the ledger, and no key, into a folder."""
    from receipt_writer.exporting import export_ledger
    from receipt_writer.presentation import print_json
    from receipt_writer.progress import watched

    with watched("copying") as progress:
        exported = export_ledger(receipts_folder(home, tenant), target, progress("the chains"))
    if as_json:
        print_json([{"chain": one.chain, "bytes": one.bytes_copied} for one in exported])
    else:
        sys.stdout.write("".join(f"{one.chain:14} {one.bytes_copied} bytes\n" for one in exported))
