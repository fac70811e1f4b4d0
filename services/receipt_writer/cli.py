"""The command line: serve, look after the keys, and read the ledger. Every reading command has `--json`."""

import sys
from typing import Annotated

import typer

from receipt_writer.commands import keeping, live, reading

app = typer.Typer(
    help="Sign, chain and keep receipts, and read them back.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
token = typer.Typer(help="Tokens by which the callers of a tenant are known.", no_args_is_help=True)


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        sys.stdout.write(f"receipt-writer {installed('prometheus-agent')}\n")
        raise typer.Exit


app.command(add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(
    live.serve
)
app.command()(live.health)
app.command()(keeping.keygen)
app.command()(keeping.rotate)
app.command()(keeping.revoke)
app.command()(reading.policy)
app.command("list")(reading.list_entries)
app.command()(reading.show)
app.command()(live.watch)
app.command()(reading.prove)
app.command()(reading.checkpoint)
app.command()(live.state)
app.command()(reading.head)
app.command()(live.record)
app.command()(live.build)
app.command()(keeping.export)
app.command()(reading.fsck)
app.add_typer(token, name="token")
token.command("add")(keeping.add_token)
token.command("list")(keeping.list_tokens)
token.command("remove")(keeping.remove_token)
