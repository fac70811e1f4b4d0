"""Random histories against the simplest model that can be written, and every call of a history failing once."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from receipt_writer.app import open_service
from receipt_writer.errors import AlreadyRecordedError, NotPossibleYetError, ReceiptError, StorageFailedError
from receipt_writer.format.chain import check_link, genesis_head, head_after
from receipt_writer.format.entry import Entry
from receipt_writer.format.schema import LAYERS
from receipt_writer.index import ChainIndex, Filter
from receipt_writer.ledger import Append, Begin, Command, Ledger, Outcome, Started
from service_runtime.errors import ServiceError
from tests.receipt_writer.format.material import START_MS, SeedSigner, decision_chain
from tests.receipt_writer.parts import WatchedFiles, decision, intent, turn, ulid, verified

SIGNER = SeedSigner(b"\1" * 32)

numbers, variants = st.integers(1, 4), st.integers(0, 1)
commands = st.one_of(
    st.builds(lambda n, v: Append("L12", decision(n, latencyMs=v)), numbers, variants),
    st.builds(lambda n, v: Append("L10", turn(n, iterations=v)), numbers, variants),
    st.builds(lambda n, v: Begin(intent(n, deadline_ms=v)), numbers, variants),
)


@dataclass
class Model:
    """What a ledger should answer, kept as plainly as possible."""

    drafts: dict[tuple[str, str], dict[str, Any]]
    begun: dict[str, int]

    def expect(self, command: Begin | Append) -> type[Entry | Started | ReceiptError]:
        if isinstance(command, Begin):
            turn_id = command.intent.turn_id
            if ("L10", turn_id) in self.drafts:
                return Started
            known = self.begun.setdefault(turn_id, command.intent.deadline_ms)
            return Started if known == command.intent.deadline_ms else AlreadyRecordedError
        draft: dict[str, Any] = dict(command.draft)
        key = (command.layer, str(draft["turnId" if command.layer == "L10" else "callId"]))
        if key not in self.drafts and command.layer == "L10" and key[1] not in self.begun:
            return NotPossibleYetError
        first = self.drafts.setdefault(key, draft)
        if command.layer == "L10":
            self.begun.pop(key[1], None)
        return Entry if first == draft else AlreadyRecordedError


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.lists(commands, min_size=1, max_size=6), st.integers(-50, 50)), max_size=6))
def test_a_ledger_answers_as_the_model_does_and_its_chains_hold(
    batches: list[tuple[list[Begin | Append], int]],
) -> None:
    ledger = Ledger([ChainIndex(layer, "home") for layer in LAYERS.values()], SIGNER)
    model, recorded = Model({}, {}), dict[tuple[str, int], Entry]()
    now_ms = START_MS

    def recall(layer: str, entry_id: int) -> Entry:
        return recorded[layer, entry_id]

    for batch, step in batches:
        now_ms += step
        plan = ledger.plan(batch, now_ms, recall)
        expected = [model.expect(command) for command in batch]
        assert [type(outcome) for outcome in plan.outcomes] == expected
        ledger.apply(plan)
        recorded |= {(layer, one.id): one for layer, added in plan.entries.items() for one in added}
    for name, index in ledger.indexes.items():
        head = genesis_head(index.origin)
        for entry_id in range(1, index.head.size + 1):
            head = check_link(head, recorded[name, entry_id])
        assert head == index.head
    assert set(ledger.intents) == set(model.begun)


ENTRIES = decision_chain(
    [decision(number, turnId=ulid("t_", number % 3), specId=f"s-{number % 4}") for number in range(1, 25)],
    SIGNER,
    step_ms=7,
)
times = st.one_of(st.just(0), st.integers(START_MS - 20, START_MS + 200))
members = st.lists(
    st.one_of(
        st.integers(0, 4).map(lambda n: ("turnId", ulid("t_", n))),
        st.integers(0, 5).map(lambda n: ("specId", f"s-{n}")),
    ),
    max_size=2,
).map(tuple)


def satisfies(entry: Entry, wanted: Filter) -> bool:
    return (
        wanted.from_id <= entry.id
        and (not wanted.to_id or entry.id <= wanted.to_id)
        and all(entry.fields[name] == value for name, value in wanted.members)
        and (not wanted.recorded_from_ms or entry.recorded_at_ms >= wanted.recorded_from_ms)
        and (not wanted.recorded_to_ms or entry.recorded_at_ms < wanted.recorded_to_ms)
    )


@settings(max_examples=300, deadline=None)
@given(
    st.builds(
        Filter,
        from_id=st.integers(0, 30),
        to_id=st.integers(0, 30),
        members=members,
        recorded_from_ms=times,
        recorded_to_ms=times,
        newest_first=st.booleans(),
        limit=st.integers(0, 5),
    )
)
def test_an_index_selects_what_a_walk_over_the_entries_finds(wanted: Filter) -> None:
    index = ChainIndex(LAYERS["L12"], "prometheus.example")
    for entry in ENTRIES:
        index.add(entry.fields, entry.line, head_after(entry))
    found = [entry.id for entry in ENTRIES if satisfies(entry, wanted)]
    ordered = found[::-1] if wanted.newest_first else found
    assert list(index.select(wanted)) == (ordered[: wanted.limit] if wanted.limit else ordered)


@dataclass
class FailsOnce(WatchedFiles):
    """Lets call number `at` fail, counted from the first; with `short`, a write puts half of its bytes down before."""

    at: int = 0
    short: bool = False

    def write(self, handle: int, data: bytes) -> int:
        if self.short and len(self.calls) == self.at:
            super(WatchedFiles, self).write(handle, data[: len(data) // 2])
        return super().write(handle, data)

    def _happen(self, call: str, name: str) -> None:
        if len(self.calls) == self.at:
            self.calls.append(("failed", name))
            raise OSError(self.error, "made to fail")
        super()._happen(call, name)


def history() -> Iterator[list[Command]]:
    """Yield the batches that the failing ledger is given."""
    yield [Begin(intent(1)), Append("L12", decision(1, turnId=ulid("t_", 1)))]
    yield [Append("L12", decision(2)), Append("L12", decision(3)), Append("L10", turn(1))]
    yield [Begin(intent(2))]


def run_until_failure(folder: Path, files: WatchedFiles) -> list[Outcome]:
    """Start and run the history; return what was acknowledged before something failed."""
    acknowledged: list[Outcome] = []
    try:
        service = open_service(folder, files)
    except ServiceError:
        return acknowledged
    except OSError:  # a first start that could not make its files
        return acknowledged
    try:
        for batch in history():
            acknowledged += service.writer.commit_now(batch)
        service.store.write_checkpoint("decisions", b"")  # an empty note is removed below
    except StorageFailedError:
        pass
    finally:
        service.store._opened.close()  # type: ignore[attr-defined]
    return acknowledged


@pytest.mark.parametrize(("error", "short"), [(errno.EIO, False), (errno.ENOSPC, True)])
def test_whichever_call_fails_nothing_acknowledged_is_lost_and_the_next_start_recovers(
    tmp_path: Path, error: int, short: bool
) -> None:
    for at in count():
        folder = tmp_path / f"{at}"
        folder.mkdir()
        files = FailsOnce(at=at, error=error, short=short)
        acknowledged = run_until_failure(folder, files)
        for copies in (folder, folder / "chains"):
            (copies / "decisions.checkpoint").unlink(missing_ok=True)
        open_service(folder).store.close()
        lines = {entry.line for layer in ("L10", "L12") for entry in verified(folder, layer)}
        assert {one.line for one in acknowledged if isinstance(one, Entry)} <= lines, at
        begun = sum(isinstance(one, Started) for one in acknowledged)
        assert len(verified(folder, "L10")) >= begun, at  # reported, or interrupted by the restart
        if not any(call == "failed" for call, _ in files.calls):
            break
    assert at > 30
