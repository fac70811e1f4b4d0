"""Running an MCP server: one command line for all of them, over stdio or HTTP, with nothing but protocol on stdout.

The heavy SDKs are imported inside functions: `--help`, `--version` and `--where` answer without them.
"""

import argparse
import contextlib
import logging
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service_runtime import logs
from service_runtime.errors import ServiceError, SetupError
from service_runtime.settings import Settings, load_settings
from service_telemetry.export import start

if TYPE_CHECKING:
    from fastmcp import Context, FastMCP

_DISTRIBUTION = "prometheus-agent"
_NAME_CHARACTERS = 80


@dataclass(frozen=True)
class Option:
    """One server's own option, such as `--store ADDRESS`: the command line's way to set `PROMETHEUS_<setting>`."""

    flag: str
    setting: str
    metavar: str
    help: str


@dataclass(frozen=True)
class McpService:
    """One MCP server as its entry point describes it.

    `name` is the server's and its folder's in the home (`memory`), `command` what a person types (`memory-mcp`).
    `build` opens the store and defines the tools; the server's lifespan closes the store. `check` opens the store,
    returns one sentence about it and closes it. `where` returns where the data is, when it is not that folder.
    `epilog` ends the help: what the entry point does instead of serving.
    """

    name: str
    command: str
    build: Callable[[Settings], "FastMCP[Any]"]
    check: Callable[[Settings], str]
    options: Sequence[Option] = ()
    where: Callable[[Settings], str] | None = None
    epilog: str | None = None


def run_service(service: McpService, argv: Sequence[str]) -> int:
    """Run one MCP server until its input ends or it is told to stop; return the exit status.

    0 is an orderly end, 1 a store that cannot be opened, 2 a wrong set-up; each failure is one line on stderr.
    """
    options = _parser(service).parse_args(argv)
    try:
        if options.version:
            sys.stdout.write(f"{service.command} {_version()}\n")
            return 0
        told = {f"PROMETHEUS_{own.setting}": getattr(options, own.setting) for own in service.options}
        environ = {**os.environ, **{name: value for name, value in told.items() if value}}
        settings = load_settings(environ, _working_folder(), options.home)
        logs.configure(options.log_level or settings.get("LOG_LEVEL"))
        if options.where:
            place = service.where(settings) if service.where else settings.home.path / service.name
            sys.stdout.write(f"{place}\n")
        elif options.check:
            sys.stdout.write(f"{service.check(settings)}\n")
        else:
            export = start(settings.values, service.command.replace(" ", "-"))
            try:
                _serve(service, settings, options)
            finally:
                if export:
                    export.close()
    except ServiceError as error:
        sys.stderr.write(f"{service.command}: {error}\n")
        return 2 if isinstance(error, SetupError) else 1
    return 0


def new_server(
    name: str,
    instructions: str,
    lifespan: "Callable[[FastMCP[Any]], AbstractAsyncContextManager[Any]]",
) -> "FastMCP[Any]":
    """Return a FastMCP server whose failures reach the caller as one safe sentence each."""
    from fastmcp import FastMCP

    from service_runtime.mcp_errors import OneSentenceErrors

    return FastMCP(
        name,
        instructions,
        version=_version(),
        lifespan=lifespan,
        middleware=[OneSentenceErrors()],
        mask_error_details=True,
        on_duplicate="error",
    )


def client_name(ctx: "Context") -> str:
    """Return the name the client gives itself, in both protocol eras; a label, never a reason to trust it."""
    params = ctx.session.client_params
    told = params.client_info.name if params and params.client_info else ""
    return "".join(character for character in told if character.isprintable())[:_NAME_CHARACTERS] or "unknown"


def _serve(service: McpService, settings: Settings, options: argparse.Namespace) -> None:
    if options.transport == "http":
        from service_runtime import mcp_http

        mcp_http.serve(lambda: _built(service, settings), options, settings, lambda: service.check(settings))
    else:
        from service_runtime import stdin_guard

        server = _built(service, settings)
        stdin_guard.install()
        server.run(transport="stdio", show_banner=False)


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise SetupError("The working folder is gone; change to one that is there and start again.") from error


def _built(service: McpService, settings: Settings) -> "FastMCP[Any]":
    with contextlib.redirect_stdout(sys.stderr):  # a print while importing or building is no protocol
        server = service.build(settings)
    logs.adopt("fastmcp")
    logging.getLogger("fastmcp.server.server").addFilter(logs.unexpected_only)
    return server


def _parser(service: McpService) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=service.command,
        description=f"The {service.name} server of {_DISTRIBUTION}, for any MCP client.",
        epilog=service.epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--transport", choices=("stdio", "http"), default="stdio", help="how the client talks to it (default: stdio)")
    add("--host", default="127.0.0.1", help="HTTP: the address to listen on (default: 127.0.0.1)")
    add("--port", type=int, default=8931, help="HTTP: the port, 0 for any free one (default: 8931)")
    add("--token-file", metavar="FILE", help="HTTP: a file with the bearer token (else PROMETHEUS_MCP_TOKEN)")
    add("--allowed-host", metavar="NAME", action="append", default=[], help="HTTP: a Host header to accept, repeatable")
    add("--home", metavar="FOLDER", help="the home folder (else PROMETHEUS_HOME)")
    for own in service.options:
        add(own.flag, dest=own.setting, metavar=own.metavar, help=own.help)
    add("--log-level", metavar="LEVEL", help="debug, info, warning, error or critical (default: warning)")
    add("--where", action="store_true", help="print where the data is and exit")
    add("--check", action="store_true", help="open the store, say how it is and exit")
    add("--version", action="store_true", help="print the version and exit")
    return parser


def _version() -> str:
    from importlib.metadata import version

    return version(_DISTRIBUTION)
