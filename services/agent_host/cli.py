"""The command line: `agent-host chat|ask|check|doctor|install`, `receipts …`, `call_commands`, `session_commands`.

Exit status: 0 done, 1 the turn failed or a chain does not verify (the verifier's own status for `receipts verify`),
2 the command, the settings or the files are off, 130 cancelled.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from agent_host.call_commands import calls
from agent_host.command_parts import CANCELLED, HomeOption, JsonOption, run_command, settings_of
from agent_host.errors import ConfigurationError, HomeInUseError, HostError, UsageError
from agent_host.gateways.encoding import accept_every_character
from agent_host.mcp_commands import mcp
from agent_host.session_commands import named_session, sessions, with_optional_value
from agent_host.turn_commands import finished
from service_runtime.errors import ServiceError, SetupError

app = typer.Typer(
    name="agent-host",
    help="A personal agent whose memory is yours and whose every turn leaves a receipt anyone can verify.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
receipts = typer.Typer(help="Read and verify the receipts of this home.", no_args_is_help=True)
app.add_typer(receipts, name="receipts")

app.add_typer(calls)
app.add_typer(finished)
app.add_typer(mcp, name="mcp")
app.add_typer(sessions, name="sessions")

STDIN_LIMIT = 1_000_000  # bytes; more is refused as too long anyway
_WINDOW = "today, 7d or all, in days of your time zone."
_SETUP_STATUS = 2
_SETUP_ERRORS = (UsageError, ConfigurationError, HomeInUseError, SetupError)


def _windows() -> list[str]:
    return ["today", "7d", "all"]


def _clients() -> list[str]:
    return ["claude-desktop", "cursor"]


def run(arguments: Sequence[str]) -> int:
    """Runs one command; every failure is one sentence on stderr."""
    for stream in (sys.stdout, sys.stderr):
        accept_every_character(stream)
    try:
        status = app(args=with_optional_value(arguments) or ["--help"], standalone_mode=False)
    except typer.Exit as ended:
        return ended.exit_code
    except typer.Abort:
        return CANCELLED
    except typer.TyperException as error:  # the command line itself is off
        return _fail(error.format_message(), _SETUP_STATUS)
    except (HostError, ServiceError) as error:
        return _fail(error, _SETUP_STATUS if isinstance(error, _SETUP_ERRORS) else 1)
    except OSError as error:
        return _fail(f"{error.strerror or error}: {error.filename or 'a file of this home'}.", 1)
    return status if isinstance(status, int) else 0


def _fail(reason: object, status: int) -> int:
    sys.stderr.write(f"agent-host: {reason}\n")
    return status


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed_version

        typer.echo(f"agent-host {installed_version('prometheus-agent')}")
        raise typer.Exit


@app.command()
def chat(
    home: HomeOption = None,
    plain: Annotated[bool, typer.Option("--plain", help="No line editing and no streaming.")] = False,
    resume: Annotated[
        str | None, typer.Option("--resume", help="Go on with a session, by number or id; alone it lists them.")
    ] = None,
    latest: Annotated[bool, typer.Option("--continue", help="Go on with the session talked in last.")] = False,
) -> int:
    """Talk with the agent; reads one message a line when the input is not a terminal."""
    from agent_host.gateways.chat import chat as run_chat

    settings = settings_of(home)
    named = named_session(resume, latest=latest)
    return run_command(lambda: run_chat(settings, os.environ, plain=plain, resume=named))


@app.command()
def ask(
    message: Annotated[
        str | None, typer.Argument(help="The message; - or none at all, in a pipe, reads standard input.")
    ] = None,
    prompt: Annotated[
        str | None, typer.Option("--prompt", "-p", help="The message; with - as well, standard input follows it.")
    ] = None,
    *,
    home: HomeOption = None,
    resume: Annotated[str | None, typer.Option("--resume", help="In an earlier session, by number or id.")] = None,
    latest: Annotated[bool, typer.Option("--continue", help="In the session talked in last.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Run one turn and print its reply and receipt line."""
    from agent_host.gateways.ask import ask as run_ask
    from agent_host.gateways.message import put_together

    settings = settings_of(home)
    named = named_session(resume, latest=latest)
    reads = message == "-" or (message is None and prompt is None and not sys.stdin.isatty())
    piped = sys.stdin.buffer.read(STDIN_LIMIT) if reads else None
    text = put_together(prompt, None if reads else message, piped)
    return run_command(lambda: run_ask(settings, os.environ, text, as_json=as_json, resume=named))


@app.command()
def check(
    home: HomeOption = None,
    watch: Annotated[bool, typer.Option("--watch", help="Look again and again until told to stop.")] = False,
    status_file: Annotated[
        Path | None, typer.Option("--status-file", help="With --watch: a file that exists while all is well.")
    ] = None,
) -> int:
    """Say whether the writer and every server answer."""
    from agent_host.gateways import check as gateway

    settings = settings_of(home)
    if watch:
        return run_command(lambda: gateway.watch(settings, os.environ, status_file))
    return run_command(lambda: gateway.check(settings, os.environ))


@app.command()
def doctor(home: HomeOption = None, as_json: JsonOption = False) -> int:
    """Look at the set-up, say what is off and what to do about it."""
    from agent_host.gateways.doctor import doctor as run_doctor

    settings = settings_of(home)
    return run_command(lambda: run_doctor(settings, os.environ, as_json=as_json))


@app.command()
def cost(
    home: HomeOption = None,
    window: Annotated[
        str,
        typer.Option(
            "--window",
            help="today, 7d or all, in days of your time zone.",
            autocompletion=lambda: ["today", "7d", "all"],
        ),
    ] = "all",
    as_json: JsonOption = False,
) -> int:
    """Say what models were asked and about what it cost, by day and model."""
    from agent_host.gateways.cost import cost as run_cost

    return run_cost(settings_of(home), window, as_json=as_json)


@app.command()
def install(
    client: Annotated[
        str,
        typer.Argument(help="claude-desktop or cursor.", autocompletion=lambda: ["claude-desktop", "cursor"]),
    ],
    server: Annotated[list[str] | None, typer.Option("--server", help="A server, repeatable.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the configuration, write nothing.")] = False,
    home: HomeOption = None,
) -> int:
    """Put memory, calendar and notes into another program's configuration, and keep what is there."""
    from agent_host.gateways.install import install as run_install

    return run_install(settings_of(home), os.environ, client, server or (), dry_run=dry_run)


@receipts.command("list")
def receipts_list(
    home: HomeOption = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, newest first.")] = 20,
    as_json: JsonOption = False,
) -> int:
    """List the receipts of the newest turns."""
    from agent_host.gateways.receipts import list_receipts

    settings = settings_of(home)
    return run_command(lambda: list_receipts(settings, os.environ, limit=limit, as_json=as_json))


@receipts.command("show")
def receipts_show(
    receipt: Annotated[str, typer.Argument(help="A receipt's number or its turn id (t_…).")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show one receipt and its model calls."""
    from agent_host.gateways.receipts import show_receipt

    settings = settings_of(home)
    return run_command(lambda: show_receipt(settings, os.environ, receipt, as_json=as_json))


@receipts.command("verify")
def receipts_verify(home: HomeOption = None, as_json: JsonOption = False) -> int:
    """Verify this home's chains offline, under the policy its writer wrote; ends with the verdict."""
    from agent_host.receipts.verification import verify_home

    return verify_home(settings_of(home).home, as_json=as_json)
