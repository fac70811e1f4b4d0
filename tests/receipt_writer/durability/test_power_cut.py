"""The power goes, again and again, under a real writer process: what was acknowledged is there at the next start."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from ctypes.util import find_library
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.receipt_writer.durability.clients import Caller, StreamCaller, Work
from tests.receipt_writer.durability.judging import hold_against, verify_chain
from tests.receipt_writer.durability.lives import ChainReader
from tests.receipt_writer.test_process import started

CUTS = int(os.environ.get("DURABILITY_CUTS", "200"))
CUTS_A_HOME = 10
CALLERS = 4
PIPE = asyncio.subprocess.PIPE


def what_is_missing() -> str:
    """Return why no file system can be mounted here, "" when one can."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "mounting a file system needs Linux and root"
    if not Path("/dev/fuse").exists():
        return "there is no /dev/fuse"
    if importlib.util.find_spec("fuse") is None:
        return "the package fusepy is not installed"
    if find_library("fuse") is None:
        return "libfuse.so.2 is not installed (Debian: apt install libfuse2)"
    return ""


def require_fuse() -> None:
    """Skip, and say loudly why; where `CI` is set nothing may be missing."""
    missing = what_is_missing()
    if missing and os.environ.get("CI"):
        pytest.fail(f"the power-cut simulation did not run: {missing}")
    if missing:
        pytest.skip(f"THE POWER-CUT SIMULATION DID NOT RUN: {missing}")


@dataclass
class Machine:
    """The mounted file system, and the switch of its power."""

    mount: Path
    process: asyncio.subprocess.Process

    async def tell(self, command: str) -> int:
        """Send a command; return how many syncs the file system has seen."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{command}\n".encode())
        return int(await asyncio.wait_for(self.process.stdout.readline(), 20))


@contextlib.asynccontextmanager
async def machine() -> AsyncIterator[Machine]:
    """Mount the file system for as long as the block runs."""
    mount = Path(tempfile.mkdtemp(prefix="rw-"))
    command = [sys.executable, "-m", "tests.receipt_writer.durability.powercut_fs", str(mount)]
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
    try:
        one = Machine(mount, process)
        while not _is_mounted(mount):
            await one.tell("on")  # an answer, or the end of the process
        yield one
    finally:
        process.kill()
        await process.communicate()
        unmounted = await asyncio.create_subprocess_exec("umount", "-l", str(mount))
        await unmounted.wait()
        _remove(mount)


def _is_mounted(mount: Path) -> bool:
    return mount.is_mount()


def _remove(mount: Path) -> None:
    mount.rmdir()


async def cut_again_and_again(one: Machine, home: Path, cuts: int, chance: random.Random) -> Work:
    """Let callers work on one home until the power goes, and hold what each start finds against the answers."""
    work, reader, sockets = Work(), ChainReader(), Path(tempfile.mkdtemp(prefix="rw-"))
    callers = [(Caller if number % 2 else StreamCaller)(work) for number in range(CALLERS)]
    try:
        for number in range(cuts + 1):
            async with started(home, f"unix:{sockets}/w.sock") as writer:
                hold_against(reader, home / "receipts", work)
                if number == cuts:
                    verify_chain(home / "receipts", "L12")
                    return work
                work.aim(chance.randrange(1, 24))
                calling = [asyncio.create_task(caller.live(writer.target)) for caller in callers]
                wanted = asyncio.create_task(work.enough.wait())
                await asyncio.wait({wanted, *calling}, return_when=asyncio.FIRST_COMPLETED)
                assert wanted.done(), calling
                await one.tell(f"cut {chance.randrange(1 << 30)}")
                await writer.end(signal.SIGKILL)
                await asyncio.gather(*calling)
                await one.tell("on")
    finally:
        shutil.rmtree(sockets)
    return work


@pytest.mark.durability
@pytest.mark.timeout(600)
@pytest.mark.parametrize("half", [1, 2])
async def test_two_hundred_power_cuts_lose_no_acknowledged_entry(half: int) -> None:
    require_fuse()
    cuts_wanted = CUTS // 2
    chance, began, acknowledged = random.Random(half), time.monotonic(), 0  # noqa: S311 -- when to cut is no secret
    async with machine() as one:
        for home in range(0, cuts_wanted, CUTS_A_HOME):
            cuts = min(CUTS_A_HOME, cuts_wanted - home)
            acknowledged += len((await cut_again_and_again(one, one.mount / f"{home}", cuts, chance)).acknowledged)
        assert await one.tell("synced") > cuts_wanted
    spent = time.monotonic() - began
    print(f"{cuts_wanted} power cuts, {acknowledged} acknowledged, 0 lost, {spent:.0f} s")  # noqa: T201 -- the figure


def test_ci_cannot_pass_without_the_power_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="did not run: mounting a file system needs Linux and root"):
        require_fuse()
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="THE POWER-CUT SIMULATION DID NOT RUN"):
        require_fuse()
