"""Turns that began and have not reported yet: silence must leave a trace (spec section 10, "Intent first")."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from receipt_writer.format.digest import ZERO_HASH, sha256_hex
from receipt_writer.format.entry import check_draft
from receipt_writer.format.errors import FormatError, SchemaError

TURN_LAYER = "L10"
FORM = "v2"
"""The form of every entry that is written today."""
DEFAULT_DEADLINE_MS = 3_600_000
"""One hour: how long a turn may be silent when its caller names no deadline."""

MOST_DEADLINE_MS = 604_800_000
"""Seven days: how long a turn may be silent at most."""
MOST_OPEN_TURNS = 10_000
"""How many turns may be open at once."""


@dataclass(frozen=True)
class Intent:
    """What is known of a turn when it begins: enough to record that it was interrupted.

    `deadline_ms` is a duration; 0 stands for the default. The writer adds `started_at_ms`, by its clock, and `host`:
    which process it worked for, "" when it serves whoever connects.
    """

    turn_id: str
    session_id: str
    gateway: str
    product_id: str
    input_hash: str
    commitment: str
    model_id: str
    deadline_ms: int = 0
    started_at_ms: int = 0
    host: str = ""

    def is_silent_at(self, now_ms: int) -> bool:
        """Say whether the turn should have reported by now."""
        return now_ms - self.started_at_ms >= (self.deadline_ms or DEFAULT_DEADLINE_MS)


@dataclass(frozen=True)
class DecisionSpan:
    """The decisions of one turn: how many, and the first and last of their ids (0 when there are none)."""

    n: int = 0
    first_id: int = 0
    last_id: int = 0


def interrupted_draft(intent: Intent, decisions: DecisionSpan) -> dict[str, object]:
    """Return the L10 draft of a turn that never reported: what it began with, and zeros for what nobody knows."""
    usage = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "costMicroUsd")
    return {
        "productId": intent.product_id,
        "turnId": intent.turn_id,
        "sessionId": intent.session_id,
        "gateway": intent.gateway,
        "outcome": "interrupted",
        "iterations": 0,
        "inputHash": intent.input_hash,
        "replyHash": ZERO_HASH,
        "model": {"id": intent.model_id, **dict.fromkeys(usage, 0), "estimated": False, "calls": []},
        "tools": [],
        "memory": {"searches": 0, "used": 0, "kept": 0, "unsent": 0, "reportId": None},
        "decisions": {"n": decisions.n, "firstId": decisions.first_id, "lastId": decisions.last_id},
        "totalMicroUsd": 0,
        "traceHash": sha256_hex(b""),
        "commitment": intent.commitment,
    }


def is_late_report(recorded: Mapping[str, object], draft: Mapping[str, object]) -> bool:
    """Say whether a draft is the true report of a turn that the writer had to record as interrupted.

    A report may come late, out of a host's spool. It costs no receipt: it is appended as a further entry of the turn,
    and both stand (RF-24). Only the writer's own words make room for another,
    and only for a report that keeps to what the beginning said.
    """
    if recorded.get("outcome") != "interrupted" or draft.get("outcome") == "interrupted":
        return False
    began = _beginning_of(recorded)
    return recorded == _given_up(began, recorded) and agrees_with_entry(began, draft)


def check_intent(intent: Intent) -> None:
    """Accept an intent only when an interrupted entry could be made of it later, since nobody is asked then.

    Raises:
        SchemaError: A member breaks the L10 table, or the deadline is negative or more than seven days.
        EncodingError: A string is too long.
    """
    if not 0 <= intent.deadline_ms <= MOST_DEADLINE_MS:
        raise SchemaError("deadlineMs", f"a number of milliseconds up to {MOST_DEADLINE_MS}, 0 for the default")
    check_draft(TURN_LAYER, FORM, interrupted_draft(intent, DecisionSpan()))


def agrees_with_entry(intent: Intent, fields: Mapping[str, object]) -> bool:
    """Say whether a turn's report, recorded or not, can be the one of the turn that this intent began."""
    return (
        fields.get("sessionId") == intent.session_id
        and fields.get("gateway") == intent.gateway
        and fields.get("productId") == intent.product_id
        and fields.get("inputHash") == intent.input_hash
        and fields.get("commitment") == intent.commitment
    )


def encode_intent(intent: Intent) -> bytes:
    """Return the journal's line, without its line break."""
    members = {
        "turnId": intent.turn_id,
        "sessionId": intent.session_id,
        "gateway": intent.gateway,
        "productId": intent.product_id,
        "inputHash": intent.input_hash,
        "commitment": intent.commitment,
        "modelId": intent.model_id,
        "deadlineMs": intent.deadline_ms,
        "startedAtMs": intent.started_at_ms,
        "host": intent.host,
    }
    return json.dumps(members, separators=(",", ":"), ensure_ascii=False).encode()


def decode_intent(line: bytes, *, is_ours: bool = False) -> Intent | None:
    """Return the intent of a journal line, None when the line is damaged or no entry could be made of it.

    A line that `is_ours` by its signature was checked before it was signed; ten thousand of them are read in a start.
    """
    try:
        members = json.loads(line)
        intent = Intent(
            turn_id=members["turnId"],
            session_id=members["sessionId"],
            gateway=members["gateway"],
            product_id=members["productId"],
            input_hash=members["inputHash"],
            commitment=members["commitment"],
            model_id=members["modelId"],
            deadline_ms=min(members["deadlineMs"], MOST_DEADLINE_MS),  # a former version took any
            started_at_ms=members["startedAtMs"],
            host=members["host"],
        )
        if not is_ours:
            check_intent(intent)
    except (ValueError, KeyError, TypeError, RecursionError, FormatError):
        return None
    is_typed = type(intent.started_at_ms) is int and type(intent.deadline_ms) is int and type(intent.host) is str
    return intent if is_typed else None


def _beginning_of(recorded: Mapping[str, object]) -> Intent:
    """Return what the start of a recorded turn must have said."""
    model = recorded["model"]
    return Intent(
        turn_id=str(recorded["turnId"]),
        session_id=str(recorded["sessionId"]),
        gateway=str(recorded["gateway"]),
        product_id=str(recorded["productId"]),
        input_hash=str(recorded["inputHash"]),
        commitment=str(recorded["commitment"]),
        model_id=str(model["id"]) if isinstance(model, Mapping) else "",
    )


def _given_up(began: Intent, recorded: Mapping[str, object]) -> dict[str, object]:
    """Return the writer's own `interrupted` draft of a turn, over the decisions that a recorded one names."""
    return interrupted_draft(began, DecisionSpan()) | {"decisions": recorded["decisions"]}
