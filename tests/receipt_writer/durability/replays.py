"""A run on recorded files, and every crash state of it opened: the count, and the first thing that was wrong."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.receipt_writer.durability.lives import LIVES, Inspector, Promises
from tests.receipt_writer.durability.oplog import CrashState, RecordingFiles, crash_states

_MEMORY = Path("/dev/shm")  # noqa: S108 -- a folder of our own is made in it


@dataclass(frozen=True)
class Recorded:
    """What a run asked of its disk, and what it promised meanwhile; `root` is where the paths of the log begin."""

    files: RecordingFiles
    promises: Promises
    root: Path


@dataclass(frozen=True)
class Judged:
    """How many different states were opened, and what was wrong with how many of them."""

    states: int
    bad: int
    first_fault: str


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder in memory where there is one: thousands of small files come and go."""
    place = Path(tempfile.mkdtemp(prefix="rw-", dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None))
    try:
        yield place
    finally:
        shutil.rmtree(place)


async def record(place: Path, files: RecordingFiles) -> Recorded:
    """Live all lives below a folder that counts as being on the medium; each ends as a killed process does."""
    root = place / "run"
    root.mkdir()
    folder = root / "home" / "receipts"
    files.make_folders(root, folder)
    promises = Promises(lambda: len(files.log))
    for live in LIVES:
        await live(folder, files, promises)
        files.abandon()
    return Recorded(files, promises, root)


@dataclass(frozen=True)
class Choice:
    """Which crash states to open: all, or of those after so many calls every n-th, until enough of them were bad."""

    mixtures: int = 0
    seed: int = 1
    since: int = 0
    every: int = 1
    enough: int = 1 << 30


def judge(recorded: Recorded, place: Path, inspector: Inspector, choice: Choice) -> Judged:
    """Open the different crash states of a run."""
    seen: set[tuple[bytes, int]] = set()
    bad, first_fault = 0, ""
    states = crash_states(recorded.files.log, choice.seed, choice.mixtures)
    for number, state in enumerate(states):
        if state.ops < choice.since or number % choice.every:
            continue
        promised = recorded.promises.by(state.ops)
        key = (state.key(recorded.root), len(promised))
        if key in seen:
            continue
        seen.add(key)
        state.write_to(recorded.root, place / "state")
        fault = inspector.fault(place / "state" / "home" / "receipts", promised)
        shutil.rmtree(place / "state")
        if fault:
            bad += 1
            first_fault = first_fault or _told(state, recorded, fault)
            if bad == choice.enough:
                break
    return Judged(len(seen), bad, first_fault)


def _told(state: CrashState, recorded: Recorded, fault: str) -> str:
    return f"after call {state.ops} ({recorded.files.log[state.ops - 1]}), {state.how} kept: {fault}"
