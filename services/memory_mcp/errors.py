"""Errors of the memory server; each message is one sentence that may reach a tool caller.

MemoryServerError                 base
├── InvalidArgumentError          an argument cannot be used; the sentence says what to send instead
├── UnknownMemoryError            no memory has this id
├── NotCurrentError               the memory was superseded or forgotten, so it cannot be changed
├── IdempotencyConflictError      the key was used before, for other content
├── EmbeddingError                the model that makes vectors is not there or did not answer; searches go by words
└── StoreError                    the store did not do what was asked; nothing was changed
    ├── StoreBusyError            another process holds the write lock; asking again helps
    ├── StoreOpenError            another process has the store open, and the work needs it alone
    ├── StoreReadOnlyError        the file or its folder cannot be written
    ├── StoreFullError            no space is left
    ├── StoreDiskError            the disk failed to read or write
    ├── StoreDamagedError         the file is cut short, overwritten or no memory store
    ├── StoreTooNewError          a newer version of the program wrote the store
    └── DatabaseError             the PostgreSQL server did not do what was asked
        ├── DatabaseSetupError            the address, the database or this installation is not fit for it
        ├── DatabaseDownError             no server answers at the address
        ├── DatabaseLoginError            the server refused the role, its password or the database
        ├── DatabaseLostError             the connection broke in the middle
        ├── DatabaseReadOnlyError         a standby, or a database that is set to read-only
        ├── DatabaseRightsError           the role has too few rights, or so many that tenants are not apart
        └── DatabaseWithoutVectorsError   the extension pgvector is not there
"""

from __future__ import annotations

from service_runtime.errors import ServiceError


class MemoryServerError(ServiceError):
    """Base of every error of the memory server: one sentence, no path, no SQL."""


class InvalidArgumentError(MemoryServerError):
    """An argument cannot be used as it is."""


class UnknownMemoryError(MemoryServerError):
    """No memory has the id that was given."""

    def __init__(self, memory_id: str) -> None:
        super().__init__(f"There is no memory {memory_id!r}; take an id from memory_search or memory_list.")


class NotCurrentError(MemoryServerError):
    """A memory that was superseded or forgotten cannot be changed any more."""


class IdempotencyConflictError(MemoryServerError):
    """An idempotency key came back with other content."""

    def __init__(self, key: str) -> None:
        super().__init__(f"The idempotency_key {key!r} was already used for other content; send a new key.")


class EmbeddingError(MemoryServerError):
    """The model that makes vectors is not there or did not answer; searches go by words."""


class StoreError(MemoryServerError):
    """The store did not do what was asked, and nothing was changed."""


class StoreBusyError(StoreError):
    """Another process holds the write lock for longer than this one waits."""

    def __init__(self) -> None:
        super().__init__("The memory store is busy: another process is writing to it; nothing was changed, try again.")


class StoreOpenError(StoreError):
    """Another process has the store open, or wrote to it while it was read."""

    def __init__(self) -> None:
        super().__init__(
            "Another program has the memory store open and may be writing to it; nothing was changed, end every "
            "program that uses the memory and run this again.",
        )


class StoreReadOnlyError(StoreError):
    """The database file or its folder cannot be written."""

    def __init__(self) -> None:
        super().__init__(
            "The memory store cannot be written: its file or folder is read-only; nothing was changed, "
            "make the folder that `memory-mcp --where` prints writable.",
        )


class StoreFullError(StoreError):
    """The disk has no space left."""

    def __init__(self) -> None:
        super().__init__("The memory store cannot grow: the disk is full; nothing was changed, free some space.")


class StoreDiskError(StoreError):
    """The disk failed to read or write."""

    def __init__(self) -> None:
        super().__init__(
            "The memory store cannot be used: the disk failed to read or write it; nothing was changed, "
            "check the disk and try again.",
        )


class StoreDamagedError(StoreError):
    """The database file is cut short, overwritten, or no memory store at all."""

    def __init__(self) -> None:
        super().__init__(
            "The memory store is damaged (its file is cut short, overwritten or no such store) and was left as it is; "
            "run `memory-mcp salvage`, which gets out what can be read and keeps the file, or put a good copy into the "
            "folder that `memory-mcp --where` prints.",
        )


class StoreTooNewError(StoreError):
    """A newer version of the program wrote the store."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"The memory store has schema {found}, this program knows up to {known}; it was left as it is, "
            "update prometheus-agent.",
        )


class DatabaseError(StoreError):
    """The PostgreSQL server did not do what was asked; no sentence holds a password or SQL."""


class DatabaseSetupError(DatabaseError):
    """The address, the database or this installation cannot be used for a store."""


class DatabaseDownError(DatabaseError):
    """No server answers at the address."""

    def __init__(self, shown: str) -> None:
        super().__init__(
            f"The PostgreSQL server of {shown} does not answer; nothing was changed, start it or correct the address.",
        )


class DatabaseLoginError(DatabaseError):
    """The server refused the role, its password or the database."""

    def __init__(self, shown: str) -> None:
        super().__init__(
            f"The PostgreSQL server refused {shown}; check the role, its password (PGPASSWORD or a passfile) and the "
            "name of the database.",
        )


class DatabaseLostError(DatabaseError):
    """The connection broke in the middle; when it broke while committing, nobody here knows whether it was done."""

    def __init__(self, *, committing: bool = False) -> None:
        done = (
            "whether the write was done is not known, send it again with the same text or idempotency_key, which "
            "stores it once"
            if committing
            else "nothing was changed, try again: a new connection is made by itself"
        )
        super().__init__(f"The connection to the PostgreSQL server was lost; {done}.")


class DatabaseReadOnlyError(DatabaseError):
    """The server is a standby, or the database or role is set to read-only."""

    def __init__(self) -> None:
        super().__init__(
            "The memory store cannot be written: the PostgreSQL database is read-only (a standby, or set so); "
            "nothing was changed, connect to the primary or allow writing.",
        )


class DatabaseRightsError(DatabaseError):
    """The role has too few rights for what is needed, or so many that tenants would not be apart."""


class DatabaseWithoutVectorsError(DatabaseError):
    """The extension pgvector is not there, so vectors cannot be kept."""

    def __init__(self) -> None:
        super().__init__(
            "The PostgreSQL database has no extension pgvector, so searches go by words alone; install it on the "
            "server and let its operator run CREATE EXTENSION vector in this database.",
        )
