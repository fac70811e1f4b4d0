"""The rules about tools that a home holds: its pins, its standing answers, what its settings leave out."""

from __future__ import annotations

from pathlib import Path

from agent_host.mcp_clients.approval import Approver, NobodyToAsk
from agent_host.mcp_clients.guard import Guard
from agent_host.mcp_clients.ledger import ManifestLedger
from agent_host.mcp_clients.manager import ToolRules
from agent_host.mcp_clients.oauth.folder import LoginFolder
from agent_host.mcp_clients.pinning import ManifestFolder
from agent_host.mcp_clients.standing import StandingPermissions


def home_rules(
    folder: Path,
    *,
    guard: Guard | None,
    ledger: ManifestLedger | None,
    unavailable: str | None,
    elsewhere: frozenset[str],
    lazy: bool,
) -> ToolRules:
    """Returns the rules of the home whose host folder this is; `unavailable` is a list with commas (agent.md row 13).

    `elsewhere` are the names of tools that this host has beside those of its servers.

    Without a guard, as where no model calls the tools, nobody can be asked.
    """
    names = frozenset(name.strip() for name in (unavailable or "").split(",") if name.strip())
    guard = guard or home_guard(folder, NobodyToAsk())
    return ToolRules(guard, manifests_of(folder), ledger, names, elsewhere, lazy=lazy, logins=logins_of(folder))


def home_guard(folder: Path, approver: Approver) -> Guard:
    """Returns what decides about calls on that home, and asks `approver`."""
    return Guard(approver, StandingPermissions(folder / "permissions.json"))


def logins_of(folder: Path) -> LoginFolder:
    """Returns the logins to tool servers of the home whose host folder this is."""
    return LoginFolder(folder / "logins")


def manifests_of(folder: Path) -> ManifestFolder:
    """Returns the pinned tool lists of the home whose host folder this is."""
    return ManifestFolder(folder / "manifests")
