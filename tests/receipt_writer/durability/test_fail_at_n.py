"""Every storage call of three lives fails, once and for ever: nothing acknowledged is lost, no restart needs a hand."""

from __future__ import annotations

import errno
import time

import pytest

from tests.receipt_writer.durability.faults import KILL, SHORT, Fault
from tests.receipt_writer.durability.lives import LIVES
from tests.receipt_writer.durability.replays import scratch
from tests.receipt_writer.durability.sweep import Case, calls_of, cases, sweep

EVERY = 61  # a prime: it meets the calls of each kind in turn


async def test_a_storage_call_that_fails_costs_nothing_that_was_acknowledged() -> None:
    with scratch() as place:
        count, bad = await sweep(place, EVERY)
    assert bad == {}
    assert count > 60


@pytest.mark.durability
@pytest.mark.timeout(600)
@pytest.mark.parametrize("life", range(len(LIVES)))
async def test_every_storage_call_may_fail_in_every_way(life: int) -> None:
    began = time.process_time()
    with scratch() as place:
        calls = (await calls_of(place))[life]
        count, bad = await sweep(place, life=life)
    assert bad == {}
    assert count >= 5 * len(calls)
    spent = time.process_time() - began
    print(f"{len(calls)} storage calls of life {life + 1}, {count} faults, 0 bad, {spent:.0f} s of CPU")  # noqa: T201


def test_the_cases_are_every_call_with_every_fault() -> None:
    assert list(cases([["write"], ["sync"]])) == [
        Case(0, Fault(1, errno.EIO)),
        Case(0, Fault(1, errno.ENOSPC)),
        Case(0, Fault(1, SHORT)),
        Case(0, Fault(1, errno.EIO, for_ever=True)),
        Case(0, Fault(1, errno.ENOSPC, for_ever=True)),
        Case(0, Fault(1, SHORT, for_ever=True)),
        Case(0, Fault(1, KILL)),
        Case(1, Fault(1, errno.EIO)),
        Case(1, Fault(1, errno.ENOSPC)),
        Case(1, Fault(1, errno.EIO, for_ever=True)),
        Case(1, Fault(1, errno.ENOSPC, for_ever=True)),
        Case(1, Fault(1, KILL)),
    ]


async def test_the_lives_make_every_kind_of_call() -> None:
    with scratch() as place:
        calls = await calls_of(place)
    everything = {"open", "open_to_read", "create", "write", "write_at", "read_at", "size", "truncate", "sync", "close"}
    everything |= {"replace", "link", "remove", "sync_folder", "lock"}
    assert set().union(*calls) == everything
