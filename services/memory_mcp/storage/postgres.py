"""The PostgreSQL store: many hosts, each tenant alone with its own rows (`postgres_schema`).

One connection reads and one writes, so that a search never waits for a write; each is made when it is first needed and
made anew when it broke. A writing transaction begins with the lock of its tenant's row and waits a bounded time for it:
what is decided inside one (is this a duplicate?) holds when it is committed, on whichever host. Commits are durable
before they return, as far as the server's `synchronous_commit` says.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import psycopg
from psycopg import conninfo

from memory_mcp.errors import DatabaseLostError, DatabaseSetupError
from memory_mcp.storage.postgres_errors import not_connected, refusal
from memory_mcp.storage.postgres_reader import PostgresReader
from memory_mcp.storage.postgres_schema import (
    MIGRATIONS,
    SCHEMA,
    Connection,
    Migration,
    bring_up_to_date,
    prepare_vectors,
)
from memory_mcp.storage.postgres_writer import PostgresWriter

LOCK_TIMEOUT_MS = 5_000
"""How long a write waits for another host before it gives up."""
STATEMENT_TIMEOUT_MS = 30_000
_DEFAULTS = {
    "client_encoding": "UTF8",
    "connect_timeout": "5",
    "application_name": "memory-mcp",
    "tcp_user_timeout": "15000",
    "keepalives_idle": "30",
}
_UNREADABLE = "The address of the memory store cannot be read; send postgresql://ROLE@HOST/DATABASE."
_SETTINGS = f"SET LOCAL search_path = {SCHEMA}; SET LOCAL statement_timeout = {STATEMENT_TIMEOUT_MS}; SET LOCAL "
_READ = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {_SETTINGS} lock_timeout = {LOCK_TIMEOUT_MS}"
_WRITE = f"BEGIN ISOLATION LEVEL READ COMMITTED; {_SETTINGS} lock_timeout = "
_TAKE_TURN = "INSERT INTO tenant DEFAULT VALUES ON CONFLICT (tenant) DO UPDATE SET numbered = tenant.numbered"


class PostgresStore:
    """A `MemoryStore` in a PostgreSQL database."""

    def __init__(self, told: dict[str, str], lock_timeout_ms: int) -> None:
        self._reader, self._writer = _Line(told), _Line(told)
        self._begin_writing = f"{_WRITE}{int(lock_timeout_ms)}"
        self._vectors: str | None = None
        self._erased = False

    @contextmanager
    def reading(self) -> Iterator[PostgresReader]:
        """Opens a consistent view."""
        with self._reader.transaction(_READ) as connection:
            yield PostgresReader(connection, self._vectors)

    @contextmanager
    def writing(self) -> Iterator[PostgresWriter]:
        """Opens a transaction that is durable when the block ends, and undone when it raises."""
        with self._writer.transaction(self._begin_writing) as connection:
            connection.execute(_TAKE_TURN)
            writer = PostgresWriter(connection, self._vectors)
            yield writer
        self._erased |= writer.erased

    def prepare_vectors(self) -> None:
        """Makes the store ready to keep vectors.

        Raises:
            StoreError: The database has no pgvector, or the server refused.
        """
        with self._writer.open() as connection:
            self._vectors = prepare_vectors(connection, time.time_ns() // 1_000_000)

    def purge(self) -> tuple[str, ...]:
        """Returns where text that was erased here may remain: a server keeps dead rows and its log for a while."""
        if not self._erased:
            return ()
        return ("dead rows and the write-ahead log of the PostgreSQL server, until it cleans them", "its backups")

    def verify(self, within_s: float) -> bool:
        """Returns that it is whole: a PostgreSQL server looks after its own pages."""
        del within_s
        return True

    def close(self) -> None:
        """Closes the connections; safe to call twice."""
        self._reader.close()
        self._writer.close()

    def migrate(self, migrations: Sequence[Migration]) -> None:
        """Brings the schema up to date.

        Raises:
            StoreError: The database cannot be used; it was left as it is.
        """
        with self._writer.open() as connection:
            bring_up_to_date(connection, time.time_ns() // 1_000_000, migrations)


def open_postgres(
    address: str,
    *,
    lock_timeout_ms: int = LOCK_TIMEOUT_MS,
    migrations: Sequence[Migration] = MIGRATIONS,
) -> PostgresStore:
    """Opens the store at a `postgresql://` address, creating or migrating its schema when needed.

    Raises:
        StoreError: The database cannot be used; it was left as it is.
    """
    store = PostgresStore({**_DEFAULTS, **_told(address)}, lock_timeout_ms)
    try:
        store.migrate(migrations)
    except BaseException:
        store.close()
        raise
    return store


def shown_address(address: str) -> str:
    """Returns an address in words, without its password.

    Raises:
        DatabaseSetupError: The address cannot be read.
    """
    return f"PostgreSQL: {_shown(_told(address))}"


def _told(address: str) -> dict[str, str]:
    if not address.startswith(("postgresql://", "postgres://")):
        raise DatabaseSetupError(_UNREADABLE)
    try:
        return {name: str(value) for name, value in conninfo.conninfo_to_dict(address).items()}
    except psycopg.Error as error:
        raise DatabaseSetupError(_UNREADABLE) from error


class _Line:
    """One connection, used by one thread at a time."""

    def __init__(self, told: dict[str, str]) -> None:
        self._told = told
        self._lock = threading.Lock()
        self._connection: Connection | None = None

    @contextmanager
    def open(self) -> Iterator[Connection]:
        """Hands out the connection outside a transaction, its refusals in one sentence."""
        with self._lock, self._translated():
            yield self._connected()

    @contextmanager
    def transaction(self, begin: str) -> Iterator[Connection]:
        """Hands out the connection inside a transaction; one that broke since it was last used is made anew first."""
        with self._lock:
            with self._translated():
                connection = self._begun(begin)
            with self._translated(), _undone_on_failure(connection):
                yield connection
            with self._translated(committing=True):
                connection.execute("COMMIT")

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _begun(self, begin: str) -> Connection:
        known = self._connection
        try:
            connection = self._connected()
            connection.execute(begin, prepare=False)
        except psycopg.OperationalError:
            self._drop()
            if known is None:
                raise
            connection = self._connected()  # nothing was asked yet, so nothing can be done twice
            connection.execute(begin, prepare=False)
        return connection

    def _connected(self) -> Connection:
        if self._connection is None or self._connection.closed:
            try:
                self._connection = psycopg.connect(conninfo.make_conninfo("", **self._told), autocommit=True)
            except psycopg.Error as error:
                raise not_connected(error, _shown(self._told)) from error
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _translated(self, *, committing: bool = False) -> Iterator[None]:
        """Turns PostgreSQL's refusals into one sentence; anything unexpected stays what it is."""
        try:
            yield
        except psycopg.Error as error:
            known = refusal(error, committing=committing)
            if known is None:
                raise
            if isinstance(known, DatabaseLostError):
                self._drop()
            raise known from error


@contextmanager
def _undone_on_failure(connection: Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(psycopg.Error):  # a connection that broke has nothing to undo
            connection.execute("ROLLBACK")
        raise


def _shown(told: dict[str, str]) -> str:
    """Returns an address without what must not be printed."""
    place = told.get("host") or told.get("hostaddr") or "the local socket"
    return f"{told.get('user', 'the role of this account')} at {place}, database {told.get('dbname', 'of that name')}"
