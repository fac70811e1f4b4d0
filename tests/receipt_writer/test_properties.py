"""Random histories against the simplest model that can be written (what fails in between: see durability/)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from receipt_writer.errors import (
    AlreadyRecordedError,
    DraftRefusedError,
    NotPossibleYetError,
    ReceiptError,
)
from receipt_writer.format.chain import check_link, genesis_head, head_after
from receipt_writer.format.entry import Entry
from receipt_writer.format.merkle import leaf_hash, root_of
from receipt_writer.format.schema import LAYERS, layer_of_chain
from receipt_writer.index import ChainIndex, Filter
from receipt_writer.ledger import Append, Begin, Ledger, Regenerate, Started
from tests.receipt_writer.format.material import START_MS, SeedSigner, decision_chain
from tests.receipt_writer.parts import (
    build,
    call,
    component,
    decision,
    intent,
    review,
    spec,
    turn,
    ulid,
)

SIGNER = SeedSigner(b"\1" * 32)
REVIEW = review(1, decision_chain([decision(1)], SeedSigner(b"\2" * 32))[0])

numbers, variants = st.integers(1, 4), st.integers(0, 1)
commands = st.one_of(
    st.builds(lambda n, v: Append("L12", decision(n, latencyMs=v)), numbers, variants),
    st.builds(lambda n, v: Append("L10", turn(n, iterations=v)), numbers, variants),
    st.builds(lambda n, v: Append("L4", build(n, version=f"{v}")), numbers, variants),
    st.builds(lambda n, v: Append("L5", call(n, state=("admitted", "completed")[v])), numbers, variants),
    st.builds(lambda n, v: Append("L6", {**REVIEW, "decisionId": n, "reviewer": f"{v}"}), numbers, variants),
    st.builds(lambda n, v: Append("L2", spec(n, schemaVersion=f"{v}")), numbers, variants),
    st.builds(lambda n, v: Append("L11", component(n, name=f"{v}")), numbers, variants),
    st.builds(lambda n, v: Begin(intent(n, deadline_ms=v)), numbers, variants),
    st.builds(Regenerate, st.sampled_from(("scheduled", "requested", "key_changed"))),
)
KEYS = {"L2": ["specHash"], "L4": ["buildId"], "L5": ["callId", "state"], "L10": ["turnId"], "L11": ["versionId"]}
KEYS |= {"L12": ["callId"]}


@dataclass
class Model:
    """What a ledger should answer, kept as plainly as possible."""

    drafts: dict[tuple[str, str], dict[str, Any]]
    begun: dict[str, int]

    def expect(self, command: Begin | Append | Regenerate) -> type[Entry | Started | ReceiptError]:
        if isinstance(command, Regenerate):
            return Entry
        if isinstance(command, Begin):
            turn_id = command.intent.turn_id
            if ("L10", turn_id) in self.drafts:
                return Started
            known = self.begun.setdefault(turn_id, command.intent.deadline_ms)
            return Started if known == command.intent.deadline_ms else AlreadyRecordedError
        draft: dict[str, Any] = dict(command.draft)
        if command.layer == "L6":  # it names no decision's hash
            decisions = sum(layer == "L12" for layer, _ in self.drafts)
            return NotPossibleYetError if draft["decisionId"] > decisions else DraftRefusedError
        key = (command.layer, " ".join(draft[name] for name in KEYS[command.layer]))
        if key not in self.drafts and command.layer == "L10" and key[1] not in self.begun:
            return NotPossibleYetError
        first = self.drafts.setdefault(key, draft)
        if command.layer == "L10":
            self.begun.pop(key[1], None)
        return Entry if first == draft else AlreadyRecordedError


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.lists(commands, min_size=1, max_size=6), st.integers(-50, 50)), max_size=6))
def test_a_ledger_answers_as_the_model_does_and_its_chains_hold(
    batches: list[tuple[list[Begin | Append | Regenerate], int]],
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
    for state in (entry for (layer, _), entry in recorded.items() if layer == "L1"):
        require_true(state, recorded)


def require_true(state: Entry, recorded: dict[tuple[str, int], Entry]) -> None:
    """Hold each row of a state against the entries that it says were there."""
    assert recorded["L7", state.id].fields["stateId"] == state.id
    for row in cast("list[dict[str, Any]]", state.fields["chains"]):
        layer, size = layer_of_chain(row["chain"]).name, row["size"]
        lines = [recorded[layer, entry_id].line for entry_id in range(1, size + 1)]
        assert row["rootHash"] == root_of(map(leaf_hash, lines)).hex()
        head = genesis_head(f"home/{row['chain']}/-") if size == 0 else head_after(recorded[layer, size])
        assert row["headHash"] == head.hash


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
