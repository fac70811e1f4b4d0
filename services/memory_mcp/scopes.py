"""Scopes: which body of memory a memory belongs to. Pure.

`global`, or a family and a name: `project:Company brain`, `lab:x`. Names are compared without regard to case, width and
repeated spaces, and shown as they were first written. `all` is for searching: no memory belongs to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory_mcp.errors import InvalidArgumentError
from memory_mcp.normal_form import normalised

GLOBAL = "global"
ALL = "all"
MAX_SCOPE_CHARACTERS = 120

_SCOPE = re.compile(r"[a-z][a-z0-9_-]{0,31}(?::\S(?:.*\S)?)?\Z")


@dataclass(frozen=True)
class Scope:
    """A scope as it is shown (`name`) and as it is compared (`key`)."""

    name: str
    key: str


def parse_scope(text: str | None) -> Scope:
    """Reads the scope of a memory; none is `global`.

    Raises:
        InvalidArgumentError: The text is no scope, or it is `all`.
    """
    name = GLOBAL if text is None or not text.strip() else _tidy(text)
    if name == ALL:
        raise InvalidArgumentError("A memory belongs to one scope, not to all; send scope 'global' or 'project:NAME'.")
    if len(name) > MAX_SCOPE_CHARACTERS or not name.isprintable() or not _SCOPE.match(name):
        raise InvalidArgumentError(
            f"The scope {text[:60] if text else ''!r} is not possible; send 'global' or 'project:NAME' "
            f"(at most {MAX_SCOPE_CHARACTERS} characters).",
        )
    return Scope(name, normalised(name))


def parse_search_scope(text: str | None) -> Scope | None:
    """Reads the scope of a search; none and `all` mean every scope and give None.

    Raises:
        InvalidArgumentError: The text is no scope.
    """
    if text is None or not text.strip() or text.strip().lower() == ALL:
        return None
    return parse_scope(text)


def _tidy(text: str) -> str:
    family, colon, name = " ".join(text.split()).partition(":")
    return f"{family.strip().lower()}{colon}{name.strip()}"
