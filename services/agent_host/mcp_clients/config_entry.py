"""One server's entry in `mcp.json`; every complaint names the server and says what to write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from agent_host.endpoint_rules import is_token, is_web_address
from agent_host.mcp_clients.config_values import REACHED, EntryValues
from agent_host.mcp_clients.permissions import EVERY_TOOL, WORDS, Word
from agent_host.mcp_clients.server_config import OAuthSettings, ServerConfig

_NAME_CHARS: Final = 100
_OAUTH_MEMBERS: Final = frozenset({"client_id", "client_secret_env", "scope", "redirect_port"})


class EntryReader(EntryValues):
    """Reads one entry."""

    def server(self) -> ServerConfig:
        """Returns the entry as a server.

        Raises:
            ConfigurationError: it cannot be used as it stands.
        """
        if not self.name.strip() or len(self.name) > _NAME_CHARS or not self.name.isprintable():
            raise self.error(f"needs a name of 1 to {_NAME_CHARS} printable characters")
        if not isinstance(self.entry, dict):
            raise self.error("must be an object with `command` or `url`")
        self.check_members()
        if self.is_off():
            return ServerConfig(self.name, disabled=True)
        if not {"command", "url"} & set(self.entry) and "permissions" in self.entry:
            return ServerConfig(self.name, permissions=self._permissions())  # for the built-in server of this name
        if ("command" in self.entry) == ("url" in self.entry):
            raise self.error("needs one of `command` (a server to start) and `url` (a server that runs)")
        if "command" in self.entry and (other := next((one for one in sorted(REACHED) if self.entry.get(one)), None)):
            raise self.error(f"has `{other}`, which a server that is started does not get; see `args` and `env`")
        if self.entry.get("type") == "sse":
            raise self.error("uses the retired SSE transport; give its streamable HTTP address and remove `type`")
        made = self._stdio() if "command" in self.entry else self._http()
        return replace(made, permissions=self._permissions(), builtin=self.entry.get("builtin") is True)

    def _stdio(self) -> ServerConfig:
        args = self.entry.get("args", [])
        if not isinstance(args, list) or not all(isinstance(arg, str) for arg in args):
            raise self.error("needs `args` as a list of strings")
        return ServerConfig(
            self.name,
            command=self.string("command"),
            args=tuple(self.filled("args", arg) for arg in args),
            env=self.env(),
            cwd=self.string("cwd") if "cwd" in self.entry else None,
            startup_timeout_s=self._startup_timeout_s(),
        )

    def _http(self) -> ServerConfig:
        url = self.filled("url", self.string("url"))
        if not is_web_address(url):
            raise self.error("needs `url` as a web address, such as http://127.0.0.1:8931/mcp")
        if "@" in urlsplit(url).netloc:
            raise self.error("holds a name or password in its `url`; use `token_env` or `token_file`")
        headers = self.headers()
        token, oauth = self._token(), self._oauth()
        if self.entry.get("builtin") is True and oauth is not None and not oauth.asked_for:
            oauth = None  # a server of this product takes a token and knows no login
        if any(name.lower() == "authorization" for name in headers):
            if token is not None or (oauth is not None and oauth.asked_for):
                raise self.error("names two ways to authenticate; keep one of token, `oauth` and the header")
            oauth = None
        return ServerConfig(
            self.name,
            url=url,
            token=token,
            oauth=oauth if token is None else None,
            headers=headers,
            startup_timeout_s=self._startup_timeout_s(),
        )

    def _token(self) -> str | None:
        ways = [key for key in ("token_env", "auth_env", "token_file", "oauth") if key in self.entry]
        if len(ways) > 1:
            raise self.error(f"names two ways to authenticate; keep one of `{ways[0]}` and `{ways[1]}`")
        match ways:
            case [] | ["oauth"]:
                return None
            case ["token_file"]:
                token = self._token_from_file()
            case [key]:
                token = self.variable(self.string(key), "its token").strip()
        if not is_token(token):
            raise self.error("has a token that is empty or holds characters no token has; write it anew")
        return token

    def _token_from_file(self) -> str:
        file = self.path.parent / Path(self.string("token_file")).expanduser()
        try:
            return file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise self.error(f"takes its token from {file}, which cannot be read; create it") from error

    def _oauth(self) -> OAuthSettings | None:
        """Returns how a person may log in: where nothing is said, as the server wants it; not at all with `false`."""
        told = self.entry.get("oauth", {})
        if told is False:
            return None
        members = {} if told is True else told
        if not isinstance(members, dict) or set(members) - _OAUTH_MEMBERS:
            raise self.error(f"needs `oauth` as true, false or an object of {', '.join(sorted(_OAUTH_MEMBERS))}")
        words = {name: members.get(name) for name in ("client_id", "client_secret_env", "scope")}
        if not all(word is None or (isinstance(word, str) and word.strip()) for word in words.values()):
            raise self.error("needs `client_id`, `client_secret_env` and `scope` in `oauth` as texts")
        secret, port = words["client_secret_env"], members.get("redirect_port", 0)
        if secret and not words["client_id"]:
            raise self.error("has a `client_secret_env` in `oauth` without its `client_id`")
        if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port < 2**16:
            raise self.error("needs `redirect_port` in `oauth` as a port, such as 8765")
        return OAuthSettings(
            asked_for="oauth" in self.entry,
            client_id=words["client_id"],
            client_secret=self.variable(secret, "its client secret").strip() if secret else None,
            scope=words["scope"],
            redirect_port=port,
        )

    def _permissions(self) -> Mapping[str, Word]:
        told = self.entry.get("permissions", {})
        words = {EVERY_TOOL: told} if isinstance(told, str) else told
        if not isinstance(words, Mapping) or not all(word in WORDS for word in words.values()):
            raise self.error("needs `permissions` as allow, ask or deny, or as an object of those by tool")
        if pattern := next((tool for tool in words if EVERY_TOOL in tool and tool != EVERY_TOOL), None):
            raise self.error(f"has {pattern!r} in `permissions`; name each tool, or all of them by {EVERY_TOOL}")
        return dict(words)

    def _startup_timeout_s(self) -> float | None:
        told = self.entry.get("startup_timeout_s")
        if told is None:
            return None
        if isinstance(told, bool) or not isinstance(told, int | float) or not 0 < told <= 3600:  # noqa: PLR2004
            raise self.error("needs `startup_timeout_s` as a number of seconds above 0 and up to 3600")
        return float(told)
