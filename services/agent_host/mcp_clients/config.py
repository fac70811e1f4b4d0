"""Which servers to connect: `mcp.json`, in the shape Claude Desktop and most other hosts read, or in a list of ours.

`{"mcpServers": {NAME: {"command", "args", "env", "cwd"} | {"url", "token_env" | "token_file" | "headers" | "oauth"}}}`,
or `{"servers": [{"name": NAME, …}, …]}`, or both. Each may have `startup_timeout_s`, `permissions` and
`"disabled": true`; `${NAME}` in arguments, environment, url and headers is taken from the environment. An entry with
`permissions` alone is about the built-in server of its name; `"builtin": true` says that a server of this product runs
elsewhere. Keys of other hosts are passed over. An entry that cannot be used as it stands is a server with a `problem`,
also in the place of a built-in one: the others work (agent.md row 76).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from agent_host.errors import ConfigurationError
from agent_host.mcp_clients.config_entry import EntryReader
from agent_host.mcp_clients.config_values import Members, members_of, nearly
from agent_host.mcp_clients.server_config import ServerConfig

_LISTS: Final = ("mcpServers", "servers")

__all__ = ["ServerConfig", "merged", "read_servers"]


def read_servers(path: Path, environ: Mapping[str, str]) -> tuple[ServerConfig, ...]:
    """Reads `mcp.json`; no file means no servers. Relative token files are looked for beside it.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read; make it a UTF-8 file that you may read.") from error
    try:
        document = json.loads(text, object_pairs_hook=members_of)
    except (ValueError, RecursionError) as error:
        where = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise ConfigurationError(f"{path} is not valid JSON{where}; correct it or move it away.") from error
    servers: dict[str, ServerConfig] = {}
    for name, entry in _entries(path, document):
        if name in servers or name in _twice(document):
            problem = f"{path} names the server {name!r} twice; keep one of them."
            servers[name] = ServerConfig(name, problem=problem)
        else:
            servers[name] = _server(EntryReader(path, name, entry, environ))
    return tuple(servers.values())


def _server(reader: EntryReader) -> ServerConfig:
    try:
        return reader.server()
    except ConfigurationError as error:
        return ServerConfig(reader.name, problem=str(error))


def _twice(document: Any) -> frozenset[str]:
    by_name = document.get("mcpServers")
    return by_name.twice if isinstance(by_name, Members) else frozenset()


def merged(builtin: Iterable[ServerConfig], configured: Iterable[ServerConfig]) -> tuple[ServerConfig, ...]:
    """Returns the servers to use: a configured one, disabled or not, takes the place of a built-in one by name."""
    servers = {server.name: server for server in builtin}
    for server in configured:
        own = servers.get(server.name)
        if not server.is_rules_alone:
            servers[server.name] = server
        elif own is not None:
            servers[server.name] = replace(own, permissions=server.permissions)
        else:
            what = f"mcp.json gives permissions for a server {server.name!r} that is not there"
            servers[server.name] = replace(server, problem=f"{what}; add its command or url.")
    return tuple(server for server in servers.values() if not server.disabled)


def _entries(path: Path, document: Any) -> Iterator[tuple[str, Any]]:
    by_name = document.get("mcpServers", {}) if isinstance(document, dict) else None
    listed = document.get("servers", []) if isinstance(document, dict) else None
    if not isinstance(by_name, dict) or not isinstance(listed, list):
        raise ConfigurationError(f'{path} has no servers to read; write {{"mcpServers": {{…}}}}.')
    if document.twice:
        raise ConfigurationError(f"{path} has {min(document.twice)!r} twice; keep one.")
    for name in document:
        if name not in _LISTS and (meant := nearly(name, _LISTS)) is not None:
            raise ConfigurationError(f"{path} has a member {name!r} that nothing reads; write {meant!r}.")
    yield from by_name.items()
    for number, entry in enumerate(listed, 1):
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str):
            raise ConfigurationError(f"Entry {number} of `servers` in {path} needs a `name`; give it one.")
        yield name, entry
