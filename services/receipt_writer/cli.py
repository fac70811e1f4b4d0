"""The command line: serve, and read the ledger without a server. Every reading command has `--json`."""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from receipt_writer.errors import EntryNotFoundError, NotPossibleYetError
from service_runtime.settings import load_settings

app = typer.Typer(
    help="Sign, chain and keep receipts, and read them back.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class Chain(StrEnum):
    """The chains of a ledger."""

    turns = "turns"
    decisions = "decisions"


_LAYERS = {Chain.turns: "L10", Chain.decisions: "L12"}

HomeOption = Annotated[str | None, typer.Option("--home", help="Home folder; default: PROMETHEUS_HOME.")]
ChainOption = Annotated[Chain, typer.Option("--chain", help="Which chain to read.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        sys.stdout.write(f"receipt-writer {installed('prometheus-agent')}\n")
        raise typer.Exit


@app.command(add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def serve(context: typer.Context) -> None:
    """Own the ledger of a home and serve it over gRPC until told to stop."""
    from receipt_writer.serving import main

    raise typer.Exit(main(context.args))


@app.command()
def health(
    address: Annotated[str, typer.Argument(help="Where the writer listens: unix:PATH or HOST:PORT.")],
) -> None:
    """Ask a running writer whether it serves; exit 0 when it does, else 1."""
    from receipt_writer.health import is_serving
    from receipt_writer.listen import parse_address

    serving = is_serving(parse_address(address))
    sys.stdout.write("SERVING\n" if serving else "NOT SERVING\n")
    raise typer.Exit(0 if serving else 1)


@app.command()
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


@app.command()
def policy(chain: ChainOption = Chain.turns, home: HomeOption = None) -> None:
    """Print the policy file to hand to a verifier of the chain."""
    from receipt_writer.offline import read_policy

    sys.stdout.buffer.write(read_policy(_folder(home), chain).to_json() + b"\n")


@app.command("list")
def list_entries(
    *,
    chain: ChainOption = Chain.turns,
    turn: Annotated[str, typer.Option("--turn", help="Only this turn.")] = "",
    session: Annotated[str, typer.Option("--session", help="Only this session (turns).")] = "",
    spec: Annotated[str, typer.Option("--spec", help="Only this spec (decisions).")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="At most so many, 0 for all.")] = 20,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the newest entries of a chain, newest first."""
    from receipt_writer.index import Filter
    from receipt_writer.offline import open_chain
    from receipt_writer.presentation import entry_document, print_entries, print_json

    members = (("turnId", turn), ("sessionId", session), ("specId", spec))
    wanted = Filter(members=tuple((name, value) for name, value in members if value), newest_first=True, limit=limit)
    with open_chain(_folder(home), _LAYERS[chain]) as opened:
        entries = [opened.entry(one) for one in opened.index.select(wanted)]
    if as_json:
        print_json([entry_document(entry) for entry in entries])
    else:
        print_entries(_LAYERS[chain], entries)


@app.command()
def show(
    entry: Annotated[str, typer.Argument(help="An entry's id, or its turnId or callId.")],
    chain: ChainOption = Chain.turns,
    home: HomeOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the stored line, byte for byte.")] = False,
) -> None:
    """Show one entry in full."""
    from receipt_writer.offline import open_chain
    from receipt_writer.presentation import print_entry

    with open_chain(_folder(home), _LAYERS[chain]) as opened:
        found = opened.entry(opened.id_of(entry))
    if as_json:
        sys.stdout.buffer.write(found.line + b"\n")
    else:
        print_entry(found)


@app.command()
def prove(
    entry: Annotated[str, typer.Argument(help="An entry's id, or its turnId or callId.")],
    chain: ChainOption = Chain.turns,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the proof that an entry is under the newest checkpoint (C2SP tlog-proof)."""
    from receipt_writer.offline import open_chain
    from receipt_writer.presentation import print_json, proof_document, proof_text

    with open_chain(_folder(home), _LAYERS[chain]) as opened:
        found = opened.entry(opened.id_of(entry))
        size = opened.checkpoint_size
        if found.id > size or opened.note is None:
            raise NotPossibleYetError(
                f"Entry {found.id} is newer than the newest checkpoint (size {size}); a running writer makes one "
                "within 30 seconds and when it stops."
            )
        if as_json:
            print_json(proof_document(opened.index, found, size, opened.note))
        else:
            sys.stdout.write(proof_text(opened.index, found, size, opened.note))


@app.command()
def checkpoint(chain: ChainOption = Chain.turns, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Print the newest checkpoint of a chain (C2SP signed note)."""
    from receipt_writer.offline import open_chain
    from receipt_writer.presentation import print_json

    with open_chain(_folder(home), _LAYERS[chain]) as opened:
        note, size, newest = opened.note, opened.checkpoint_size, opened.index.head.size
    if note is None:
        raise EntryNotFoundError(f"The chain {chain} has no checkpoint yet; a running writer makes one.")
    if as_json:
        print_json({"size": size, "entries": newest, "note": note})
    else:
        sys.stdout.write(note)


@app.command()
def head(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Print the size, origin and newest hash of every chain."""
    from receipt_writer.offline import open_chain
    from receipt_writer.presentation import print_json

    heads = []
    for layer in _LAYERS.values():
        with open_chain(_folder(home), layer) as opened:
            newest = opened.index.head
            heads.append({"origin": opened.index.origin, "size": newest.size, "hash": newest.hash})
    if as_json:
        print_json(heads)
    else:
        sys.stdout.write("".join(f"{one['origin']} {one['size']} {one['hash']}\n" for one in heads))


@app.command()
def fsck(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Check every line, signature, checkpoint and commit point; exit 1 when something is damaged."""
    from receipt_writer.offline import check_chain
    from receipt_writer.presentation import finding_document, print_finding, print_json

    findings = [check_chain(_folder(home), layer) for layer in _LAYERS.values()]
    if as_json:
        print_json([finding_document(finding) for finding in findings])
    else:
        for finding in findings:
            print_finding(finding)
    raise typer.Exit(1 if any(finding.fault for finding in findings) else 0)


def _folder(home: str | None) -> Path:
    """Return the receipts folder without creating it: reading must not."""
    return load_settings(os.environ, Path.cwd(), home).home.path / "receipts"
