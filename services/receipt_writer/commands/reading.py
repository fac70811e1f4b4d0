"""Commands that read the files of a ledger; none needs a running writer, none changes anything."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from receipt_writer.commands.options import (
    TURNS,
    ChainOption,
    EntryArgument,
    HomeOption,
    JsonOption,
    TenantOption,
    layer_of,
    receipts_folder,
)


def policy(chain: ChainOption = TURNS, home: HomeOption = None, tenant: TenantOption = None) -> None:
    """Print the policy file to hand to a verifier of the chain."""
    from receipt_writer.offline import read_policy

    layer_of(chain)
    sys.stdout.buffer.write(read_policy(receipts_folder(home, tenant), chain).to_json() + b"\n")


def list_entries(
    *,
    chain: ChainOption = TURNS,
    turn: Annotated[str, typer.Option("--turn", help="Only this turn.")] = "",
    session: Annotated[str, typer.Option("--session", help="Only this session (turns).")] = "",
    spec: Annotated[str, typer.Option("--spec", help="Only this spec (decisions).")] = "",
    category: Annotated[str, typer.Option("--category", help="Only this category (decisions).")] = "",
    exit_state: Annotated[str, typer.Option("--exit", help="Only this exit state (decisions).")] = "",
    model: Annotated[str, typer.Option("--model", help="Only this model (turns, decisions).")] = "",
    key: Annotated[str, typer.Option("--key", help="Only entries this key signed (base64).")] = "",
    since: Annotated[str, typer.Option("--since", help="Recorded at or after this date or time.")] = "",
    until: Annotated[str, typer.Option("--until", help="Recorded before.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="At most so many, 0 for all.")] = 20,
    home: HomeOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the newest entries of a chain, newest first."""
    from receipt_writer.errors import LedgerDamagedError
    from receipt_writer.index import Filter
    from receipt_writer.offline import open_chain
    from receipt_writer.presentation import entry_document, print_entries, print_json

    layer = layer_of(chain)
    members = (
        ("turnId", turn),
        ("sessionId", session),
        ("specId", spec),
        ("category", category),
        ("exitState", exit_state),
        ("model", model),
        ("key", key),
    )
    wanted = Filter(
        members=tuple((name, value) for name, value in members if value),
        recorded_from_ms=_instant("--since", since),
        recorded_to_ms=_instant("--until", until),
        newest_first=True,
        limit=limit,
    )
    with open_chain(receipts_folder(home, tenant), layer) as opened:
        entries, damage = opened.entries(wanted)
    if as_json:
        print_json([entry_document(entry) for entry in entries])
    else:
        print_entries(layer, entries)
    if damage:
        raise LedgerDamagedError(damage)


def show(
    entry: EntryArgument,
    *,
    chain: ChainOption = TURNS,
    home: HomeOption = None,
    tenant: TenantOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the stored line, byte for byte.")] = False,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page to send; - for stdout.")] = None,
) -> None:
    """Show one entry in full: as a table, as the stored line, or as a page of its own."""
    from receipt_writer.offline import open_chain
    from receipt_writer.presentation import print_entry

    folder, layer = receipts_folder(home, tenant), layer_of(chain)
    if html is not None:
        from receipt_writer.sending import page_of

        page = page_of(folder, layer, entry).encode()
        if str(html) == "-":
            sys.stdout.buffer.write(page)
        else:
            html.write_bytes(page)
            sys.stderr.write(f"wrote {html}\n")
        return
    with open_chain(folder, layer) as opened:
        found = opened.entry(opened.id_of(entry))
    if as_json:
        sys.stdout.buffer.write(found.line + b"\n")
    else:
        print_entry(found)


def prove(
    entry: EntryArgument,
    chain: ChainOption = TURNS,
    home: HomeOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the proof that an entry is under the newest checkpoint (C2SP tlog-proof)."""
    from receipt_writer.offline import open_chain
    from receipt_writer.presentation import print_json, proof_document

    with open_chain(receipts_folder(home, tenant), layer_of(chain)) as opened:
        proof = opened.proof(opened.entry(opened.id_of(entry)))
    if as_json:
        print_json(proof_document(proof))
    else:
        sys.stdout.write(proof.text())


def checkpoint(
    chain: ChainOption = TURNS, home: HomeOption = None, tenant: TenantOption = None, as_json: JsonOption = False
) -> None:
    """Print the newest checkpoint of a chain (C2SP signed note)."""
    from receipt_writer.errors import EntryNotFoundError
    from receipt_writer.offline import open_chain
    from receipt_writer.presentation import print_json

    with open_chain(receipts_folder(home, tenant), layer_of(chain)) as opened:
        note, size, newest = opened.note, opened.checkpoint_size, opened.index.head.size
    if note is None:
        raise EntryNotFoundError(f"The chain {chain} has no checkpoint yet; a running writer makes one.")
    if as_json:
        print_json({"size": size, "entries": newest, "note": note})
    else:
        sys.stdout.write(note)


def head(home: HomeOption = None, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Print the size, origin and newest hash of every chain."""
    from receipt_writer.format.schema import LAYERS
    from receipt_writer.offline import open_chain
    from receipt_writer.presentation import print_json

    heads = []
    for layer in LAYERS:
        with open_chain(receipts_folder(home, tenant), layer) as opened:
            opened.require_whole()
            newest = opened.index.head
            heads.append({"origin": opened.index.origin, "size": newest.size, "hash": newest.hash})
    if as_json:
        print_json(heads)
    else:
        sys.stdout.write("".join(f"{one['origin']} {one['size']} {one['hash']}\n" for one in heads))


def fsck(home: HomeOption = None, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Check every line, signature, checkpoint and commit point; exit 1 when something is damaged."""
    from receipt_writer.format.schema import LAYERS
    from receipt_writer.fsck import check_chain
    from receipt_writer.presentation import finding_document, print_finding, print_json
    from receipt_writer.progress import watched

    folder = receipts_folder(home, tenant)
    with watched("checking") as progress:
        findings = [check_chain(folder, layer, progress(known.chain)) for layer, known in LAYERS.items()]
    if as_json:
        print_json([finding_document(finding) for finding in findings])
    else:
        for finding in findings:
            print_finding(finding)
    raise typer.Exit(1 if any(finding.fault for finding in findings) else 0)


def _instant(option: str, text: str) -> int:
    """Return milliseconds since 1970 of an ISO date or time (UTC where it names no zone), 0 for none."""
    from datetime import UTC, datetime

    from receipt_writer.errors import RequestRefusedError

    if not text:
        return 0
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise RequestRefusedError(
            f"{option} {text!r} is no date or time; give one such as 2026-11-30 or 2026-11-30T09:00:00Z."
        ) from error
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return int(at.timestamp() * 1000)
