"""Which servers to connect: `mcp.json`, in the shape Claude Desktop and most other hosts read, or in a list of ours.

`{"mcpServers": {NAME: {"command", "args", "env", "cwd"} | {"url", "token_env" | "token_file" | "headers" | "oauth"}}}`,
or `{"servers": [{"name": NAME, …}, …]}`, or both. Each may have `startup_timeout_s`, `permissions` and
`"disabled": true`; `${NAME}` in arguments, environment, url and headers is taken from the environment. An entry with
`permissions` alone is about the built-in server of its name; `"builtin": true` says that a server of this product runs
elsewhere. Keys of other hosts are passed over (agent.md row 76).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_host.errors import ConfigurationError
from agent_host.mcp_clients.config_entry import EntryReader
from agent_host.mcp_clients.server_config import ServerConfig

__all__ = ["ServerConfig", "merged", "read_servers"]


def read_servers(path: Path, environ: Mapping[str, str]) -> tuple[ServerConfig, ...]:
    """Reads `mcp.json`; no file means no servers. Relative token files are looked for beside it.

    Raises:
        ConfigurationError: the file cannot be read, or one of its servers cannot be used as it stands.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read; make it a UTF-8 file that you may read.") from error
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise ConfigurationError(f"{path} is not valid JSON{where}; correct it or move it away.") from error
    servers: dict[str, ServerConfig] = {}
    for name, entry in _entries(path, document):
        if name in servers:
            raise ConfigurationError(f"{path} names the server {name!r} twice; keep one of them.")
        servers[name] = EntryReader(path, name, entry, environ).server()
    return tuple(servers.values())


def merged(builtin: Iterable[ServerConfig], configured: Iterable[ServerConfig]) -> tuple[ServerConfig, ...]:
    """Returns the servers to use: a configured one, disabled or not, takes the place of a built-in one by name.

    Raises:
        ConfigurationError: permissions are given for a server that is neither configured nor built in.
    """
    servers = {server.name: server for server in builtin}
    for server in configured:
        is_about_another = server.command is None and server.url is None and not server.disabled
        if is_about_another and server.name not in servers:
            raise ConfigurationError(
                f"mcp.json gives permissions for a server {server.name!r} that is not there; add its command or url."
            )
        own = servers.get(server.name, server)
        servers[server.name] = replace(own, permissions=server.permissions) if is_about_another else server
    return tuple(server for server in servers.values() if not server.disabled)


def _entries(path: Path, document: Any) -> Iterator[tuple[str, Any]]:
    by_name = document.get("mcpServers", {}) if isinstance(document, dict) else None
    listed = document.get("servers", []) if isinstance(document, dict) else None
    if not isinstance(by_name, dict) or not isinstance(listed, list):
        raise ConfigurationError(f'{path} has no servers to read; write {{"mcpServers": {{…}}}}.')
    yield from by_name.items()
    for number, entry in enumerate(listed, 1):
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str):
            raise ConfigurationError(f"Entry {number} of `servers` in {path} needs a `name`; give it one.")
        yield name, entry
