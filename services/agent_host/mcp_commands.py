"""The commands about tool servers: `agent-host mcp list|diff|accept|login|logout`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from agent_host.command_parts import HomeOption, run_command, settings_of

mcp = typer.Typer(help="The tool servers, and what of them is accepted.", no_args_is_help=True, add_completion=False)


@mcp.command("list")
def mcp_list(home: HomeOption = None) -> int:
    """List the servers and the state of their tools; starts none."""
    from agent_host.gateways.mcp import list_servers

    settings = settings_of(home)
    return run_command(lambda: list_servers(settings, os.environ))


@mcp.command("diff")
def mcp_diff(
    name: Annotated[str, typer.Argument(help="A server, as mcp.json or `mcp list` names it.")], home: HomeOption = None
) -> int:
    """Show what a server changed of its tools, line by line, before you accept it."""
    from agent_host.gateways.mcp import diff

    settings = settings_of(home)
    return run_command(lambda: diff(settings, os.environ, name))


@mcp.command("accept")
def mcp_accept(
    name: Annotated[str, typer.Argument(help="A server, as mcp.json or `mcp list` names it.")], home: HomeOption = None
) -> int:
    """Accept what a server changed of its tools, so that they are offered."""
    from agent_host.gateways.mcp import accept

    settings = settings_of(home)
    return run_command(lambda: accept(settings, os.environ, name))


@mcp.command("login")
def mcp_login(
    name: Annotated[str, typer.Argument(help="A server with a url, as mcp.json names it.")],
    home: HomeOption = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, and open nothing.")] = False,
    timeout: Annotated[int, typer.Option(min=1, max=3600, help="Seconds to wait for you.")] = 300,
) -> int:
    """Log in to a server that runs elsewhere (OAuth), in your browser; a login that is there is replaced."""
    from agent_host.gateways.mcp_login import login

    settings = settings_of(home)
    return run_command(lambda: login(settings, os.environ, name, open_browser=not no_browser, timeout_s=timeout))


@mcp.command("logout")
def mcp_logout(
    name: Annotated[str, typer.Argument(help="A server, as mcp.json or `mcp list` names it.")], home: HomeOption = None
) -> int:
    """Forget the login to a server, and hand its tokens back."""
    from agent_host.gateways.mcp_login import logout

    settings = settings_of(home)
    return run_command(lambda: logout(settings, os.environ, name))
