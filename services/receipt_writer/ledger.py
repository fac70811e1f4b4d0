"""The writer's decisions, without any I/O: what a batch of commands makes of the ledger.

`plan` reads the state and changes nothing; the caller makes `Plan.batch` durable and only then calls `apply`. A plan
whose batch failed is thrown away, and the state is still what the disk is known to hold.

Every layer takes one path, and the schema table says the rest. What one layer asks for beyond the table stands in
`_conditions`, in one place.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import msgspec

from receipt_writer.errors import (
    AlreadyRecordedError,
    DraftRefusedError,
    NotPossibleYetError,
    ReceiptError,
)
from receipt_writer.format.chain import Head, head_after, next_entry
from receipt_writer.format.entry import Entry, check_draft
from receipt_writer.format.errors import EncodingError, SchemaError
from receipt_writer.format.merkle import leaf_hash
from receipt_writer.format.schema import LAYERS
from receipt_writer.format.signing import Signer
from receipt_writer.format.state import (
    REGENERATION_LAYER,
    STATE_LAYER,
    ChainState,
    regeneration_draft,
    state_draft,
)
from receipt_writer.index import ChainIndex
from receipt_writer.intents import (
    FORM,
    TURN_LAYER,
    DecisionSpan,
    Intent,
    agrees_with_entry,
    check_intent,
    interrupted_draft,
    is_late_report,
)
from receipt_writer.newest import NewestLines
from receipt_writer.open_turns import NO_ROWS, OpenTurns
from receipt_writer.storage.protocol import Batch, Mark

DECISION_LAYER = "L12"
REVIEW_LAYER = "L6"


@dataclass(frozen=True, slots=True)
class Begin:
    """Record durably that a turn began."""

    intent: Intent


class Append(msgspec.Struct, frozen=True):
    """Record an entry: the layer's name and its members without those that the chain sets, ledger names.

    A draft of a layer without an idempotency key is always new; such layers are the writer's own.
    """

    layer: str
    draft: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Record that a turn never reported. Its decisions are counted when the command runs: more may wait before it."""

    intent: Intent


@dataclass(frozen=True, slots=True)
class Regenerate:
    """Record the state of every chain: an L7 entry that says why, then the L1 entry, which is the outcome."""

    reason: str


@dataclass(frozen=True)
class Started:
    """The answer to `Begin`: when the start was recorded."""

    started_at_ms: int


Command = Begin | Append | Interrupt | Regenerate
Outcome = Entry | Started | ReceiptError
"""What became of one command. A refusal is an answer like the others; it touches no other command of the batch."""
Recall = Callable[[str, int], Entry]
"""Reads a recorded entry back: layer name and id."""


@dataclass
class Plan:
    """What a batch will be once it is durable."""

    outcomes: list[Outcome] = field(default_factory=list)
    entries: dict[str, list[Entry]] = field(default_factory=dict)  # by layer name
    begun: dict[str, Intent] = field(default_factory=dict)
    rows: dict[str, bytes] = field(default_factory=dict)  # the journal's, of the turns that begin
    open_rows: list[bytes] | None = None  # all that still matter, when the journal is to be shortened
    heads: dict[str, Head] = field(default_factory=dict)
    recorded: dict[tuple[str, str], Entry] = field(default_factory=dict)  # by layer name and idempotency key

    @property
    def is_new(self) -> bool:
        """Whether the plan holds anything that is not on disk yet."""
        return bool(self.entries or self.begun)

    def batch(self) -> Batch:
        """Return what the store must make durable."""
        by_chain = {LAYERS[layer].chain: entries for layer, entries in self.entries.items()}
        return Batch(by_chain, list(self.rows.values()), self.open_rows, LAYERS[STATE_LAYER].chain)


OPEN_LAYERS = tuple(name for name, layer in LAYERS.items() if layer.form(FORM).idempotency_key)
"""Where callers may append; the writer alone records state, keys and regenerations."""


class Ledger:
    """The state of all chains of one ledger, and the rules by which it grows.

    Attributes:
        indexes: What is known of each chain, by layer name.
        newest: The lines that were committed last, by layer name.
        turns: The turns that began and have not reported.
        signer: The entry key that signs from the next plan on.
        host: The process whose child this writer is, "" when it serves whoever connects.
    """

    def __init__(self, indexes: Iterable[ChainIndex], signer: Signer, host: str = "") -> None:
        """Start from replayed chains; `host` names the process whose child this writer is, if it is one."""
        self.indexes: dict[str, ChainIndex] = {index.layer.name: index for index in indexes}
        self.newest = {layer: NewestLines() for layer in self.indexes}
        self.turns = OpenTurns(self.indexes[TURN_LAYER].origin)
        self.signer, self.host = signer, host
        self._conditions = {TURN_LAYER: self._require_begun, REVIEW_LAYER: self._require_decision}

    def plan(self, commands: Sequence[Command], now_ms: int, recall: Recall) -> Plan:
        """Return what a batch makes of the ledger, one outcome a command, in order."""
        plan = Plan(heads={name: index.head for name, index in self.indexes.items()})
        for command in commands:
            try:
                plan.outcomes.append(self._outcome(plan, command, now_ms, recall))
            except ReceiptError as refusal:
                plan.outcomes.append(refusal)
        if plan.is_new:
            reported = {str(entry.fields["turnId"]) for entry in plan.entries.get(TURN_LAYER, ())}
            plan.open_rows = self.turns.rows_after(plan.rows, reported)
        return plan

    def apply(self, plan: Plan) -> None:
        """Take over a plan whose batch is durable."""
        self.turns.begin(plan.begun, plan.rows, None if plan.open_rows is None else len(plan.open_rows))
        for layer, entries in plan.entries.items():
            index, newest = self.indexes[layer], self.newest[layer]
            for entry in entries:
                index.add(entry.fields, entry.line, head_after(entry))
                newest.add(entry.id, entry.line)
                if layer == TURN_LAYER:
                    self.turns.close(index.key_of(entry.fields))

    def change_signer(self, signer: Signer) -> None:
        """Sign with another entry key from the next plan on; the rows of the open turns are signed anew."""
        self.signer = signer
        self.turns.sign_again(signer)

    def restore_intents(self, intents: Iterable[Intent], rows: Mapping[str, bytes] = NO_ROWS) -> list[Intent]:
        """Take over the journal at start; return the turns that nobody will report any more.

        `rows` are those that the present key signed, by turn id; the others are signed anew.

        Those are all that have not reported, except when the very host that began them has started this writer again:
        its turns still run, and its report must not find an `interrupted` entry in its place.
        """
        turns = self.indexes[TURN_LAYER]
        self.turns.restore([one for one in intents if turns.id_of(one.turn_id) is None], self.signer, rows)
        return [one for one in self.intents.values() if not one.host or one.host != self.host]

    @property
    def intents(self) -> Mapping[str, Intent]:
        """The turns that began and have not reported, by turn id."""
        return self.turns.intents

    def silent_turns(self, now_ms: int) -> list[Intent]:
        """Return the turns that are past their deadline, and those that nobody will report any more."""
        return self.turns.silent_at(now_ms)

    def marks(self) -> dict[str, Mark]:
        """Return how far each chain reaches, by chain name."""
        return {index.layer.chain: Mark(index.head.size, index.head.hash) for index in self.indexes.values()}

    def _outcome(self, plan: Plan, command: Command, now_ms: int, recall: Recall) -> Outcome:
        match command:
            case Append():
                return self._append(plan, command, now_ms, recall)
            case Begin(intent):
                return self._begin(plan, intent, now_ms, recall)
            case Interrupt(intent):
                draft = interrupted_draft(intent, self._decisions_of(plan, intent.turn_id))
                return self._append(plan, Append(TURN_LAYER, draft), now_ms, recall)
            case Regenerate(reason):
                return self._regenerate(plan, reason, now_ms)

    def _begin(self, plan: Plan, asked: Intent, now_ms: int, recall: Recall) -> Started:
        turn_id = asked.turn_id
        try:
            check_intent(asked)
        except (SchemaError, EncodingError) as error:
            raise DraftRefusedError(f"The start of turn {turn_id[:40]!r} was refused: {error}") from error
        entry = self._recorded(plan, TURN_LAYER, turn_id, recall)
        if entry:
            if not agrees_with_entry(asked, entry.fields):
                raise _taken("turnId", turn_id, "was recorded")
            return Started(entry.recorded_at_ms)
        known = plan.begun.get(turn_id) or self.intents.get(turn_id)
        if known:
            if replace(known, started_at_ms=0, host="") != asked:
                raise _taken("turnId", turn_id, "began")
            return Started(known.started_at_ms)
        self.turns.require_room(plan.begun)
        plan.begun[turn_id] = replace(asked, started_at_ms=now_ms, host=self.host)
        plan.rows[turn_id] = self.turns.row(plan.begun[turn_id], self.signer)
        return Started(now_ms)

    def _append(self, plan: Plan, command: Append, now_ms: int, recall: Recall) -> Entry:
        layer, draft = command.layer, command.draft
        index = self.indexes[layer]
        key = index.key_of(draft)
        earlier = self._recorded(plan, layer, key, recall) if key else None
        if earlier:
            _require_fit(layer, draft)  # before it is compared: in Python, 1 and true are equal
        if earlier and not is_late_report(earlier.draft, draft):
            if earlier.draft != draft:
                raise _taken(" and ".join(index.key_members), key, "was recorded")
            return earlier
        entry, head = self._next(plan, layer, draft, now_ms)
        condition = self._conditions.get(layer)
        if condition and not earlier:
            condition(plan, entry.fields, recall)
        self._take(plan, layer, entry, head)
        plan.recorded[layer, key] = entry
        return entry

    def _regenerate(self, plan: Plan, reason: str, now_ms: int) -> Entry:
        states = self._states(plan)
        state_id = plan.heads[STATE_LAYER].size + 1
        entry, head = self._next(plan, REGENERATION_LAYER, regeneration_draft(reason, state_id, states), now_ms)
        self._take(plan, REGENERATION_LAYER, entry, head)
        entry, head = self._next(plan, STATE_LAYER, state_draft(self._states(plan)), now_ms)
        self._take(plan, STATE_LAYER, entry, head)
        return entry

    def _next(self, plan: Plan, layer: str, draft: Mapping[str, object], now_ms: int) -> tuple[Entry, Head]:
        tenant_id = self.indexes[layer].tenant_id
        try:
            return next_entry(
                plan.heads[layer], layer, FORM, draft, now_ms=now_ms, tenant_id=tenant_id, signer=self.signer
            )
        except (SchemaError, EncodingError) as error:
            raise DraftRefusedError(f"The draft was refused: {error}") from error

    def _take(self, plan: Plan, layer: str, entry: Entry, head: Head) -> None:
        plan.entries.setdefault(layer, []).append(entry)
        plan.heads[layer] = head

    def _recorded(self, plan: Plan, layer: str, key: str, recall: Recall) -> Entry | None:
        pending = plan.recorded.get((layer, key))
        if pending:
            return pending
        entry_id = self.indexes[layer].id_of(key)
        return None if entry_id is None else recall(layer, entry_id)

    def _require_begun(self, plan: Plan, fields: Mapping[str, object], _: Recall) -> None:
        key = str(fields["turnId"])
        if key not in self.intents and key not in plan.begun:
            raise NotPossibleYetError(f"Turn {key} never began here; send BeginTurn first, then this report again.")

    def _require_decision(self, plan: Plan, fields: Mapping[str, object], recall: Recall) -> None:
        decision_id = cast("int", fields["decisionId"])
        committed = self.indexes[DECISION_LAYER].head.size
        pending = plan.entries.get(DECISION_LAYER, ())
        if decision_id > committed + len(pending):
            raise NotPossibleYetError(f"There is no decision {decision_id} to review here; record it first.")
        if decision_id > committed:
            decision = pending[decision_id - committed - 1]
        else:
            decision = recall(DECISION_LAYER, decision_id)
        if (decision.hash, decision.fields.get("callId")) != (fields["decisionHash"], fields["callId"]):
            raise DraftRefusedError(
                f"The draft was refused: decisionHash and callId are not those of decision {decision_id}."
            )

    def _decisions_of(self, plan: Plan, turn_id: str) -> DecisionSpan:
        pending = plan.entries.get(DECISION_LAYER, ())
        ids = [*self.indexes[DECISION_LAYER].ids_with("turnId", turn_id)]
        ids += [entry.id for entry in pending if entry.fields.get("turnId") == turn_id]
        return DecisionSpan(len(ids), ids[0], ids[-1]) if ids else DecisionSpan()

    def _states(self, plan: Plan) -> list[ChainState]:
        """Return the state of every chain but the state's own, what the plan adds included."""
        states = []
        for layer, index in self.indexes.items():
            if layer == STATE_LAYER:
                continue
            frontier = index.frontier
            for entry in plan.entries.get(layer, ()):
                frontier = frontier.append(leaf_hash(entry.line))
            head = plan.heads[layer]
            states.append(ChainState(index.layer.chain, head.size, frontier.root(), head.hash))
        return states


def _require_fit(layer: str, draft: Mapping[str, object]) -> None:
    try:
        check_draft(layer, FORM, draft)
    except (SchemaError, EncodingError) as error:
        raise DraftRefusedError(f"The draft was refused: {error}") from error


def _taken(member: str, key: str, what: str) -> AlreadyRecordedError:
    return AlreadyRecordedError(
        f"The {member} {key} {what} before with other fields, and that record stands; use a new {member}, or send the "
        "same fields again to get the first record."
    )
