"""One MCP server, as this host is to use it: a value, read from `mcp.json` or built in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from agent_host.mcp_clients.permissions import Word


@dataclass(frozen=True)
class ServerConfig:
    """One server: a `command` to run over stdio, or the `url` of one that speaks streamable HTTP.

    `token` is sent as a bearer token. Environment, headers and token may hold secrets, so they have no repr.
    `startup_timeout_s` is how long this server may take to list its tools, None for the usual time. `permissions` is
    what its person said of its tools, `builtin` that it is one of this product's own, here or elsewhere.
    """

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    url: str | None = None
    token: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    startup_timeout_s: float | None = None
    disabled: bool = False
    permissions: Mapping[str, Word] = field(default_factory=dict)
    builtin: bool = False

    @property
    def address(self) -> str:
        """The url without its query, which may hold a key, for messages."""
        parts = urlsplit(self.url or "")
        return f"{parts.scheme}://{parts.netloc}{parts.path}"
