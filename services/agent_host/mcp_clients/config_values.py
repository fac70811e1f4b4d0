"""The values in a server's entry of `mcp.json`, checked as they are read; every complaint names the server.

What cannot be carried to a server is found here, where the member can be named, and not by whoever starts it. A member
that is nearly one of ours was surely meant to be it: as a rule that is not read is no rule, its server is not used.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agent_host.errors import ConfigurationError

STARTED: Final = frozenset({"command", "args", "env", "cwd"})
REACHED: Final = frozenset({"url", "token_env", "auth_env", "token_file", "headers", "oauth"})
MEMBERS: Final = (
    STARTED | REACHED | {"permissions", "startup_timeout_s", "disabled", "enabled", "builtin", "type", "name"}
)
_OTHER_HOSTS: Final = frozenset({"auth"})  # theirs, however near
_NEAR: Final = 0.8
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class Members(dict[str, Any]):
    """A JSON object that knows which of its members were written more than once."""

    twice: frozenset[str] = frozenset()


def members_of(pairs: list[tuple[str, Any]]) -> Members:
    """Returns a JSON object; for `json.loads(object_pairs_hook=…)`."""
    made = Members(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        made.twice = frozenset(name for name in names if names.count(name) > 1)
    return made


def nearly(name: str, known: Iterable[str]) -> str | None:
    """Returns which of the known words was probably meant by one that is none of them, None when nothing is near."""
    spelt = {one.lower(): one for one in known}
    close = difflib.get_close_matches(name.lower(), spelt, n=1, cutoff=_NEAR)
    return spelt[close[0]] if close else None


@dataclass(frozen=True)
class EntryValues:
    """One entry; `environ` is what `token_env` and `${NAME}` are taken from."""

    path: Path
    name: str
    entry: Any
    environ: Mapping[str, str]

    def check_members(self) -> None:
        """Checks what the entry's members are called.

        Raises:
            ConfigurationError: one is nearly one of ours, is there twice, or would put a secret into the file.
        """
        if "token" in self.entry:
            raise self.error("holds a `token`; put it into an environment variable, and name that by `token_env`")
        for name in self.entry:
            meant = None if name in MEMBERS | _OTHER_HOSTS else nearly(name, MEMBERS)
            if meant is not None:
                raise self.error(f"has a member {name!r} that nothing reads; write `{meant}`")
        for member, value in (("", self.entry), *self.entry.items()):
            if isinstance(value, Members) and value.twice:
                where = f" in `{member}`" if member else ""
                raise self.error(f"has {min(value.twice)!r} twice{where}; keep one")

    def is_off(self) -> bool:
        """Returns whether the server is to be left out; other hosts say so by `enabled`.

        Raises:
            ConfigurationError: it is said by anything but true or false.
        """
        for member in ("disabled", "enabled"):
            if not isinstance(self.entry.get(member, False), bool):
                raise self.error(f"needs `{member}` as true or false, without quotes")
        return self.entry.get("disabled") is True or self.entry.get("enabled") is False

    def variable(self, name: str, what: str) -> str:
        """Returns a variable of the environment that has to be set."""
        value = self.environ.get(name, "")
        if not value.strip():
            raise self.error(f"takes {what} from the environment variable {name}, which is not set; set it")
        return value

    def filled(self, key: str, text: str) -> str:
        """Returns a text with each `${NAME}` in it replaced, as other hosts do, so that the file holds no secret.

        `${NAME:-text}` is the text where the variable is not set.
        """

        def found(match: re.Match[str]) -> str:
            if match[2] is not None and not self.environ.get(match[1], "").strip():
                return match[2]
            return self.variable(match[1], f"a part of its `{key}`")

        return self._carried(key, _VARIABLE.sub(found, text))

    def string(self, key: str) -> str:
        """Returns a member that has to be a text."""
        value = self.entry[key]
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"needs `{key}` as a text")
        return self._carried(key, value)

    def strings(self, key: str) -> Mapping[str, str]:
        """Returns a member that has to be an object of texts, with their variables filled in."""
        value = self.entry.get(key, {})
        if not isinstance(value, Mapping) or not all(isinstance(item, str) for item in value.values()):
            raise self.error(f"needs `{key}` as an object of texts")
        return {self._carried(key, name): self.filled(key, item) for name, item in value.items()}

    def env(self) -> Mapping[str, str]:
        """Returns the variables for a server that is started."""
        values = self.strings("env")
        if bad := [name for name in values if not name or "=" in name]:
            raise self.error(f"has a variable {bad[0][:100]!r} in `env`; a name is not empty and has no `=`")
        return values

    def headers(self) -> Mapping[str, str]:
        """Returns the headers for a server that is reached over HTTP (RFC 9110, 5.5)."""
        values = self.strings("headers")
        for name, value in values.items():
            if not _HEADER_NAME.fullmatch(name):
                raise self.error(f"has a header {name[:100]!r} in `headers`, which is no name of one; correct it")
            if not value.isascii() or not value.isprintable():
                raise self.error(f"has a value in its header {name[:100]!r} that HTTP cannot carry; use plain ASCII")
        return values

    def error(self, problem: str) -> ConfigurationError:
        """Returns the complaint about this entry."""
        return ConfigurationError(f"The server {self.name!r} in {self.path} {problem}.")

    def _carried(self, key: str, text: str) -> str:
        """Returns a text that a process can be given."""
        try:
            text.encode()
        except UnicodeEncodeError:
            raise self.error(f"has half a character in `{key}`; write whole ones") from None
        if "\0" in text:
            raise self.error(f"has a NUL character in `{key}`; take it out")
        return text
