"""What PostgreSQL's refusals mean for a caller, a sentence each; never its own text, which can hold SQL or a secret."""

from __future__ import annotations

from collections.abc import Callable

import psycopg

from memory_mcp.errors import (
    DatabaseDownError,
    DatabaseError,
    DatabaseLoginError,
    DatabaseLostError,
    DatabaseReadOnlyError,
    DatabaseRightsError,
    StoreBusyError,
    StoreDiskError,
    StoreError,
    StoreFullError,
)

_REFUSED_AT_THE_DOOR = (
    "authentication failed",
    "no password supplied",
    "does not exist",
    "pg_hba.conf",
    "not permitted",
)
_NO_RIGHTS = (
    "The PostgreSQL role may not do that in this database; nothing was changed, grant it the rights that "
    "docs/how-to/memory-on-postgresql.md lists."
)
_DAMAGED = "The PostgreSQL server found its own files damaged; nothing was changed, restore a backup."
# By SQLSTATE: the whole of one before its class, PostgreSQL appendix A.
_BY_STATE: dict[str, Callable[[], StoreError]] = {
    "25006": DatabaseReadOnlyError,
    "40001": StoreBusyError,
    "40P01": StoreBusyError,
    "42501": lambda: DatabaseRightsError(_NO_RIGHTS),
    "53100": StoreFullError,
    "53300": StoreBusyError,
    "55P03": StoreBusyError,
    "57014": StoreBusyError,
    "58030": StoreDiskError,
    "XX001": lambda: DatabaseError(_DAMAGED),
    "XX002": lambda: DatabaseError(_DAMAGED),
}
_LOST = ("08", "57P")


def not_connected(error: psycopg.Error, shown: str) -> DatabaseError:
    """Returns why a connection was not made; the server's own words are only looked at, they may be in any language."""
    told = str(error).lower()
    pgconn = error.pgconn
    refused = any(words in told for words in _REFUSED_AT_THE_DOOR) or bool(pgconn and pgconn.needs_password)
    return DatabaseLoginError(shown) if refused else DatabaseDownError(shown)


def refusal(error: psycopg.Error, *, committing: bool = False) -> StoreError | None:
    """Returns what a failed statement means, none when it is no expected failure."""
    state = error.sqlstate or ""
    if state.startswith(_LOST) or (not state and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)):
        return DatabaseLostError(committing=committing)
    known = _BY_STATE.get(state)
    return known() if known else None
