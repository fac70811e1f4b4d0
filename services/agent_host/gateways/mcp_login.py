"""`agent-host mcp login|logout`: a person's login to a server that runs elsewhere, in their browser."""

from __future__ import annotations

import sys
import threading
import webbrowser
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Final
from urllib.parse import urlsplit

from agent_host.app import known_servers
from agent_host.errors import UsageError
from agent_host.gateways.screen import printable
from agent_host.mcp_clients.home_rules import logins_of
from agent_host.mcp_clients.oauth.folder import LoginFolder
from agent_host.mcp_clients.server_config import ServerConfig
from service_runtime.settings import Settings

_WINDOWS: Final = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
"""What a desktop of Linux or BSD sets; without one, a browser would take over the terminal."""


async def login(
    settings: Settings, environ: Mapping[str, str], name: str, *, open_browser: bool, timeout_s: float
) -> int:
    """Logs a person in; works while a conversation runs, whose next turn uses it.

    Raises:
        UsageError: there is no such server, or it has another way to authenticate.
        LoginError: no login came about.
        ConfigurationError, SetupError: the settings or `mcp.json` cannot be used.
        OSError: the disk refused.
    """
    config = _remote(settings, environ, name)
    from agent_host.mcp_clients.oauth.login import log_in

    async def show(address: str) -> None:
        opened = open_browser and _opened(address, environ)
        begin = "Your browser opens this address; log in there" if opened else "Open this address and log in there"
        _say(f"{begin} (within {timeout_s:g} s, Ctrl-C gives up):\n\n{address}\n")

    made = await log_in(config, logins_of(settings.home.folder("host")), show, timeout_s=timeout_s)
    if made is None:
        is_told_to = config.oauth is not None and config.oauth.asked_for
        rest = "take `oauth` out of its entry in mcp.json" if is_told_to else "it can be used as it is"
        _say(f"{name} asks for no login; {rest}.")
    else:
        _say(f"Logged in to {name}{_at(made.issuer)}. Its tools are there from the next turn on.")
    return 0


async def logout(settings: Settings, environ: Mapping[str, str], name: str) -> int:
    """Forgets a login.

    Raises:
        UsageError: there is no such server, or it has another way to authenticate.
        ConfigurationError, SetupError: the settings or `mcp.json` cannot be used.
        OSError: the disk refused.
    """
    config = _remote(settings, environ, name)
    logins, url = logins_of(settings.home.folder("host")), config.url or ""
    if logins.read(url) is None:
        _say(f"You are not logged in to {name}.")
        return 0
    from agent_host.mcp_clients.oauth.logout import log_out

    taken = await log_out(logins, url)
    rest = (
        "its server took the tokens back" if taken else "its server takes no tokens back, so they run out by themselves"
    )
    _say(f"Logged out of {name}; {rest}.")
    return 0


def login_state(config: ServerConfig, logins: LoginFolder, zone: tzinfo) -> str:
    """Returns, as a part of a line, whether a person is logged in; nothing where none was asked for."""
    if config.oauth is None or config.url is None:
        return ""
    kept = logins.read(config.url)
    if kept is None or kept.tokens is None:
        wanted = kept is not None or config.oauth.asked_for
        return config.needs_login.removeprefix("it ") if wanted else ""
    if kept.since_ms is None:
        return "logged in"
    day = datetime.fromtimestamp(kept.since_ms / 1000, UTC).astimezone(zone).date()
    return f"logged in{_at(kept.issuer)} since {day}"


def _remote(settings: Settings, environ: Mapping[str, str], name: str) -> ServerConfig:
    config = next((one for one in known_servers(settings, environ)[0] if one.name == name), None)
    if config is None:
        raise UsageError(f"There is no server {name[:100]!r}; `agent-host mcp list` names them.")
    if config.problem is not None:
        raise UsageError(config.problem)
    if config.url is None:
        raise UsageError(f"The server {name!r} is started by this host and has no login.")
    if config.oauth is None:
        raise UsageError(f"The server {name!r} has another way to authenticate in mcp.json; take that out to log in.")
    return config


def _opened(address: str, environ: Mapping[str, str]) -> bool:
    """Begins to open the address in a browser with a window, if there is one; no shell sees it, and nobody waits."""
    has_windows = sys.platform in {"darwin", "win32"} or any(environ.get(one) for one in _WINDOWS)
    if not has_windows:
        return False
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    threading.Thread(target=browser.open, args=(address,), daemon=True).start()
    return True


def _at(issuer: str | None) -> str:
    return f" at {urlsplit(issuer).netloc}" if issuer else ""


def _say(text: str) -> None:
    sys.stdout.write(printable(text) + "\n")
    sys.stdout.flush()
