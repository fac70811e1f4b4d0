"""What people set up wrong most often, and what to do about it; looked at without starting or changing anything."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from agent_host.app import skill_folder
from agent_host.budget import limits
from agent_host.errors import HostError
from agent_host.gateways.finding import Finding
from agent_host.gateways.known_settings import misspelt
from agent_host.mcp_clients.builtin import NAMES
from agent_host.mcp_clients.config import merged, read_servers
from agent_host.mcp_clients.server_config import ServerConfig
from agent_host.providers.pricing import price_of
from agent_host.settings import HostSettings, host_settings
from service_runtime import logs
from service_runtime.errors import ServiceError
from service_runtime.settings import Settings

LEAST_FREE_BYTES: Final = 100_000_000
NARROWEST: Final = 40
_LAST_LINE_BYTES: Final = 65_536
_AHEAD: Final = timedelta(minutes=5)
_PLACEHOLDERS: Final = ("your-", "your_", "changeme", "xxxxxx", "<", "...")
_NEEDED: Final = {"receipt writer": "nacl", "memory and tool servers": "fastmcp", "memory server": "sqlite_utils"}
_THIS_COMPUTER: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_KEYS: Final = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")


def names_and_sources(settings: Settings, cwd: Path) -> Iterator[Finding]:
    """Names the `.env` files that are read, and settings that nothing reads."""
    nearest = next((folder / ".env" for folder in (cwd, *cwd.parents) if (folder / ".env").is_file()), None)
    home = settings.home.path / ".env"
    files = [str(one) for one in dict.fromkeys((nearest, home)) if one is not None and one.is_file()]
    if files:
        yield Finding("settings", "ok", f"Read from the environment, then {', then '.join(files)}; the first wins.")
    for name, meant in misspelt(settings.values):
        advice = f"did you mean {meant}?" if meant else "remove it, or see the README for what there is."
        yield Finding("settings", "note", f"{name} is set and nothing reads it; {advice}")


def log_level(settings: Settings) -> Iterator[Finding]:
    """Finds a log level that is none, which would keep every process of this product from starting."""
    level = settings.get("LOG_LEVEL") or logs.LEVELS[0]
    if level.lower() not in logs.LEVELS:
        known = ", ".join(logs.LEVELS)
        yield Finding("settings", "wrong", f"PROMETHEUS_LOG_LEVEL is {level!r}, which is unknown; set one of {known}.")


def model_mistakes(settings: Settings) -> Iterator[Finding]:
    """Finds keys and models that are set and not used, keys that cannot be one, and budgets that are none."""
    try:
        told = host_settings(settings)
    except HostError:
        return  # said by the check of the model itself
    try:
        if limits(settings).asked_for and price_of(told.priced_as, told.model) is None:
            yield Finding("budget", "note", f"No price is known for {told.model}: its calls count towards no budget.")
    except HostError as error:
        yield Finding("budget", "wrong", str(error))
    given = settings.get("API_KEY") or next((key for key in map(settings.outside, _KEYS) if key), None)
    if told.provider == "offline":
        unused = [name for name in ("MODEL", "SMALL_MODEL", "BASE_URL") if settings.get(name)]
        if given:
            yield Finding("model", "note", "A key is set and not used; set PROMETHEUS_PROVIDER, such as anthropic.")
        if unused:
            names = ", ".join(f"PROMETHEUS_{name}" for name in unused)
            yield Finding("model", "note", f"{names}: set but not used, as PROMETHEUS_PROVIDER is not.")
    elif told.api_key:
        yield from _key(told, told.api_key)


def _key(told: HostSettings, key: str) -> Iterator[Finding]:
    """Judges the look of a key and never shows it."""
    if key != key.strip() or any(mark in key for mark in "\"' \t\n"):
        yield Finding("model", "wrong", "The key has quotes or white space in it; set the key alone.")
    elif any(mark in key.lower() for mark in _PLACEHOLDERS):
        yield Finding("model", "wrong", "The key looks like the placeholder of an example; set your own.")
    elif told.provider == "anthropic" and told.base_url is None and not key.startswith("sk-ant-"):
        yield Finding("model", "note", "The key does not begin as Anthropic's do (sk-ant-); is it another vendor's?")
    elif told.provider == "openai-compatible" and key.startswith("sk-ant-"):
        yield Finding("model", "note", "The key is Anthropic's; for their models set PROMETHEUS_PROVIDER=anthropic.")


def installation(is_there: Callable[[str], bool] = lambda module: find_spec(module) is not None) -> Iterator[Finding]:
    """Finds the parts of the product that were not installed; `is_there` says whether a module is."""
    missing = [f"{what} ({module})" for what, module in _NEEDED.items() if not is_there(module)]
    if missing:
        yield Finding(
            "version", "wrong", f"Not installed: {', '.join(missing)}; run: pip install 'prometheus-agent[all]'"
        )


def home_state(home: Path) -> Iterator[Finding]:
    """Finds a home that cannot be written, a disk that is nearly full, and another host on the same home."""
    if not home.is_dir():
        return
    if not os.access(home, os.W_OK | os.X_OK):
        yield Finding("home", "wrong", f"{home} cannot be written; run: chmod u+rwx {home}, or name another folder.")
        return
    free = shutil.disk_usage(home).free
    if free < LEAST_FREE_BYTES:
        yield Finding("home", "wrong", f"Its disk has {free // 1_000_000} MB left; receipts need more: make room.")
    holder = _holder(home / "host" / "lock")
    if holder is not None:
        yield Finding("home", "note", f"Another agent host (process {holder}) uses it now; one at a time can.")


def _holder(lock: Path) -> str | None:
    try:
        with lock.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read(20).decode("ascii", "replace").strip() or "unknown"
    except OSError:
        return None
    return None


def servers(settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Finds an `mcp.json` that cannot be used, servers in it that cannot, and those whose program is not there."""
    own = (ServerConfig(name, builtin=True) for name in NAMES)
    try:
        configured = merged(own, read_servers(host_settings(settings).mcp_config, environ))
    except (HostError, ServiceError) as error:
        if not str(error).startswith("PROMETHEUS_"):  # settings were judged before
            yield Finding("mcp.json", "wrong", str(error))
        return
    for server in configured:
        if server.problem is not None:
            yield Finding("mcp.json", "wrong", server.problem)
        elif server.token is not None and not server.builtin and _is_in_the_clear(server.url or ""):
            advice = "give its https address, or reach it through a tunnel."
            yield Finding(
                "mcp.json", "note", f"The token of the server {server.name} goes over HTTP unencrypted; {advice}"
            )
        elif server.command is not None and not _is_there(server, environ):
            yield Finding(
                "mcp.json",
                "wrong",
                f"The server {server.name} runs {server.command!r}, which is not found; give its full path.",
            )


def _is_in_the_clear(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname not in _THIS_COMPUTER


def _is_there(server: ServerConfig, environ: Mapping[str, str]) -> bool:
    path = server.env.get("PATH") or environ.get("PATH") or os.defpath
    command = Path(server.command or "").expanduser()
    if command.parent != Path():
        return os.access(Path(server.cwd or ".") / command, os.X_OK)
    return shutil.which(str(command), path=path) is not None


def skills(settings: Settings) -> Iterator[Finding]:
    """Finds skills that cannot be used."""
    for problem in skill_folder(settings).problems():
        yield Finding("skills", "note", problem)


def clock(home: Path, now: datetime) -> Iterator[Finding]:
    """Finds a clock that was set back behind the newest receipt."""
    try:
        with (home / "receipts" / "chains" / "turns.jsonl").open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _LAST_LINE_BYTES))
            last = json.loads(file.read().splitlines()[-1])
        recorded = datetime.fromisoformat(last["recordedAtIso"])
    except (OSError, ValueError, LookupError, TypeError):
        return  # no receipts, or the ledger's own check has more to say
    if recorded > now + _AHEAD:
        when = recorded.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
        yield Finding("clock", "note", f"The newest receipt is of {when} UTC, after now; is the system's clock right?")


def window(environ: Mapping[str, str], *, is_terminal: bool, encoding: str, columns: int) -> Iterator[Finding]:
    """Says what a conversation at this terminal will lack."""
    term = environ.get("TERM", "")
    if not is_terminal:
        return
    if not encoding.lower().startswith("utf"):
        yield Finding(
            "terminal", "note", f"Its encoding is {encoding}: some characters show as codes; set LANG=C.UTF-8."
        )
    if term.lower() in {"", "dumb", "unknown"}:
        yield Finding(
            "terminal", "note", f"TERM is {term!r}: no Markdown and no completion; set it to your terminal's."
        )
    if columns < NARROWEST:
        yield Finding("terminal", "note", f"It has {columns} columns; tables read better from {NARROWEST} on.")
    if environ.get("NO_COLOR"):
        yield Finding("terminal", "note", "NO_COLOR is set, so that there are no colours.")


def here(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Judges the terminal this process writes to."""
    columns = shutil.get_terminal_size().columns
    return window(environ, is_terminal=sys.stdout.isatty(), encoding=sys.stdout.encoding or "ascii", columns=columns)
