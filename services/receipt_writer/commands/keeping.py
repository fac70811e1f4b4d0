"""Commands that make or change something: keys, tokens, copies."""

import os
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from receipt_writer.commands.options import HomeOption, JsonOption, TenantOption, receipts_folder
from receipt_writer.commands.writer import CaOption, ConnectOption, PassphraseOption, TokenOption, Where, a_writer
from service_runtime.settings import load_settings

_AT = re.compile(r"([a-z]+)=([0-9]{1,16})")

UseArgument = Annotated[str, typer.Argument(help="entry or checkpoint.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why, for people who read the key log.")]
PreviousOption = Annotated[str, typer.Option("--previous-key", help="The key to replace; else the one that signs.")]
AtOption = Annotated[list[str] | None, typer.Option("--at", help="CHAIN=ID from which it does not count.")]


def keygen(
    home: HomeOption = None,
    substrate_id: Annotated[str | None, typer.Option(help="The ledger's name for good; default: a random one.")] = None,
    passphrase_file: PassphraseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a new ledger's keys and policy files; the first `serve` does the same."""
    from receipt_writer.app import make_keys
    from receipt_writer.format.signing import fingerprint
    from receipt_writer.presentation import print_json
    from receipt_writer.signers.source import key_source

    settings = load_settings(os.environ, Path.cwd(), home)
    source = key_source(settings.get, passphrase_file)
    identity = make_keys(settings.home.folder("receipts"), substrate_id, source)
    prints = {
        "substrateId": identity.substrate_id,
        "entryKey": fingerprint(identity.entry_signer.public_key),
        "checkpointKey": fingerprint(identity.checkpoint_signer.public_key),
    }
    if as_json:
        print_json(prints)
    else:
        sys.stdout.write("".join(f"{name:14} {value}\n" for name, value in prints.items()))


def rotate(
    use: UseArgument,
    *,
    reason: ReasonOption,
    previous_key: PreviousOption = "",
    home: HomeOption = None,
    tenant: TenantOption = None,
    connect: ConnectOption = None,
    token_file: TokenOption = None,
    ca_file: CaOption = None,
    passphrase_file: PassphraseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put a new key in the place of the one that signs; the key log says so, signed by both."""
    _require_use(use)
    with a_writer(Where(home, connect, token_file, ca_file, passphrase_file, tenant)) as writer:
        line = writer.rotate(use, previous_key or writer.key_in_force(use), reason)
    _print_event(line, as_json=as_json)


def revoke(
    use: UseArgument,
    public_key: Annotated[str, typer.Argument(help="The key, in base64, as the key log spells it.")],
    *,
    reason: ReasonOption,
    at: AtOption = None,
    home: HomeOption = None,
    tenant: TenantOption = None,
    connect: ConnectOption = None,
    token_file: TokenOption = None,
    ca_file: CaOption = None,
    passphrase_file: PassphraseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Accept a key no longer: from now on, or from earlier entries on with --at."""
    _require_use(use)
    at_ids = dict(_at_id(one) for one in at or ())
    with a_writer(Where(home, connect, token_file, ca_file, passphrase_file, tenant)) as writer:
        line = writer.revoke(use, public_key, reason, at_ids)
    _print_event(line, as_json=as_json)


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


def add_token(
    tenant: Annotated[str, typer.Argument(help="Whose token it is.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a token for a tenant's callers and print it, this once only."""
    import time

    from receipt_writer.identity import read_substrate_id
    from receipt_writer.presentation import print_json
    from receipt_writer.storage.filesystem import OsFileSystem
    from receipt_writer.tokens import TOKENS_NAME, require_tenant_id
    from receipt_writer.tokens import add_token as make

    folder, files = receipts_folder(home), OsFileSystem()
    require_tenant_id(tenant, read_substrate_id(files, folder))
    token = make(files, folder / TOKENS_NAME, tenant, time.time_ns() // 1_000_000)
    if as_json:
        print_json({"tenant": tenant, "token": token})
    else:
        sys.stdout.write(f"{token}\n")


def list_tokens(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List whose tokens there are, by the hash of each."""
    from receipt_writer.presentation import print_json
    from receipt_writer.storage.filesystem import OsFileSystem
    from receipt_writer.tokens import TOKENS_NAME, read_tokens

    rows = read_tokens(OsFileSystem(), receipts_folder(home) / TOKENS_NAME)
    if as_json:
        print_json([{"tenant": one.tenant_id, "hash": one.token_hash, "added": one.added_at_iso} for one in rows])
    else:
        sys.stdout.write("".join(f"{one.token_hash[:12]} {one.added_at_iso} {one.tenant_id}\n" for one in rows))


def remove_token(
    wanted: Annotated[str, typer.Argument(help="A token, the beginning of its hash, or a tenant.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take tokens away; a running writer refuses them from its next call on."""
    from receipt_writer.errors import EntryNotFoundError
    from receipt_writer.presentation import print_json
    from receipt_writer.storage.filesystem import OsFileSystem
    from receipt_writer.tokens import TOKENS_NAME, revoke_tokens

    gone = revoke_tokens(OsFileSystem(), receipts_folder(home) / TOKENS_NAME, wanted)
    if not gone:
        raise EntryNotFoundError("No token was taken away: there is none of that name; receipt-writer token list.")
    if as_json:
        print_json([{"tenant": one.tenant_id, "hash": one.token_hash, "added": one.added_at_iso} for one in gone])
    else:
        sys.stdout.write("".join(f"removed {one.token_hash[:12]} {one.tenant_id}\n" for one in gone))


def _require_use(use: str) -> None:
    from receipt_writer.errors import RequestRefusedError

    if use not in {"entry", "checkpoint"}:
        raise RequestRefusedError(f"{use!r} is no use of a key; give entry or checkpoint.")


def _at_id(text: str) -> tuple[str, int]:
    from receipt_writer.errors import RequestRefusedError

    match = _AT.fullmatch(text)
    if match is None:
        raise RequestRefusedError(f"--at {text!r} is no CHAIN=ID; give one such as turns=17.")
    return match[1], int(match[2])


def _print_event(line: bytes, *, as_json: bool) -> None:
    import json

    from receipt_writer.presentation import print_members

    if as_json:
        sys.stdout.buffer.write(line + b"\n")
    else:
        print_members(json.loads(line))
