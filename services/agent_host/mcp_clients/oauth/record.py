"""What is kept of one server's login: a value and its JSON. Pure, and free of the SDK, so that a list is quick."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeAlias

Members: TypeAlias = Mapping[str, Any]
"""A document of OAuth as it came, member names as on the wire."""


@dataclass(frozen=True)
class Login:
    """A login to the server at `url`. Without `tokens` it has ended, or was asked for and never made.

    `tokens` is the token answer (RFC 6749, 5.1), `client` the registration (RFC 7591), `server` the metadata of the
    authorization server (RFC 8414), `resource` that of the tool server (RFC 9728). `wider_scope` is what a call needed
    beyond what the login allows. Secrets have no repr. Times in milliseconds since the Unix epoch.
    """

    url: str = field(repr=False)
    tokens: Members | None = field(default=None, repr=False)
    expires_at_ms: int | None = None
    since_ms: int | None = None
    client: Members | None = field(default=None, repr=False)
    server: Members | None = field(default=None, repr=False)
    resource: Members | None = field(default=None, repr=False)
    wider_scope: str | None = None

    @property
    def scope(self) -> str | None:
        """What the login allows, as far as that was said."""
        told = (self.tokens or {}).get("scope")
        return told if isinstance(told, str) else None

    @property
    def issuer(self) -> str | None:
        """Who issued it."""
        told = (self.server or {}).get("issuer")
        return told if isinstance(told, str) else None

    def ended(self) -> Login:
        """Returns what is left of a login whose tokens count no more; what a call lacked is asked for with the rest."""
        wider = joined_scopes(self.scope, self.wider_scope) if self.wider_scope else None
        return replace(self, tokens=None, expires_at_ms=None, wider_scope=wider)

    def to_json(self) -> str:
        """Returns the record as text."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1)


def login_of(text: str) -> Login:
    """Reads a record.

    Raises:
        ValueError: it is none.
    """
    document = json.loads(text)
    if not isinstance(document, dict) or not isinstance(document.get("url"), str):
        raise ValueError("no record of a login")  # noqa: TRY004 - of a file, like any other nonsense in it
    return Login(
        document["url"],
        _members(document, "tokens"),
        _time(document, "expires_at_ms"),
        _time(document, "since_ms"),
        _members(document, "client"),
        _members(document, "server"),
        _members(document, "resource"),
        document["wider_scope"] if isinstance(document.get("wider_scope"), str) else None,
    )


def joined_scopes(*scopes: str | None) -> str | None:
    """Returns several scopes as one, each word once; None when there is none."""
    return " ".join(dict.fromkeys(word for scope in scopes if scope for word in scope.split())) or None


def _members(document: Members, name: str) -> Members | None:
    value = document.get(name)
    return value if isinstance(value, dict) else None


def _time(document: Members, name: str) -> int | None:
    value = document.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
