"""`agent-host mcp`: which servers there are, what of them is accepted, what they changed, and a yes to that."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack

from agent_host.app import known_servers, manifest_ledger, open_writer
from agent_host.errors import HostError, UsageError
from agent_host.gateways.mcp_login import login_state
from agent_host.gateways.screen import printable, table
from agent_host.mcp_clients.home_rules import logins_of, manifests_of
from agent_host.mcp_clients.pin import Pin, source_of
from agent_host.mcp_clients.server_config import ServerConfig
from service_runtime.settings import Settings


async def list_servers(settings: Settings, environ: Mapping[str, str]) -> int:
    """Prints each server with the state of its tools; starts none.

    Raises:
        ConfigurationError, SetupError: the settings or `mcp.json` cannot be used.
    """
    sys.stdout.write(printable(servers_text(settings, environ)) + "\n")
    return 0


def servers_text(settings: Settings, environ: Mapping[str, str]) -> str:
    """Returns a line a server: its name, where it comes from, and the state of its tools.

    Raises:
        ConfigurationError, SetupError: the settings or `mcp.json` cannot be used.
    """
    logins, zone = logins_of(settings.home.folder("host")), settings.zone()
    rows = [
        (
            config.name,
            config.problem
            or ", ".join(part for part in (_source(config), _state(pin), login_state(config, logins, zone)) if part),
        )
        for config, pin in _pins(settings, environ)
    ]
    return table(rows) or "There is no server."


async def diff(settings: Settings, environ: Mapping[str, str], name: str) -> int:
    """Prints all that a server changed and nobody has accepted.

    Raises:
        UsageError: there is no such server, or it changed nothing that waits.
        ConfigurationError, SetupError: the settings or `mcp.json` cannot be used.
    """
    lines = _changed(settings, environ, name).changed_lines
    sys.stdout.write(printable("\n".join(lines)) + "\n")
    return 0


async def accept(settings: Settings, environ: Mapping[str, str], name: str) -> int:
    """Accepts what a server lists now, and records that in the ledger if its writer answers.

    Raises:
        UsageError: there is no such server, or nothing of it to accept.
        ConfigurationError, SetupError: the settings or `mcp.json` cannot be used.
    """
    pin = _accepted(settings, environ, name)
    sys.stdout.write(printable(f"{name}: {len(pin.tools)} tools accepted.\n"))
    if not await _recorded(settings, environ, pin):
        sys.stdout.write("The ledger does not have it yet; the next turn records it.\n")
    return 0


def command(settings: Settings, environ: Mapping[str, str], told: str) -> str:
    """Returns the answer to `/mcp`, `/mcp list`, `/mcp diff NAME` and `/mcp accept NAME` in a conversation.

    What is accepted is offered from the next turn on, which records it too.

    Raises:
        UsageError: it is none of these, there is no such server, or nothing of it to accept.
        ConfigurationError, SetupError: the settings or `mcp.json` cannot be used.
    """
    verb, _, name = (part.strip() for part in told.partition(" "))
    if verb in {"", "list"} and not name:
        return servers_text(settings, environ)
    if verb == "diff" and name:
        return "\n".join(_changed(settings, environ, name).changed_lines)
    if verb == "accept" and name:
        return f"{name}: {len(_accepted(settings, environ, name).tools)} tools accepted."
    raise UsageError("Type /mcp for the list of servers, or /mcp diff or /mcp accept and the name of one.")


def changed(settings: Settings, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Returns the servers that changed something that waits to be accepted, each with what.

    Raises:
        ConfigurationError, SetupError: the settings or `mcp.json` cannot be used.
    """
    return [(config.name, str(pin.change)) for config, pin in _pins(settings, environ) if pin.change is not None]


def _accepted(settings: Settings, environ: Mapping[str, str], name: str) -> Pin:
    pin = _changed(settings, environ, name)
    pin.answer(yes=True)
    return pin


def _changed(settings: Settings, environ: Mapping[str, str], name: str) -> Pin:
    pin = next((pin for config, pin in _pins(settings, environ) if config.name == name), None)
    if pin is None:
        raise UsageError(f"There is no server {name[:100]!r}; `agent-host mcp list` names them.")
    if pin.change is None:
        raise UsageError(f"The server {name!r} changed nothing that waits to be accepted.")
    return pin


async def _recorded(settings: Settings, environ: Mapping[str, str], pin: Pin) -> bool:
    async with AsyncExitStack() as resources:
        try:
            link = open_writer(settings, environ, resources)
            await link.connect()
            ledger = manifest_ledger(link)
            for version in pin.unrecorded():
                if not await ledger.record(version):
                    return False
                pin.recorded(version)
        except HostError:
            return False
    return True


def _pins(settings: Settings, environ: Mapping[str, str]) -> list[tuple[ServerConfig, Pin]]:
    manifests = manifests_of(settings.home.folder("host"))
    servers, version = known_servers(settings, environ)
    return [(config, Pin(config, manifests, version)) for config in servers]


def _source(config: ServerConfig) -> str:
    return "built in" if config.builtin else source_of(config)


def _state(pin: Pin) -> str:
    if pin.change is not None:
        said = "was refused" if not pin.wants_answer else "waits: see `agent-host mcp diff`"
        return f"{len(pin.tools)} tools offered; it changed some ({pin.change}), which {said}"
    return f"{len(pin.tools)} tools" if pin.known else "not started yet"
