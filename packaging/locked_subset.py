"""Prints the part of `requirements.lock` that some extras need, hashes included.

`python packaging/locked_subset.py memory tools > subset.lock` asks pip which distributions the extras resolve to under
the lock's versions, and keeps exactly those blocks. So one lock serves every image, and each gets only what it needs.
With `--names` the arguments are distributions instead of extras.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_BLOCK_START = re.compile(r"^([A-Za-z0-9._-]+)==")


def canonical(name: str) -> str:
    """Returns a distribution's normalised name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def blocks(lock: str) -> Iterator[tuple[str, str]]:
    """Yields (normalised name, block of lines) of a lock, comments left out."""
    current: list[str] = []
    name = ""
    for line in lock.splitlines():
        if line.lstrip().startswith("#"):
            continue
        if start := _BLOCK_START.match(line):
            if current:
                yield name, "\n".join(current)
            name, current = canonical(start[1]), [line]
        elif current:
            current.append(line)
    if current:
        yield name, "\n".join(current)


def without_hashes(lock: str) -> str:
    """Returns the lock's pins alone, usable as constraints."""
    return "\n".join(block.split(" \\\n", 1)[0] for _, block in blocks(lock)) + "\n"


def subset(lock: str, wanted: Iterable[str]) -> str:
    """Returns the blocks of the wanted distributions.

    Raises:
        KeyError: the lock has no pin for one of them.
    """
    pins = dict(blocks(lock))
    return "\n".join(pins[canonical(name)] for name in sorted(wanted)) + "\n"


def resolved(requirements: Iterable[str], constraints: str) -> list[str]:
    """Returns the names of the distributions that pip would install for the requirements.

    Raises:
        subprocess.CalledProcessError: pip cannot resolve them under the constraints.
    """
    with tempfile.TemporaryDirectory() as folder:
        pins, report = Path(folder) / "constraints.txt", Path(folder) / "report.json"
        pins.write_text(constraints)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--disable-pip-version-check", "--no-build-isolation"]
        command += ["--report", str(report), "--constraint", str(pins)]
        subprocess.run([*command, *requirements], check=True, stdout=sys.stderr)
        rows = json.loads(report.read_text())["install"]
    names = (row["metadata"]["name"] for row in rows)
    return [name for name in names if canonical(name) != "prometheus-agent"]


def main() -> int:
    """Prints the subset for the extras, or the distributions, named on the command line."""
    lock = (ROOT / "requirements.lock").read_text()
    arguments = sys.argv[1:]
    wanted = arguments[1:] if arguments[:1] == ["--names"] else [f"{ROOT}[{','.join(arguments)}]"]
    sys.stdout.write(subset(lock, resolved(wanted, without_hashes(lock))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
