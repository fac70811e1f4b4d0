"""A file system in memory whose power can be cut: what was not synced is lost, kept or torn by chance.

Run as a program: `python -m tests.receipt_writer.durability.powercut_fs FOLDER`. Commands come by stdin, a line each,
and each is answered by a line with the number of syncs so far: `cut SEED` ends the power, then every call fails;
`on` starts it again with what the medium holds; `synced` only asks. It ends with its stdin. What survives is the model
of `oplog`.
"""

from __future__ import annotations

import errno
import os
import random
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fuse  # type: ignore[import-untyped]

from tests.receipt_writer.durability.oplog import FOLDER, Cut, Disk, Names, Op, Sync, SyncFolder, Write, happen

ROOT = Path("/")
_HIDDEN = ".fuse_hidden"  # libfuse renames a file that is open and about to be replaced


class PowerCutFiles(fuse.Operations):  # type: ignore[misc]  # fusepy has no types
    """What processes see is `_cache`; what a cut leaves is made of `_medium` and `_waiting`."""

    def __init__(self) -> None:
        self._cache, self._medium = Disk(), Disk()
        self._waiting: list[tuple[Op, bool]] = []
        self._modes: dict[int, int] = {}
        self._hidden: dict[str, int] = {}
        self._next_file = 1
        self._is_on = True
        self._syncs = 0
        self._lock = threading.RLock()

    def command(self, line: str) -> str:
        """Do what a line asks for; return the answer."""
        with self._lock:
            word, _, argument = line.partition(" ")
            if word == "cut":
                self._is_on = False
                self._cut(random.Random(int(argument)))  # noqa: S311 -- what survives is no secret
            elif word == "on":
                self._is_on = True
            return str(self._syncs)

    def __call__(self, op: str, *args: Any) -> Any:
        with self._lock:
            if not self._is_on and op not in {"init", "destroy", "release", "releasedir"}:
                raise fuse.FuseOSError(errno.EIO)
            return super().__call__(op, *args)

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        number = fh or self._number(path)
        common = {"st_uid": os.getuid(), "st_gid": os.getgid(), "st_nlink": 1}
        if number == FOLDER:
            return common | {"st_mode": stat.S_IFDIR | 0o700}
        size = len(self._cache.contents.get(number, b""))
        return common | {"st_mode": stat.S_IFREG | self._modes.get(number, 0o600), "st_size": size}

    def readdir(self, path: str, fh: int) -> Iterator[str]:
        assert fh is not None
        yield from (".", "..", *self._cache.names.get(Path(path), {}))

    def mkdir(self, path: str, mode: int) -> None:
        assert mode
        self._name(path, FOLDER)

    def create(self, path: str, mode: int, fi: Any = None) -> int:
        assert fi is None
        number, self._next_file = self._next_file, self._next_file + 1
        self._modes[number] = stat.S_IMODE(mode)
        self._name(path, number)
        return number

    def open(self, path: str, flags: int) -> int:
        number = self._number(path)
        if flags & os.O_TRUNC:
            self._do(Cut(number, 0))
        return number

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        assert path
        return self._cache.contents.get(fh, b"")[offset : offset + size]

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        assert path
        self._do(Write(fh, offset, bytes(data)))
        return len(data)

    def truncate(self, path: str, length: int, fh: int | None = None) -> None:
        self._do(Cut(fh or self._number(path), length))

    def fsync(self, path: str, datasync: int, fh: int) -> int:
        assert path
        assert datasync in {0, 1}
        self._syncs += 1
        self._do(Sync(fh))
        return 0

    def fsyncdir(self, path: str, datasync: int, fh: int) -> int:
        assert datasync in {0, 1}
        assert fh is not None
        self._do(SyncFolder(Path(path)))
        return 0

    def rename(self, old: str, new: str) -> None:
        number, target = self._number(old), Path(new)
        if target.name.startswith(_HIDDEN):
            self._hidden[new] = number  # the name itself stays until the rename that follows replaces it
            return
        assert Path(old).parent == target.parent
        self._do(Names(target.parent, ((Path(old).name, None), (target.name, number))))

    def link(self, target: str, source: str) -> None:
        self._name(target, self._number(source))

    def unlink(self, path: str) -> None:
        if self._hidden.pop(path, None) is None:
            self._name(path, None)

    def chmod(self, path: str, mode: int) -> int:
        self._modes[self._number(path)] = stat.S_IMODE(mode)
        return 0

    def utimens(self, path: str, times: Any = None) -> int:
        assert path
        assert times is None or len(times) == 2
        return 0

    def _do(self, op: Op) -> None:
        self._cache.take(op)
        happen(self._medium, self._waiting, op)

    def _name(self, path: str, number: int | None) -> None:
        where = Path(path)
        self._do(Names(where.parent, ((where.name, number),)))

    def _number(self, path: str) -> int:
        where = Path(path)
        if where == ROOT:
            return FOLDER
        number = self._hidden.get(path, self._cache.names.get(where.parent, {}).get(where.name))
        if number is None:
            raise fuse.FuseOSError(errno.ENOENT)
        return number

    def _cut(self, chance: random.Random) -> None:
        for op, _ in self._waiting:
            luck = chance.random()
            if luck < 0.4:
                self._medium.take(op)
            elif luck < 0.8:
                self._medium.take_part(op, chance)
        self._waiting.clear()
        self._hidden.clear()
        self._cache = self._medium.copy()


def _obey(files: PowerCutFiles) -> None:
    for line in sys.stdin:
        sys.stdout.write(files.command(line.strip()) + "\n")
        sys.stdout.flush()
    os._exit(0)


def main() -> None:
    """Mount on the folder that the command line names, and serve until stdin ends."""
    files = PowerCutFiles()
    threading.Thread(target=_obey, args=(files,), daemon=True).start()
    fuse.FUSE(
        files,
        sys.argv[1],
        foreground=True,
        nothreads=True,
        direct_io=True,
        attr_timeout=0,
        entry_timeout=0,
        negative_timeout=0,
    )


if __name__ == "__main__":
    main()
