"""Commands that talk to a running writer, or to one that runs for as long as the command takes."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from receipt_writer.commands.options import TURNS, ChainOption, HomeOption, JsonOption, TenantOption, layer_of
from receipt_writer.commands.writer import CaOption, ConnectOption, PassphraseOption, TokenOption, Where, a_writer

_GATES = ("passed", "failed", "not_run")


def serve(context: typer.Context) -> None:
    """Own the ledger of a home and serve it over gRPC until told to stop."""
    from receipt_writer.serving import main

    raise typer.Exit(main(context.args))


def health(
    address: Annotated[str, typer.Argument(help="Where the writer listens: unix:PATH or HOST:PORT.")],
    ca_file: CaOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a running writer whether it serves; exit 0 when it does, else 1."""
    from receipt_writer.health import is_serving
    from receipt_writer.listen import parse_address
    from receipt_writer.presentation import print_json

    serving = is_serving(parse_address(address), ca_file)
    if as_json:
        print_json({"address": address, "serving": serving})
    else:
        sys.stdout.write("SERVING\n" if serving else "NOT SERVING\n")
    raise typer.Exit(0 if serving else 1)


def watch(
    address: Annotated[str, typer.Argument(help="Where the writer listens: unix:PATH or HOST:PORT.")],
    *,
    chain: ChainOption = TURNS,
    from_id: Annotated[int, typer.Option("--from", min=0, help="The first id; 0 for the first entry.")] = 0,
    token_file: TokenOption = None,
    ca_file: CaOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
) -> None:
    """Show a chain's entries and checkpoints as they come, until interrupted."""
    from receipt_writer.presentation import print_seen

    layer = layer_of(chain)
    try:
        with a_writer(Where(None, address, token_file, ca_file)) as writer:
            for seen in writer.watch(chain, from_id):
                print_seen(layer, seen.line, seen.note, as_json=as_json)
    except KeyboardInterrupt:
        raise typer.Exit from None


def state(
    *,
    home: HomeOption = None,
    tenant: TenantOption = None,
    connect: ConnectOption = None,
    token_file: TokenOption = None,
    ca_file: CaOption = None,
    passphrase_file: PassphraseOption = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Record a state of the present heads first.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the stored line, byte for byte.")] = False,
) -> None:
    """Show the newest signed state: size, root and head of every chain."""
    from receipt_writer.commands.options import receipts_folder
    from receipt_writer.errors import EntryNotFoundError
    from receipt_writer.identity import STATE_NAME
    from receipt_writer.presentation import print_state

    if connect is None and not fresh:
        path = receipts_folder(home, tenant) / STATE_NAME
        if not path.exists():
            raise EntryNotFoundError(
                "No state was recorded yet; receipt-writer state --fresh records one, and a writer does every hour."
            )
        line = path.read_bytes().removesuffix(b"\n")
    else:
        with a_writer(Where(home, connect, token_file, ca_file, passphrase_file, tenant)) as writer:
            line = writer.state(fresh=fresh)
    if as_json:
        sys.stdout.buffer.write(line + b"\n")
    else:
        print_state(line)


def record(
    chain: Annotated[str, typer.Argument(help="specs, calls, reviews, components, builds, turns or decisions.")],
    draft: Annotated[str, typer.Argument(help="A file with the draft's JSON object, or - for standard input.")] = "-",
    *,
    home: HomeOption = None,
    tenant: TenantOption = None,
    connect: ConnectOption = None,
    token_file: TokenOption = None,
    ca_file: CaOption = None,
    passphrase_file: PassphraseOption = None,
) -> None:
    """Record one entry from JSON and print its line."""
    layer_of(chain)
    draft_json = _draft(_from_stdin() if draft == "-" else Path(draft).read_bytes())
    with a_writer(Where(home, connect, token_file, ca_file, passphrase_file, tenant)) as writer:
        line = writer.append(chain, draft_json)
    sys.stdout.buffer.write(line + b"\n")


def build(
    version: Annotated[str, typer.Argument(help="The release's version.")],
    *,
    artefact: Annotated[list[Path], typer.Option("--artefact", help="A file of the release, repeatable.")],
    lock: Annotated[Path, typer.Option("--lock", help="The lock file it was built from.")] = Path("requirements.lock"),
    gate: Annotated[str, typer.Option("--gate", help="The release gate: passed, failed or not_run.")] = "not_run",
    gate_report: Annotated[Path | None, typer.Option("--gate-report", help="What the gate wrote.")] = None,
    prompt_version: Annotated[str, typer.Option(help="Version of the prompts.")] = "",
    model_version: Annotated[str, typer.Option(help="Version of the models.")] = "",
    config_version: Annotated[str, typer.Option(help="Version of the configuration.")] = "",
    home: HomeOption = None,
    tenant: TenantOption = None,
    connect: ConnectOption = None,
    token_file: TokenOption = None,
    ca_file: CaOption = None,
    passphrase_file: PassphraseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Record a release: digests of its files, its lock file and both verifiers, and the gate's verdict."""
    from receipt_writer.builds import Release, build_draft
    from receipt_writer.errors import RequestRefusedError
    from receipt_writer.presentation import print_members

    if gate not in _GATES:
        raise RequestRefusedError(f"--gate {gate!r} is no verdict; give one of: {' '.join(_GATES)}.")
    release = Release(version, tuple(artefact), lock, gate, gate_report, prompt_version, model_version, config_version)
    draft = build_draft(release)
    with a_writer(Where(home, connect, token_file, ca_file, passphrase_file, tenant)) as writer:
        line = writer.append("builds", json.dumps(draft, ensure_ascii=False))
    if as_json:
        sys.stdout.buffer.write(line + b"\n")
    else:
        print_members(json.loads(line))


def _from_stdin() -> bytes:
    if sys.stdin.isatty():
        sys.stderr.write("Type the draft's JSON object, then Ctrl-D.\n")
    return sys.stdin.buffer.read()


def _draft(content: bytes) -> str:
    """Return the text of a draft as it was written; the writer reads it the same way, strictly."""
    from receipt_writer.errors import DraftRefusedError
    from receipt_writer.format.canonical import decode_strict
    from receipt_writer.format.errors import FormatError

    try:
        draft = decode_strict(content)
    except FormatError as error:
        raise DraftRefusedError(f"The draft was refused: {error}") from error
    if not isinstance(draft, dict):
        raise DraftRefusedError("The draft is no JSON object; give one with the members of the chain.")
    return content.decode()
