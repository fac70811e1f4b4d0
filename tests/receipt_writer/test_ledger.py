from __future__ import annotations

from typing import Any, cast

import pytest

from receipt_writer.errors import (
    AlreadyRecordedError,
    DraftRefusedError,
    NotPossibleYetError,
    QueueFullError,
    ReceiptError,
)
from receipt_writer.format.chain import check_link, genesis_head
from receipt_writer.format.entry import Entry
from receipt_writer.format.schema import LAYERS
from receipt_writer.format.state import covered_sizes
from receipt_writer.index import ChainIndex
from receipt_writer.intents import MOST_DEADLINE_MS
from receipt_writer.ledger import (
    OPEN_LAYERS,
    Append,
    Begin,
    Command,
    Interrupt,
    Ledger,
    Outcome,
    Regenerate,
    Started,
)
from tests.receipt_writer.format.material import START_MS, SeedSigner
from tests.receipt_writer.parts import build, call, component, decision, intent, review, spec, turn, ulid

SIGNER = SeedSigner(b"\1" * 32)


class Book:
    """A ledger whose batches are durable at once, and the entries it can be asked to recall."""

    def __init__(self, host: str = "", tenant_id: str | None = None) -> None:
        indexes = [ChainIndex(layer, "home", tenant_id) for layer in LAYERS.values()]
        self.ledger = Ledger(indexes, SIGNER, host)
        self.entries: dict[tuple[str, int], Entry] = {}

    def recall(self, layer: str, entry_id: int) -> Entry:
        return self.entries[layer, entry_id]

    def run(self, *commands: Command, now_ms: int = START_MS) -> list[Outcome]:
        plan = self.ledger.plan(commands, now_ms, self.recall)
        self.ledger.apply(plan)
        for layer, entries in plan.entries.items():
            self.entries.update({(layer, entry.id): entry for entry in entries})
        return plan.outcomes

    def run_one(self, command: Command, now_ms: int = START_MS) -> Outcome:
        (outcome,) = self.run(command, now_ms=now_ms)
        return outcome


def append_decision(number: int, **changes: Any) -> Append:
    return Append("L12", decision(number, **changes))


def append_turn(number: int, **changes: Any) -> Append:
    return Append("L10", turn(number, **changes))


def refusal(outcome: Outcome, kind: type[ReceiptError]) -> str:
    assert isinstance(outcome, kind)
    return str(outcome)


def entry(outcome: Outcome) -> Entry:
    assert isinstance(outcome, Entry)
    return outcome


def test_entries_of_one_batch_follow_one_another() -> None:
    first, second, other = (
        entry(one)
        for one in Book().run(append_decision(1), append_decision(2), Begin(intent(1)), append_turn(1))
        if not isinstance(one, Started)
    )
    head = check_link(genesis_head("home/decisions/-"), first)
    assert check_link(head, second).size == 2
    assert check_link(genesis_head("home/turns/-"), other).size == 1


def test_planning_changes_nothing() -> None:
    book = Book()
    for _ in range(2):
        plan = book.ledger.plan([append_decision(1), Begin(intent(1))], START_MS, book.recall)
        assert [entry(plan.outcomes[0]).id, plan.outcomes[1]] == [1, Started(START_MS)]
    assert (book.ledger.indexes["L12"].head.size, book.ledger.intents) == (0, {})


def test_the_same_draft_gets_the_same_entry_later_and_within_one_batch() -> None:
    book = Book()
    first, again = book.run(append_decision(1), append_decision(1))
    later = book.run_one(append_decision(1), now_ms=START_MS + 9999)
    assert entry(first).line == entry(again).line == entry(later).line
    assert book.ledger.indexes["L12"].head.size == 1


def test_a_repeated_draft_makes_a_plan_with_nothing_to_write() -> None:
    book = Book()
    book.run(append_decision(1), Begin(intent(1)))
    plan = book.ledger.plan([append_decision(1), Begin(intent(1))], START_MS, book.recall)
    assert not plan.is_new


@pytest.mark.parametrize("change", [{"latencyMs": 13}, {"turnId": ulid("t_", 1)}, {"reviewerVerdict": "approved"}])
def test_another_draft_under_the_same_call_id_is_refused(change: dict[str, Any]) -> None:
    book = Book()
    first, clash = book.run(append_decision(1), append_decision(1, **change))
    assert ulid("c_", 1) in refusal(clash, AlreadyRecordedError)
    refusal(book.run_one(append_decision(1, **change)), AlreadyRecordedError)
    assert entry(book.run_one(append_decision(1))).line == entry(first).line


def test_another_report_of_the_same_turn_is_refused() -> None:
    book = Book()
    book.run(Begin(intent(1)), append_turn(1))
    assert ulid("t_", 1) in refusal(book.run_one(append_turn(1, outcome="failed")), AlreadyRecordedError)


def test_a_refused_draft_harms_no_other_command_of_its_batch() -> None:
    bad = append_decision(2, category="oracle")
    first, refused, third = Book().run(append_decision(1), bad, append_decision(3))
    assert "category must be one of" in refusal(refused, DraftRefusedError)
    assert (entry(first).id, entry(third).id) == (1, 2)


@pytest.mark.parametrize(
    "change", [{"callId": "c_1"}, {"id": 7}, {"unknown": 1}, {"latencyMs": -1}, {"specId": "x" * 129}]
)
def test_a_draft_outside_the_table_is_refused(change: dict[str, Any]) -> None:
    refusal(Book().run_one(Append("L12", decision(1) | change)), DraftRefusedError)


def test_a_turn_that_never_began_cannot_report() -> None:
    assert "BeginTurn first" in refusal(Book().run_one(append_turn(1)), NotPossibleYetError)


def test_a_malformed_report_is_refused_as_malformed_even_when_it_never_began() -> None:
    refusal(Book().run_one(Append("L10", turn(1) | {"turnId": "t_"})), DraftRefusedError)


def test_beginning_again_returns_the_first_start() -> None:
    book = Book()
    assert book.run_one(Begin(intent(1))) == Started(START_MS)
    assert book.run_one(Begin(intent(1)), now_ms=START_MS + 5) == Started(START_MS)
    assert "began before" in refusal(book.run_one(Begin(intent(1, gateway="api"))), AlreadyRecordedError)


def test_beginning_a_recorded_turn_again_returns_when_it_was_recorded() -> None:
    book = Book()
    book.run(Begin(intent(1)))
    book.run_one(append_turn(1), now_ms=START_MS + 5)
    assert book.run_one(Begin(intent(1)), now_ms=START_MS + 9) == Started(START_MS + 5)
    assert book.ledger.intents == {}
    assert "was recorded" in refusal(book.run_one(Begin(intent(1, gateway="api"))), AlreadyRecordedError)


def test_a_start_that_could_not_become_an_entry_is_refused() -> None:
    assert "gateway" in refusal(Book().run_one(Begin(intent(1, gateway="fax"))), DraftRefusedError)


def test_time_never_runs_backwards_in_a_chain() -> None:
    book = Book()
    book.run_one(append_decision(1), now_ms=START_MS)
    stepped = entry(book.run_one(append_decision(2), now_ms=START_MS - 60_000))
    assert stepped.recorded_at_ms == START_MS
    assert entry(book.run_one(append_decision(3), now_ms=START_MS + 1)).recorded_at_ms == START_MS + 1


def test_a_silent_turn_becomes_an_interrupted_entry_with_its_decisions() -> None:
    book = Book()
    book.run(Begin(intent(1, deadline_ms=1000)), Begin(intent(2)))
    book.run(append_decision(1, turnId=ulid("t_", 1)), append_decision(2), append_decision(3, turnId=ulid("t_", 1)))
    (silent,) = book.ledger.silent_turns(START_MS + 1000)
    recorded = entry(book.run_one(Interrupt(silent)))
    assert recorded.fields["turnId"] == ulid("t_", 1)
    assert recorded.fields["decisions"] == {"n": 2, "firstId": 1, "lastId": 3}
    assert list(book.ledger.intents) == [ulid("t_", 2)]


def test_a_report_that_comes_after_its_turn_was_given_up_is_appended_and_both_stand() -> None:
    book = Book()
    book.run(Begin(intent(1, deadline_ms=1000)))
    (silent,) = book.ledger.silent_turns(START_MS + 1000)
    interrupted = entry(book.run_one(Interrupt(silent)))

    late = entry(book.run_one(append_turn(1)))

    assert (interrupted.id, late.id) == (1, 2)
    assert entry(book.run_one(append_turn(1))).line == late.line
    refusal(book.run_one(append_turn(1, outcome="failed")), AlreadyRecordedError)


def test_an_interrupted_entry_counts_the_decisions_of_its_own_batch() -> None:
    book = Book()
    book.run(Begin(intent(1)))
    book.run(append_decision(1, turnId=ulid("t_", 1)))
    outcomes = book.run(
        append_decision(2), append_decision(3, turnId=ulid("t_", 1)), Interrupt(intent(1)), append_decision(4)
    )
    assert entry(outcomes[2]).fields["decisions"] == {"n": 2, "firstId": 1, "lastId": 3}


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "interrupted"},
        {"inputHash": "9" * 64},
        {"sessionId": ulid("s_", 9)},
        {"gateway": "api"},
        {"productId": "another"},
        {"commitment": "sha256"},
    ],
)
def test_a_late_report_of_another_turn_or_of_nothing_new_is_refused(change: dict[str, Any]) -> None:
    book = Book()
    book.run(Begin(intent(1)))
    book.run(Interrupt(intent(1)))

    refusal(book.run_one(append_turn(1, **change)), AlreadyRecordedError)


def test_a_restart_gives_up_the_turns_that_have_not_reported() -> None:
    book = Book()
    book.run(Begin(intent(1)), append_turn(1))
    abandoned = book.ledger.restore_intents([intent(1, started_at_ms=5), intent(2, started_at_ms=5)])
    assert [one.turn_id for one in abandoned] == [ulid("t_", 2)]
    assert list(book.ledger.intents) == [ulid("t_", 2)]


def test_a_restart_by_the_host_that_began_a_turn_keeps_the_turn_open() -> None:
    book = Book(host="100.7")
    assert book.ledger.restore_intents([intent(1, host="100.7")]) == []
    assert list(book.ledger.intents) == [ulid("t_", 1)]
    other = Book(host="100.8")
    assert len(other.ledger.restore_intents([intent(1, host="100.7"), intent(2)])) == 2


def test_beginning_a_turn_notes_the_host_but_does_not_compare_it() -> None:
    book = Book(host="100.7")
    book.run(Begin(intent(1)))
    assert book.ledger.intents[ulid("t_", 1)].host == "100.7"
    assert book.run_one(Begin(intent(1))) == Started(START_MS)


@pytest.mark.parametrize(
    ("layer", "draft"),
    [("L2", spec(1)), ("L4", build(1)), ("L5", call(1)), ("L11", component(1)), ("L12", decision(1))],
)
def test_every_open_layer_is_appended_to_on_one_path(layer: str, draft: dict[str, Any]) -> None:
    book = Book()
    recorded = entry(book.run_one(Append(layer, draft)))
    chain = LAYERS[layer].chain
    assert check_link(genesis_head(f"home/{chain}/-"), recorded).size == 1
    assert recorded.draft == draft
    assert entry(book.run_one(Append(layer, draft))).line == recorded.line
    refusal(book.run_one(Append(layer, draft | {"productId": "another"})), AlreadyRecordedError)


def test_callers_may_append_to_seven_layers() -> None:
    assert OPEN_LAYERS == ("L2", "L4", "L5", "L6", "L10", "L11", "L12")


def test_a_spec_is_registered_once_whatever_else_is_said_of_its_hash() -> None:
    book = Book()
    outcomes = book.run(Append("L2", spec(1)), Append("L2", spec(2)), Append("L2", spec(1)))
    assert [entry(outcome).id for outcome in outcomes] == [1, 2, 1]
    clash = refusal(book.run_one(Append("L2", spec(1, specId="another"))), AlreadyRecordedError)
    assert f"The specHash {1:064x} was recorded before" in clash


def test_a_tool_call_is_recorded_once_in_each_of_its_states() -> None:
    book = Book()
    admitted, completed = call(1, state="admitted", resultHash=None), call(1)
    outcomes = book.run(Append("L5", admitted), Append("L5", completed), Append("L5", admitted))
    assert [entry(outcome).id for outcome in outcomes] == [1, 2, 1]
    clash = refusal(book.run_one(Append("L5", call(1, tool="note_write"))), AlreadyRecordedError)
    assert clash.startswith(f"The callId and state {ulid('c_', 1)} completed was recorded before with other fields")


def test_a_review_of_a_recorded_decision_is_appended() -> None:
    book = Book()
    decided = entry(book.run_one(append_decision(1)))
    assert entry(book.run_one(Append("L6", review(1, decided)))).fields["decisionHash"] == decided.hash


def test_a_review_may_stand_in_the_batch_of_its_decision() -> None:
    decided = entry(Book().run_one(append_decision(1)))
    book = Book()
    _, reviewed = book.run(append_decision(1), Append("L6", review(1, decided)))
    assert entry(reviewed).fields["decisionHash"] == decided.hash


def test_a_review_of_a_decision_that_is_not_there_is_refused() -> None:
    book = Book()
    decided = entry(book.run_one(append_decision(1)))
    early = refusal(book.run_one(Append("L6", review(1, decided, decisionId=2))), NotPossibleYetError)
    assert "no decision 2" in early


@pytest.mark.parametrize("change", [{"decisionHash": "9" * 64}, {"callId": ulid("c_", 9)}])
def test_a_review_that_names_another_decision_than_it_points_at_is_refused(change: dict[str, Any]) -> None:
    book = Book()
    decided = entry(book.run_one(append_decision(1)))
    assert "decision 1" in refusal(book.run_one(Append("L6", review(1, decided, **change))), DraftRefusedError)


def test_a_tenants_entries_carry_it_and_hang_on_its_own_origin() -> None:
    book = Book(tenant_id="acme")
    recorded = entry(book.run_one(append_decision(1)))
    assert recorded.tenant_id == "acme"
    assert check_link(genesis_head("home/decisions/acme"), recorded, tenant_id="acme").size == 1


def test_a_regeneration_records_why_and_then_every_chain_with_what_its_batch_adds() -> None:
    book = Book()
    book.run(append_decision(1), append_decision(2), Append("L4", build(1)))
    *_, state = book.run(append_decision(3), Append("L11", component(1)), Regenerate("requested"))
    assert (entry(state).layer, entry(state).id) == ("L1", 1)
    assert list(covered_sizes(entry(state).fields).items()) == [
        ("specs", 0),
        ("keys", 0),
        ("builds", 1),
        ("calls", 0),
        ("reviews", 0),
        ("regenerations", 1),
        ("turns", 0),
        ("components", 1),
        ("decisions", 3),
    ]
    why = book.entries["L7", 1].draft
    assert why == {"reason": "requested", "stateId": 1, "chains": 9, "entries": 6}
    rows = cast("list[dict[str, Any]]", entry(state).fields["chains"])
    assert [row["chain"] for row in rows] == [layer.chain for name, layer in LAYERS.items() if name != "L1"]
    for row in rows:
        index = next(one for one in book.ledger.indexes.values() if one.layer.chain == row["chain"])
        assert (row["rootHash"], row["headHash"]) == (index.frontier.root().hex(), index.head.hash)


def test_each_regeneration_adds_one_entry_to_two_chains() -> None:
    book = Book()
    outcomes = book.run(Regenerate("scheduled"), Regenerate("key_changed"))
    assert [entry(outcome).id for outcome in outcomes] == [1, 2]
    assert book.entries["L7", 2].draft["stateId"] == 2
    assert covered_sizes(entry(outcomes[1]).fields)["regenerations"] == 2
    assert entry(outcomes[1]).prev_hash == entry(outcomes[0]).hash


@pytest.mark.parametrize("change", [{"schemaValid": 1}, {"latencyMs": True}, {"latencyMs": 12.0}])
def test_a_repeated_draft_of_other_types_is_refused_although_python_calls_it_equal(change: dict[str, Any]) -> None:
    book = Book()
    first = decision(1, latencyMs=1 if "latencyMs" in change and change["latencyMs"] is True else 12)
    recorded = entry(book.run_one(Append("L12", first)))
    assert first | change == first
    (member,) = change
    assert member in refusal(book.run_one(Append("L12", first | change)), DraftRefusedError)
    assert entry(book.run_one(Append("L12", first))).line == recorded.line


@pytest.mark.parametrize("deadline_ms", [-1, MOST_DEADLINE_MS + 1, 2**62])
def test_a_turn_without_an_end_does_not_begin(deadline_ms: int) -> None:
    book = Book()
    message = refusal(book.run_one(Begin(intent(1, deadline_ms=deadline_ms))), DraftRefusedError)
    assert f"deadlineMs must be a number of milliseconds up to {MOST_DEADLINE_MS}" in message
    assert isinstance(book.run_one(Begin(intent(1, deadline_ms=MOST_DEADLINE_MS))), Started)


def test_no_more_turns_are_open_than_may_be() -> None:
    book = Book()
    book.ledger.turns.most = 2
    outcomes = book.run(Begin(intent(1)), Begin(intent(2)), Begin(intent(3)), Begin(intent(1)))
    assert [type(one) for one in outcomes] == [Started, Started, QueueFullError, Started]
    assert "2 turns are open already" in str(outcomes[2])
    book.run(append_turn(1))
    assert isinstance(book.run_one(Begin(intent(3))), Started)


def test_a_batch_shortens_the_journal_to_the_turns_that_stay_open_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("receipt_writer.open_turns.JOURNAL_ROWS", 400)
    book = Book()
    numbers = range(1, 400)
    book.run(*(Begin(intent(number)) for number in numbers))
    book.run(*(append_turn(number) for number in numbers[1:]))
    plan = book.ledger.plan([Begin(intent(5000)), append_turn(1)], START_MS, book.recall)
    assert plan.open_rows == list(plan.rows.values())
    book.ledger.apply(plan)
    assert list(book.ledger.intents) == [ulid("t_", 5000)]
    assert book.ledger.plan([Begin(intent(5001))], START_MS, book.recall).open_rows is None
