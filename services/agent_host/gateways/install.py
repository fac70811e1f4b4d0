"""`agent-host install CLIENT`: puts the MCP servers into another program's configuration, and keeps what is there.

Commands are written as full paths: a desktop program's PATH seldom has a virtual environment in it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agent_host.errors import ConfigurationError, UsageError
from service_runtime.home import secure_write
from service_runtime.settings import Settings, load_settings

CLIENTS: Final = ("claude-desktop", "cursor")
DEFAULT_SERVERS: Final = ("memory", "calendar", "notes")
_COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "memory": ("memory-mcp",),
    **{name: ("tools-mcp", name) for name in ("calendar", "notes", "search", "reports", "messages")},
}
_SERVERS = "mcpServers"


@dataclass(frozen=True)
class Place:
    """Where a client keeps its configuration."""

    client: str
    path: Path


def install(
    settings: Settings, environ: Mapping[str, str], client: str, servers: Sequence[str], *, dry_run: bool
) -> int:
    """Writes the servers into a client's configuration, or prints them; returns the exit status.

    Raises:
        HostError: The client or a server is unknown or not installed, or the file cannot be read or written; then
            nothing was written.
    """
    place = place_of(client, environ, sys.platform)
    wanted = entries(settings, servers or DEFAULT_SERVERS)
    if dry_run:
        sys.stdout.write(f"{json.dumps({_SERVERS: wanted}, indent=2, ensure_ascii=False)}\n")
        sys.stderr.write(f"agent-host: this would go into {place.path}; nothing was written.\n")
        return 0
    sys.stdout.write(f"{write(place.path, wanted)}\n")
    return 0


def place_of(client: str, environ: Mapping[str, str], platform: str) -> Place:
    """Returns where a client keeps its configuration on a platform (`sys.platform`).

    Raises:
        UsageError: There is no such client.
    """
    if client not in CLIENTS:
        raise UsageError(f"There is no client {client!r}; name {' or '.join(CLIENTS)}.")
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    if client == "cursor":
        return Place(client, home / ".cursor" / "mcp.json")
    name = "claude_desktop_config.json"
    if platform == "darwin":
        return Place(client, home / "Library" / "Application Support" / "Claude" / name)
    if platform == "win32":
        local = Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
        packaged = sorted(local.glob("Packages/Claude_*/LocalCache/Roaming/Claude"))  # what the Store's version reads
        roaming = Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
        return Place(client, (packaged[0] if packaged else roaming / "Claude") / name)
    return Place(client, Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "Claude" / name)


def entries(settings: Settings, servers: Sequence[str]) -> dict[str, Any]:
    """Returns the configuration of each server; a home elsewhere than usual is passed on.

    Raises:
        UsageError: There is no such server, or its command is not installed.
    """
    usual = load_settings({}, Path(settings.home.path.anchor or "/")).home.path
    found: dict[str, Any] = {}
    for name in servers:
        if name not in _COMMANDS:
            raise UsageError(f"There is no server {name!r}; name some of {', '.join(_COMMANDS)}.")
        command, *arguments = _COMMANDS[name]
        found[name] = {"command": _full_path(command)}
        if arguments:
            found[name]["args"] = arguments
        if settings.home.path != usual:
            found[name]["env"] = {"PROMETHEUS_HOME": str(settings.home.path)}
    return found


def write(path: Path, wanted: Mapping[str, Any]) -> str:
    """Puts servers into a configuration file and returns what was done; the file as it was is kept beside it.

    A server that is there under the same name and is another program's stays; ours is then named `prometheus-NAME`.

    Raises:
        ConfigurationError: The file is not one that can be added to, or cannot be written.
    """
    real = Path(os.path.realpath(path))
    try:
        before = real.read_bytes() if real.exists() else None
        config = _config(before, path)
        servers = config.setdefault(_SERVERS, {})
        if not isinstance(servers, dict):
            raise ConfigurationError(f"{path}: {_SERVERS} is no object; correct it, nothing was written.")
        names = []
        for name, entry in wanted.items():
            taken = name in servers and not _is_ours(servers[name], entry)
            names.append(f"prometheus-{name}" if taken else name)
            servers[names[-1]] = {**_kept(servers.get(names[-1])), **entry}
        after = (json.dumps(config, indent=2, ensure_ascii=False) + "\n").encode()
        if before is not None and json.loads(before.decode("utf-8-sig") or "{}") == config:
            return f"{path} has {', '.join(names)} already; nothing was written."
        real.parent.mkdir(parents=True, exist_ok=True)
        kept = "" if before is None else f" The file as it was is kept as {_back_up(real, before).name}."
        secure_write(real, after)
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written: {(error.strerror or 'the disk failed').lower()}."
        ) from error
    return f"Wrote {', '.join(names)} into {path}.{kept} Restart the program to use them."


def _config(data: bytes | None, path: Path) -> dict[str, Any]:
    try:
        config = json.loads(data.decode("utf-8-sig")) if data and data.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is no JSON; correct it, nothing was written.") from error
    if not isinstance(config, dict):
        raise ConfigurationError(f"{path} is no JSON object; correct it, nothing was written.")
    return config


def _is_ours(there: Any, entry: Mapping[str, Any]) -> bool:
    """Returns whether an entry starts the same program as ours, from wherever it is installed."""
    if not isinstance(there, dict):
        return False
    return Path(str(there.get("command"))).stem == Path(entry["command"]).stem and list(
        there.get("args") or []
    ) == list(entry.get("args") or [])


def _kept(there: Any) -> dict[str, Any]:
    """Returns what a person has set for our server besides how it is started, such as more of its environment."""
    return {name: value for name, value in there.items() if name != "args"} if isinstance(there, dict) else {}


def _back_up(path: Path, data: bytes) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    copy = path.with_name(f"{path.name}.before-{stamp}")
    secure_write(copy, data)
    return copy


def _full_path(command: str) -> str:
    beside = Path(sys.executable).parent / command
    for candidate in (beside, beside.with_suffix(".exe")):
        if candidate.is_file():
            return str(candidate)
    found = shutil.which(command)
    if found is None:
        extra = "memory" if command == "memory-mcp" else "tools"
        raise UsageError(f"The command {command} is not installed; run pip install 'prometheus-agent[{extra}]'.")
    return str(Path(found).absolute())
