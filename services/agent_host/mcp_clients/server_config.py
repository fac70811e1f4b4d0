"""One MCP server, as this host is to use it: a value, read from `mcp.json` or built in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from agent_host.mcp_clients.permissions import Word


@dataclass(frozen=True)
class OAuthSettings:
    """What a person said about the login to a server; all of it can be found out by itself.

    `asked_for`: the entry has `oauth`. A `client_id`, and a secret with it, is one they registered; `redirect_port` is
    for a server that knows the way back to this computer by its port, 0 for any.
    """

    asked_for: bool = False
    client_id: str | None = None
    client_secret: str | None = field(default=None, repr=False)
    scope: str | None = None
    redirect_port: int = 0


@dataclass(frozen=True)
class ServerConfig:
    """One server: a `command` to run over stdio, or the `url` of one that speaks streamable HTTP.

    `token` is sent as a bearer token; `oauth` is set where a person can log in instead. Environment, headers and token
    may hold secrets, so they have no repr.
    `startup_timeout_s` is how long this server may take to list its tools, None for the usual time. `permissions` is
    what its person said of its tools, `builtin` that it is one of this product's own, here or elsewhere. `problem` is a
    sentence on why it cannot be used as it is configured; it has nothing else then.
    """

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    url: str | None = None
    token: str | None = field(default=None, repr=False)
    oauth: OAuthSettings | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    startup_timeout_s: float | None = None
    disabled: bool = False
    permissions: Mapping[str, Word] = field(default_factory=dict)
    builtin: bool = False
    problem: str | None = None

    @property
    def is_rules_alone(self) -> bool:
        """Whether it says only what a server of this name may do."""
        return self.command is None and self.url is None and not self.disabled and self.problem is None

    @property
    def address(self) -> str:
        """The url without its query, which may hold a key, for messages."""
        parts = urlsplit(self.url or "")
        return f"{parts.scheme}://{parts.netloc}{parts.path}"

    @property
    def needs_login(self) -> str:
        """What to do when the server asks for a login, as the rest of a sentence."""
        return f"it needs a login; run `agent-host mcp login {self.name}`"
