"""The servers this product brings along, as any MCP client would start them: over stdio, each its own process.

With a fork server (`service_runtime.forkserver`) each is started through `service_runtime.launch`, which saves the time
of importing the SDK once per server; when no fork server answers there, `launch` starts the server by itself.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from agent_host.mcp_clients.config import ServerConfig

_BUILTIN: Final[Mapping[str, tuple[str, ...]]] = {
    "memory": ("memory_mcp",),
    "calendar": ("tools_mcp", "calendar"),
    "notes": ("tools_mcp", "notes"),
    "search": ("tools_mcp", "search"),
    "reports": ("tools_mcp", "reports"),
    "messages": ("tools_mcp", "messages"),
}
_OWN_SECRETS: Final[Mapping[str, str]] = {
    "PROMETHEUS_CALDAV_USER": "calendar",
    "PROMETHEUS_CALDAV_PASSWORD": "calendar",
    "PROMETHEUS_BRAVE_API_KEY": "search",
    "PROMETHEUS_TAVILY_API_KEY": "search",
}
NAMES: Final = tuple(_BUILTIN)
MODULES: Final = tuple(sorted({module for module, *_ in _BUILTIN.values()}))
"""What a fork server must allow to start."""


def builtin_servers(
    python: str, home: Path, environment: Mapping[str, str], forkserver: Path | None = None
) -> tuple[ServerConfig, ...]:
    """Returns the built-in servers in a stable order.

    `python` is the interpreter, `environment` what the servers get to see beside the few variables that every stdio
    server inherits (PATH, HOME, …), `forkserver` the socket of a fork server.
    """
    start = ("-P", "-m") if forkserver is None else ("-I", "-S", _launcher(), "--socket", str(forkserver))
    return tuple(
        ServerConfig(
            name,
            command=python,
            args=(*start, *words),
            env={**environment_of(name, environment), "PROMETHEUS_HOME": str(home)},
            builtin=True,
        )
        for name, words in _BUILTIN.items()
    )


def environment_of(server: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the part of an environment that a server may see: other servers' passwords and keys are left out."""
    return {name: value for name, value in environment.items() if _OWN_SECRETS.get(name, server) == server}


def _launcher() -> str:
    """The path of `service_runtime/launch.py`: run as a file it needs no site packages, and starts in half the time."""
    spec = importlib.util.find_spec("service_runtime.launch")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("service_runtime.launch")
    return spec.origin
