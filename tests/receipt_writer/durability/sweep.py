"""Fail-at-N: the same life again and again, each time with another storage call failing (SQLite's anomaly tests)."""

from __future__ import annotations

import asyncio
import errno
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from service_runtime.errors import ServiceError
from tests.receipt_writer.durability.faults import KILL, SHORT, WRITES, FailingFiles, Fault, KilledError
from tests.receipt_writer.durability.lives import LIVES, Inspector, Promise, Promises

PATIENCE_S = 20
_PLAIN = re.compile(r"^[^\n]{15,400}[.;)]$", re.ASCII)
_LEAKS = ("Traceback", "errno", "Errno", "OSError", "object at 0x", "<class")


@dataclass(frozen=True)
class Case:
    """One fault, in one of the lives."""

    life: int
    fault: Fault


@dataclass(frozen=True)
class Ended:
    """How a life with a fault ended: the sentence of what stopped it, "" when it went on, and whether it was killed."""

    sentence: str = ""
    killed: bool = False
    defect: str = ""


def cases(calls: list[list[str]], every: int = 1) -> Iterator[Case]:
    """Yield a case for each call and fault, or for every n-th call of them."""
    for life, names in enumerate(calls):
        for at, name in enumerate(names, 1):
            if at % every:
                continue
            for for_ever in (False, True):
                for kind in (errno.EIO, errno.ENOSPC, *((SHORT,) if name in WRITES else ())):
                    yield Case(life, Fault(at, kind, for_ever))
            yield Case(life, Fault(at, KILL))


async def sweep(place: Path, every: int = 1, life: int | None = None) -> tuple[int, dict[Case, str]]:
    """Run the cases of one life, or of all; return how many they were, and what was wrong in those that were bad."""
    inspector, bad, count, before = Inspector(), dict[Case, str](), 0, await pasts(place)
    for case in cases(await calls_of(place), every):
        if life not in {None, case.life}:
            continue
        count += 1
        if fault := await fault_of(case, place, before[case.life], inspector):
            bad[case] = fault
    return count, bad


async def calls_of(place: Path) -> list[list[str]]:
    """Return the storage calls of all lives when nothing fails."""
    counted = []
    for live in LIVES:
        files = FailingFiles()
        (place / "receipts").mkdir(exist_ok=True)
        await live(place / "receipts", files, Promises())
        files.abandon()
        counted.append(files.names)
    shutil.rmtree(place / "receipts")
    return counted


@dataclass(frozen=True)
class Past:
    """A folder in which the lives before one were lived without a fault, and what was promised in them."""

    folder: Path
    promises: tuple[Promise, ...]


async def pasts(place: Path) -> list[Past]:
    """Live every life once without a fault; return what each life begins with."""
    promises, folder, found = Promises(), place / "past", list[Past]()
    folder.mkdir(mode=0o700)
    for number, live in enumerate(LIVES):
        found.append(Past(place / f"past-{number}", tuple(promises.made)))
        shutil.copytree(folder, found[-1].folder)
        files = FailingFiles()
        await live(folder, files, promises)
        files.abandon()
    return found


async def fault_of(case: Case, place: Path, past: Past, inspector: Inspector) -> str:
    """Live with the fault, start again without it, and return what was wrong, "" when nothing."""
    folder = place / "receipts"
    shutil.copytree(past.folder, folder)
    promises = Promises(made=list(past.promises))
    try:
        files = FailingFiles(case.fault)
        ended = await _live(case, folder, files, promises)
        files.abandon()
        return _judgement(case, files, ended) or inspector.fault(folder, promises.made)
    finally:
        shutil.rmtree(folder)


async def _live(case: Case, folder: Path, files: FailingFiles, promises: Promises) -> Ended:
    try:
        await asyncio.wait_for(LIVES[case.life](folder, files, promises), PATIENCE_S)
    except KilledError:
        return Ended(killed=True)
    except TimeoutError:
        return Ended(defect="it hangs")
    except ServiceError as error:
        return Ended(str(error), killed=case.fault.kind == KILL, defect=_plainness(error))
    except OSError as error:  # the harness's own tear, or a start: `main` makes one sentence of it
        return Ended(str(error))
    return Ended()


def _plainness(error: ServiceError) -> str:
    text = str(error)
    if not _PLAIN.match(text) or any(word in text for word in _LEAKS):
        return f"{type(error).__name__} says {text!r}"
    return ""


def _judgement(case: Case, files: FailingFiles, ended: Ended) -> str:
    if ended.defect:
        return ended.defect
    if not files.struck:
        return "the fault never came"
    if case.fault.kind == SHORT and not case.fault.for_ever and ended.sentence:
        return f"one short write ended it: {ended.sentence}"
    return ""
