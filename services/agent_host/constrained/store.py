"""What the host keeps of its constrained calls: specs by hash, decisions whose call id a caller chose, open reviews.

One SQLite file in the host's folder, mode 0600. The ledger has none of it: commitments only (receipts.md section 5).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from weakref import WeakValueDictionary

from agent_host.constrained.loading import spec_from_json
from agent_host.constrained.options import Decision, ReviewCase
from agent_host.constrained.spec import RuntimeAISpec
from agent_host.errors import SpecError
from agent_host.private_store import Column, open_private
from agent_host.providers.protocol import Identity, JsonValue
from agent_host.receipts.commitments import Opening, canonical_bytes
from agent_host.receipts.drafts import DecisionDraft, Verdict

ReviewState: TypeAlias = Literal["waiting", "ruled", "recorded"]

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS specs (spec_hash TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS calls (
    call_id TEXT PRIMARY KEY, asked TEXT NOT NULL, draft TEXT NOT NULL, decision TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reviews (
    call_id TEXT PRIMARY KEY,
    spec_hash TEXT NOT NULL,
    input TEXT,
    proposal TEXT,
    reason TEXT NOT NULL,
    queued_at_ms INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'ruled', 'recorded')),
    verdict TEXT,
    ruling TEXT
);
"""
_ADDED: Final[tuple[Column, ...]] = (
    ("reviews", "output", "TEXT"),
    ("reviews", "refused", "TEXT"),
    ("reviews", "entry_id", "INTEGER"),
)
_REVIEW: Final = (
    "SELECT call_id, spec_hash, input, proposal, reason, queued_at_ms, state, verdict, ruling, output, refused,"
    " entry_id FROM reviews"
)


@dataclass(frozen=True)
class KeptCall:
    """A decision whose call id its caller chose, with the draft that stands, or will stand, on the ledger.

    `openings` are those of the draft's commitments: a crash may come before they are kept where they belong.
    """

    asked: str
    draft: DecisionDraft
    openings: tuple[Opening, ...]
    decision: Decision


@dataclass(frozen=True)
class OpenReview:
    """A case in the queue. `case` is None when this build cannot read what was kept of it, and `problem` says why.

    `ruling` is the L6 draft of the newest verdict, `output` what an amending one put in the model's place, `entry_id`
    its entry once it is `recorded`. A verdict that the writer refused leaves the case waiting, with the reason in
    `refused`.
    """

    call_id: str
    case: ReviewCase | None
    queued_at_ms: int
    state: ReviewState
    verdict: Verdict | None = None
    ruling: Mapping[str, Any] | None = None
    output: JsonValue = None
    refused: str | None = None
    entry_id: int | None = None
    problem: str = ""


class CallStore:
    """The file of one host; several processes may use it at once."""

    def __init__(self, path: Path) -> None:
        """Opens the file, making it when it is missing.

        Raises:
            ConfigurationError: it is no database, or cannot be opened.
        """
        self._connection = open_private(path, _SCHEMA, _ADDED)
        self._kept: set[str] = set()
        self._asking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def keep_spec(self, spec: RuntimeAISpec) -> None:
        """Keeps the bytes of a spec under their hash, so that a past decision can be run again."""
        if spec.spec_hash not in self._kept:
            self._write("INSERT OR IGNORE INTO specs VALUES (?, ?)", spec.spec_hash, spec.spec_bytes)
            self._kept.add(spec.spec_hash)

    def spec(self, spec_hash: str) -> RuntimeAISpec | None:
        """Returns the spec of this hash, None when this host never used one.

        Raises:
            SpecError: the bytes are another build's, or not those that were kept.
        """
        row = self._connection.execute("SELECT body FROM specs WHERE spec_hash = ?", (spec_hash,)).fetchone()
        return None if row is None else spec_from_json(json.loads(row[0]))

    def spec_bodies(self) -> list[tuple[str, bytes]]:
        """Returns hash and bytes of every spec that was kept, as they stand in the file."""
        return self._connection.execute("SELECT spec_hash, body FROM specs ORDER BY spec_hash").fetchall()

    def asking(self, call_id: str) -> asyncio.Lock:
        """Returns what is held while a call id is looked up, asked and kept: one caller of this process at a time."""
        return self._asking.setdefault(call_id, asyncio.Lock())

    def keep_call(self, call: KeptCall) -> bool:
        """Keeps a decision before its entry is appended, so that the same call id gives it again after a crash.

        Returns whether it is the first of its call id: what another process kept meanwhile stays.
        """
        return self._write("INSERT OR IGNORE INTO calls VALUES (?, ?, ?, ?)", *_call_row(call))

    def replace_call(self, call: KeptCall) -> None:
        """Puts a decision in the place of the one its caller kept: it is the same call, which could not be signed."""
        self._write("INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?)", *_call_row(call))

    def was_forgotten(self, call_id: str) -> bool:
        """Tells whether a call id stood for a decision that was forgotten: on the ledger it still does."""
        row = self._connection.execute("SELECT 1 FROM calls WHERE call_id = ? AND asked = ''", (call_id,)).fetchone()
        return row is not None

    def call(self, call_id: str) -> KeptCall | None:
        """Returns the decision that was made under a call id, None when there is none or it was forgotten."""
        row = self._connection.execute(
            "SELECT asked, draft, decision FROM calls WHERE call_id = ? AND asked != ''", (call_id,)
        ).fetchone()
        if row is None:
            return None
        kept = json.loads(row[1])
        draft = DecisionDraft(**{**kept["draft"], "identity": Identity(**kept["draft"]["identity"])})
        openings = (
            Opening(owner, field, bytes.fromhex(key), bytes.fromhex(value))
            for owner, field, key, value in kept["openings"]
        )
        return KeptCall(row[0], draft, tuple(openings), Decision(**json.loads(row[2])))

    def queue(self, case: ReviewCase, at_ms: int) -> None:
        """Puts a case before whoever reviews; durable when it returns, and once for a call id."""
        self.keep_spec(case.spec)
        row = (case.call_id, case.spec.spec_hash, json.dumps(dict(case.input)), json.dumps(case.proposal), case.reason)
        self._write(
            "INSERT OR IGNORE INTO reviews (call_id, spec_hash, input, proposal, reason, queued_at_ms)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            *row,
            at_ms,
        )

    def reviews(self, *states: ReviewState) -> list[OpenReview]:
        """Returns the cases in any of these states, oldest first."""
        rows = self._connection.execute(
            f"{_REVIEW} WHERE state IN (SELECT value FROM json_each(?)) ORDER BY queued_at_ms, call_id",  # noqa: S608
            (json.dumps(states),),
        ).fetchall()
        return [self._review(row) for row in rows]

    def review(self, call_id: str) -> OpenReview | None:
        """Returns the case of a call, None when none was queued."""
        row = self._connection.execute(f"{_REVIEW} WHERE call_id = ?", (call_id,)).fetchone()
        return None if row is None else self._review(row)

    def rule(self, call_id: str, verdict: Verdict, ruling: Mapping[str, Any], output: JsonValue = None) -> bool:
        """Keeps a verdict and its L6 draft; returns whether it is the first: a later one changes nothing."""
        return self._write(
            "UPDATE reviews SET state = 'ruled', verdict = ?, ruling = ?, output = ?, refused = NULL"
            " WHERE call_id = ? AND state = 'waiting'",
            verdict,
            json.dumps(ruling),
            json.dumps(output),
            call_id,
        )

    def recorded(self, call_id: str, entry_id: int) -> None:
        """Marks a verdict as being on the ledger."""
        self._write(
            "UPDATE reviews SET state = 'recorded', entry_id = ? WHERE call_id = ? AND state = 'ruled'",
            entry_id,
            call_id,
        )

    def refused(self, call_id: str, reason: str) -> None:
        """Puts a case whose verdict the writer refused back before whoever reviews, with the reason."""
        self._write(
            "UPDATE reviews SET state = 'waiting', verdict = NULL, output = NULL, refused = ?"
            " WHERE call_id = ? AND state = 'ruled'",
            reason,
            call_id,
        )

    def forget(self, call_id: str) -> int:
        """Erases what was kept of one call, an open case included; returns how many rows that were.

        A verdict that is not on the ledger yet stays until it is, without what it was about: commitments alone. Of a
        call id that a caller chose, the id stays, so that it cannot stand for something else.
        """
        bare = "UPDATE calls SET asked = '', draft = '', decision = '' WHERE call_id = ? AND asked != ''"
        blank = (
            "UPDATE reviews SET input = '{}', proposal = 'null', reason = '', output = NULL"
            " WHERE call_id = ? AND state = 'ruled'"
        )
        with self._connection:
            erased = 0
            for statement in (bare, "DELETE FROM reviews WHERE call_id = ? AND state != 'ruled'", blank):
                erased += self._connection.execute(statement, (call_id,)).rowcount
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return erased

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    def _write(self, statement: str, *values: object) -> bool:
        with self._connection:
            return self._connection.execute(statement, values).rowcount > 0

    def _review(self, row: tuple[Any, ...]) -> OpenReview:
        (
            call_id,
            spec_hash,
            values,
            proposal,
            reason,
            queued_at_ms,
            state,
            verdict,
            ruling,
            output,
            refused,
            entry_id,
        ) = row
        case, problem = None, ""
        try:
            spec = self.spec(spec_hash)
            if spec is not None:
                case = ReviewCase(call_id, spec, json.loads(values), json.loads(proposal), reason)
            else:
                problem = f"the spec {spec_hash} is not kept"
        except (SpecError, ValueError) as error:  # another build's: one such row must not hide the others
            problem = str(error)
        return OpenReview(
            call_id,
            case,
            queued_at_ms,
            state,
            verdict,
            json.loads(ruling) if ruling else None,
            json.loads(output) if output else None,
            refused,
            entry_id,
            problem,
        )


def _call_row(call: KeptCall) -> tuple[str, str, str, str]:
    openings = [(o.owner_id, o.field, o.key.hex(), o.value.hex()) for o in call.openings]
    draft = json.dumps({"draft": asdict(call.draft), "openings": openings})
    return call.draft.call_id, call.asked, draft, json.dumps(asdict(call.decision))


def asked_hash(spec: RuntimeAISpec, values: Mapping[str, JsonValue]) -> str:
    """Names what was asked: the spec and the input, by one hash that stays in this file."""
    return hashlib.sha256(spec.spec_hash.encode() + canonical_bytes(dict(values))).hexdigest()
