"""Which servers to connect: `mcp.json`, in the shape Claude Desktop and most other hosts read.

`{"mcpServers": {NAME: {"command", "args", "env", "cwd"} | {"url", "token_env" | "token_file" | "headers"}}}`, each with
an optional `startup_timeout_s`, or `"disabled": true`. Keys of other hosts are passed over (agent.md row 76).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from agent_host.errors import ConfigurationError

_NAME_CHARS: Final = 100


@dataclass(frozen=True)
class ServerConfig:
    """One server: a `command` to run over stdio, or the `url` of one that speaks streamable HTTP.

    `token` is sent as a bearer token. Environment, headers and token may hold secrets, so they have no repr.
    `startup_timeout_s` is how long this server may take to list its tools, None for the usual time.
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

    @property
    def address(self) -> str:
        """The url without its query, which may hold a key, for messages."""
        parts = urlsplit(self.url or "")
        return f"{parts.scheme}://{parts.netloc}{parts.path}"


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
    servers = document.get("mcpServers", {}) if isinstance(document, dict) else None
    if not isinstance(servers, dict):
        raise ConfigurationError(f'{path} has no servers to read; write {{"mcpServers": {{…}}}}.')
    return tuple(
        ServerConfig(name, disabled=True) if _is_disabled(entry) else _Reader(path, name, entry, environ).server()
        for name, entry in servers.items()
    )


def merged(builtin: Iterable[ServerConfig], configured: Iterable[ServerConfig]) -> tuple[ServerConfig, ...]:
    """Returns the servers to use: a configured one, disabled or not, takes the place of a built-in one by name."""
    servers = {server.name: server for server in (*builtin, *configured)}
    return tuple(server for server in servers.values() if not server.disabled)


def _is_disabled(entry: object) -> bool:
    return isinstance(entry, dict) and entry.get("disabled") is True


@dataclass(frozen=True)
class _Reader:
    """Reads one entry of the file; every complaint names the server and says what to write."""

    path: Path
    name: str
    entry: Any
    environ: Mapping[str, str]

    def server(self) -> ServerConfig:
        if not self.name.strip() or len(self.name) > _NAME_CHARS or not self.name.isprintable():
            raise self._error(f"needs a name of 1 to {_NAME_CHARS} printable characters")
        if not isinstance(self.entry, dict):
            raise self._error("must be an object with `command` or `url`")
        if ("command" in self.entry) == ("url" in self.entry):
            raise self._error("needs either `command` (a server to start) or `url` (a server that runs), not both")
        if self.entry.get("type") == "sse":
            raise self._error("uses the retired SSE transport; give its streamable HTTP address and remove `type`")
        return self._stdio() if "command" in self.entry else self._http()

    def _stdio(self) -> ServerConfig:
        args = self.entry.get("args", [])
        if not isinstance(args, list) or not all(isinstance(arg, str) for arg in args):
            raise self._error("needs `args` as a list of strings")
        return ServerConfig(
            self.name,
            command=self._string("command"),
            args=tuple(args),
            env=self._strings("env"),
            cwd=self._string("cwd") if "cwd" in self.entry else None,
            startup_timeout_s=self._startup_timeout_s(),
        )

    def _http(self) -> ServerConfig:
        url = self._string("url")
        if not _is_web_address(url):
            raise self._error("needs `url` as a web address, such as http://127.0.0.1:8931/mcp")
        if "@" in urlsplit(url).netloc:
            raise self._error("holds a name or password in its `url`; use `token_env` or `token_file`")
        headers = self._strings("headers")
        token = self._token()
        if token is not None and any(name.lower() == "authorization" for name in headers):
            raise self._error("names two ways to authenticate; keep one of `token_env`, `token_file` and the header")
        return ServerConfig(
            self.name, url=url, token=token, headers=headers, startup_timeout_s=self._startup_timeout_s()
        )

    def _token(self) -> str | None:
        if "token_env" in self.entry and "token_file" in self.entry:
            raise self._error("names two ways to authenticate; keep one of `token_env` and `token_file`")
        if "token_env" in self.entry:
            variable = self._string("token_env")
            token = self.environ.get(variable, "").strip()
            if not token:
                raise self._error(f"takes its token from the environment variable {variable}, which is not set; set it")
        elif "token_file" in self.entry:
            file = self.path.parent / Path(self._string("token_file")).expanduser()
            try:
                token = file.read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise self._error(f"takes its token from {file}, which cannot be read; create it") from error
        else:
            return None
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise self._error("has a token that is empty or holds characters no token has; write it anew")
        return token

    def _startup_timeout_s(self) -> float | None:
        told = self.entry.get("startup_timeout_s")
        if told is None:
            return None
        if isinstance(told, bool) or not isinstance(told, int | float) or not 0 < told <= 3600:  # noqa: PLR2004
            raise self._error("needs `startup_timeout_s` as a number of seconds above 0 and up to 3600")
        return float(told)

    def _string(self, key: str) -> str:
        value = self.entry[key]
        if not isinstance(value, str) or not value.strip() or "\0" in value:
            raise self._error(f"needs `{key}` as a text")
        return value

    def _strings(self, key: str) -> Mapping[str, str]:
        value = self.entry.get(key, {})
        if not isinstance(value, Mapping) or not all(isinstance(item, str) for item in value.values()):
            raise self._error(f"needs `{key}` as an object of texts")
        return dict(value)

    def _error(self, problem: str) -> ConfigurationError:
        return ConfigurationError(f"The server {self.name!r} in {self.path} {problem}.")


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
