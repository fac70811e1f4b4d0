"""Which token belongs to which tenant: `receipts/tokens.json`, which holds hashes and never a token.

    {"tokens":[{"tokenHash":"<SHA-256, hex>","tenantId":"acme","addedAtIso":"2026-01-31T08:00:00.000Z"}]}

A token is 256 random bits, so its plain hash cannot be guessed back. The file is read again when it has changed, so a
token that is added or revoked counts from the next call on; a stream that is open already goes on. Commands that change
it take their turns, by the lock of a file beside it: a token that was printed is never lost to another command.
"""

import hmac
import json
import logging
import os
import secrets
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from receipt_writer.errors import RequestRefusedError
from receipt_writer.format.digest import origin, sha256_hex
from receipt_writer.format.errors import OriginError
from receipt_writer.format.instant import iso_from_ms
from receipt_writer.format.schema import LAYERS
from receipt_writer.storage.filesystem import FileSystem, read_whole, replace_file
from service_runtime.errors import SetupError

TOKENS_NAME = "tokens.json"

_log = logging.getLogger(__name__)
_PREFIX = "prt_"  # so that a scanner for leaked secrets, and a person, knows what it is
_TOKEN_BYTES = 32
_OTHERS = 0o077
_PATIENCE_S = 10.0
_POLL_S = 0.01


@dataclass(frozen=True)
class TokenRow:
    """One token: its SHA-256 (hex), whose it is, and since when."""

    token_hash: str
    tenant_id: str
    added_at_iso: str


class Tokens:
    """The token file as the running writer sees it."""

    def __init__(self, path: Path) -> None:
        """Watch `path`, which may be missing."""
        self._path = path
        self._seen: tuple[int, ...] = ()
        self._rows: list[tuple[bytes, str]] = []

    def tenant_of(self, token: str) -> str | None:
        """Return the tenant of a token, None when nobody has it.

        Every row is compared in full, so how long it takes says nothing of any token. A file that cannot be used means
        that no token counts, and is logged once.
        """
        self._look()
        wanted = sha256_hex(token.encode()).encode()
        found = None
        for token_hash, tenant_id in self._rows:
            if hmac.compare_digest(token_hash, wanted):
                found = tenant_id
        return found

    def _look(self) -> None:
        try:
            status = self._path.stat()
            seen: tuple[int, ...] = (status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode)
        except OSError:
            seen = ()
        if seen == self._seen:
            return
        self._seen, self._rows = seen, []
        try:
            if seen:
                self._rows = [(row.token_hash.encode(), row.tenant_id) for row in _rows_of(self._read())]
        except (OSError, SetupError) as error:
            _log.error("No token counts: %s", error)

    def _read(self) -> bytes:
        _require_private(self._path, self._path.stat())
        return self._path.read_bytes()


def require_tenant_id(tenant_id: str, substrate_id: str) -> None:
    """Accept a name that a new tenant can have: it ends every origin and names a folder.

    Raises:
        RequestRefusedError: It has other characters than an origin, starts with a dot or hyphen, or is too long.
    """
    try:
        for layer in LAYERS.values():
            origin(substrate_id, layer.chain, tenant_id)
    except OriginError as error:
        raise RequestRefusedError(f"A tenant cannot be called {tenant_id[:80]!r}: {error}") from error


def add_token(files: FileSystem, path: Path, tenant_id: str, now_ms: int) -> str:
    """Make a new token for a tenant (see `require_tenant_id`) and return it; nobody can read it anywhere later.

    Raises:
        SetupError: The file is broken, can be read by others, or cannot be written; or other commands change it all the
            time.
    """
    token = _PREFIX + secrets.token_urlsafe(_TOKEN_BYTES)
    row = TokenRow(sha256_hex(token.encode()), tenant_id, iso_from_ms(now_ms))
    with _turn(files, path):
        _write(files, path, [*read_tokens(files, path), row])
    return token


def revoke_tokens(files: FileSystem, path: Path, wanted: str) -> list[TokenRow]:
    """Take away the tokens that `wanted` names: one token, the beginning of its hash (8 digits or more), or a tenant.

    Returns what was taken away; nothing when there was nothing of that name.

    Raises:
        SetupError: As `add_token`.
    """
    if not path.exists():
        return []
    with _turn(files, path):
        rows = read_tokens(files, path)
        gone = _named(rows, wanted)
        if gone:
            _write(files, path, [row for row in rows if row not in gone])
    return gone


def _named(rows: Sequence[TokenRow], wanted: str) -> list[TokenRow]:
    token_hash = sha256_hex(wanted.encode())
    gone = [row for row in rows if row.token_hash == token_hash]
    gone = gone or [row for row in rows if row.tenant_id == wanted]
    if not gone and len(wanted) >= 8:  # noqa: PLR2004 -- what `revoke_tokens` says
        gone = [row for row in rows if row.token_hash.startswith(wanted)]
    return gone


def read_tokens(files: FileSystem, path: Path) -> list[TokenRow]:
    """Return the rows of the file, none when there is no file.

    Raises:
        SetupError: It is broken, can be read by others, or cannot be read.
    """
    try:
        content = read_whole(files, path)
        if content is None:
            return []
        _require_private(path, path.stat())
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {_reason(error)}.") from error
    return _rows_of(content)


@contextmanager
def _turn(files: FileSystem, path: Path) -> Iterator[None]:
    """Let no other command change the file during the block; the lock ends with the process, however that ends."""
    beside = path.with_name(f".{path.name}.lock")  # the token file itself is replaced, so its lock would be lost
    try:
        handle = files.open(beside)
    except OSError as error:
        raise SetupError(f"{beside} cannot be opened: {_reason(error)}.") from error
    try:
        deadline = time.monotonic() + _PATIENCE_S
        while not files.lock(handle):
            if time.monotonic() > deadline:
                raise SetupError(f"Another command is changing {path}; try again when it has ended.")
            time.sleep(_POLL_S)
        yield
    finally:
        files.close(handle)


def _write(files: FileSystem, path: Path, rows: Sequence[TokenRow]) -> None:
    members = [{"tokenHash": row.token_hash, "tenantId": row.tenant_id, "addedAtIso": row.added_at_iso} for row in rows]
    try:
        replace_file(files, path, json.dumps({"tokens": members}, indent=1).encode() + b"\n")
    except OSError as error:
        raise SetupError(f"{path} cannot be written: {_reason(error)}.") from error


def _rows_of(content: bytes) -> list[TokenRow]:
    try:
        rows = [
            TokenRow(str(row["tokenHash"]), str(row["tenantId"]), str(row["addedAtIso"]))
            for row in json.loads(content)["tokens"]
        ]
        for row in rows:
            require_tenant_id(row.tenant_id, "a")
    except (ValueError, KeyError, TypeError, RecursionError, RequestRefusedError) as error:
        raise SetupError(f"{TOKENS_NAME} is broken; put it back from your backup, or add new tokens.") from error
    return rows


def _require_private(path: Path, status: os.stat_result) -> None:
    if status.st_mode & _OTHERS:
        mode = stat.S_IMODE(status.st_mode)
        raise SetupError(f"{path} has mode {mode:04o}, so others could read or change it; run: chmod 600 {path}")


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
