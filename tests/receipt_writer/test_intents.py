from __future__ import annotations

import json
from typing import Any

import pytest

from receipt_writer.format.entry import check_draft
from receipt_writer.format.errors import EncodingError, SchemaError
from receipt_writer.intents import (
    DEFAULT_DEADLINE_MS,
    DecisionSpan,
    agrees_with_entry,
    check_intent,
    decode_intent,
    encode_intent,
    interrupted_draft,
    is_late_report,
)
from tests.receipt_writer.parts import intent, turn


def test_an_intent_survives_the_journal() -> None:
    one = intent(1, product_id='a\n"b" é', deadline_ms=5, started_at_ms=7, host="12.34")
    assert decode_intent(encode_intent(one)) == one
    assert b"\n" not in encode_intent(one)


DEEP = b"[" * 100_000


@pytest.mark.parametrize("line", [b"", b"{}", b"[]", b"null", b'{"turnId":1', b"\0\0\0\0", b"\xff", DEEP])
def test_a_damaged_journal_line_is_no_intent(line: bytes) -> None:
    assert decode_intent(line) is None


@pytest.mark.parametrize(
    "change",
    [
        {"turnId": 1},
        {"gateway": 7},
        {"modelId": None},
        {"deadlineMs": "5"},
        {"deadlineMs": 1.5},
        {"startedAtMs": None},
        {"startedAtMs": True},
        {"host": 5},
    ],
)
def test_a_journal_line_of_other_types_is_no_intent(change: dict[str, Any]) -> None:
    members = json.loads(encode_intent(intent(1, started_at_ms=7)))
    assert decode_intent(json.dumps(members).encode()) is not None
    assert decode_intent(json.dumps(members | change).encode()) is None


def test_an_interrupted_draft_says_only_what_was_known_when_the_turn_began() -> None:
    draft = interrupted_draft(intent(3), DecisionSpan(2, 5, 9))
    check_draft("L10", "v2", draft)
    assert draft["outcome"] == "interrupted"
    assert draft["replyHash"] == "0" * 64
    assert draft["traceHash"] == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert draft["decisions"] == {"n": 2, "firstId": 5, "lastId": 9}
    assert (draft["tools"], draft["iterations"], draft["totalMicroUsd"]) == ([], 0, 0)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"turn_id": "t_1"}, "turnId"),
        ({"session_id": ""}, "sessionId"),
        ({"gateway": "carrier-pigeon"}, "gateway"),
        ({"input_hash": "A" * 64}, "inputHash"),
        ({"commitment": "md5"}, "commitment"),
        ({"deadline_ms": -1}, "deadlineMs"),
    ],
)
def test_an_intent_that_could_not_become_an_entry_is_refused_at_once(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(SchemaError, match=named):
        check_intent(intent(1, **changes))


def test_an_intent_too_large_for_an_entry_is_refused_at_once() -> None:
    with pytest.raises(EncodingError, match="4096"):
        check_intent(intent(1, product_id="x" * 5000))


@pytest.mark.parametrize(("deadline_ms", "silent_after_ms"), [(0, DEFAULT_DEADLINE_MS), (1500, 1500)])
def test_a_turn_is_silent_once_its_deadline_has_passed(deadline_ms: int, silent_after_ms: int) -> None:
    one = intent(1, deadline_ms=deadline_ms, started_at_ms=1000)
    assert not one.is_silent_at(1000 + silent_after_ms - 1)
    assert one.is_silent_at(1000 + silent_after_ms)


@pytest.mark.parametrize(
    ("member", "value"),
    [("sessionId", "s_1"), ("gateway", "api"), ("productId", "x"), ("inputHash", "5" * 64), ("commitment", "sha256")],
)
def test_an_intent_agrees_with_the_entry_of_its_own_turn_only(member: str, value: str) -> None:
    assert agrees_with_entry(intent(1), turn(1))
    assert not agrees_with_entry(intent(1), turn(1) | {member: value})


def test_a_report_is_late_when_the_writer_itself_gave_its_turn_up() -> None:
    assert is_late_report(interrupted_draft(intent(1), DecisionSpan(2, 5, 9)), turn(1))
    assert not is_late_report(turn(1), turn(1, outcome="failed"))


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "failed"},
        {"iterations": 1},
        {"replyHash": "5" * 64},
        {"traceHash": "5" * 64},
        {"totalMicroUsd": 1},
        {"tools": [{"tool": "notes", "provider": "files", "status": "ok", "n": 1, "costMicroUsd": None}]},
        {"memory": {"searches": 1, "used": 0, "kept": 0, "unsent": 0, "reportId": None}},
    ],
)
def test_what_a_host_reported_as_interrupted_makes_no_room_for_another_report(change: dict[str, Any]) -> None:
    assert not is_late_report(interrupted_draft(intent(1), DecisionSpan()) | change, turn(1))
