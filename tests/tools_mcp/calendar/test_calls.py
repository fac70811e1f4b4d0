"""What is kept of calls with an idempotency key."""

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tools_mcp.calendar.calls import Call, Calls, calls_in
from tools_mcp.calendar.model import ImportAnswer
from tools_mcp.errors import ConflictError, InvalidInputError

NOW = datetime(2026, 12, 1, tzinfo=UTC)


class Counter:
    """Something to do that counts how often it was done."""

    def __init__(self) -> None:
        self.done = 0

    def __call__(self) -> tuple[ImportAnswer, str]:
        self.done += 1
        return ImportAnswer(added=self.done), f"done {self.done} times"


@pytest.fixture
def calls(tmp_path: Path) -> Calls:
    return calls_in(tmp_path, lambda: NOW)


def asked(key: str | None = "k1", **arguments: object) -> Call:
    return Call(key, "calendar_import", arguments)


def test_a_call_with_a_key_is_done_once_in_every_process(calls: Calls, tmp_path: Path) -> None:
    act = Counter()
    first = calls.once(asked(content="x"), ImportAnswer, act)

    assert calls.once(asked(content="x", dry_run=None), ImportAnswer, act) == first
    assert calls_in(tmp_path, lambda: NOW).once(asked(content="x"), ImportAnswer, act) == first
    assert act.done == 1
    assert b"k1" not in (tmp_path / ".calls").read_bytes()


def test_without_a_key_everything_is_done_and_nothing_kept(calls: Calls, tmp_path: Path) -> None:
    act = Counter()
    for _ in range(2):
        calls.once(asked(None), ImportAnswer, act)

    assert act.done == 2
    assert list(tmp_path.iterdir()) == []


def test_a_key_with_another_call_is_refused(calls: Calls) -> None:
    calls.once(asked(content="x"), ImportAnswer, Counter())

    with pytest.raises(ConflictError, match="send a new key"):
        calls.once(asked(content="y"), ImportAnswer, Counter())


def test_a_call_that_was_refused_may_be_tried_again(calls: Calls) -> None:
    def refuse() -> tuple[ImportAnswer, str]:
        raise InvalidInputError("no.")

    with pytest.raises(InvalidInputError):
        calls.once(asked(), ImportAnswer, refuse)
    assert calls.once(asked(), ImportAnswer, Counter())[0].added == 1


def test_a_key_is_kept_for_thirty_days(tmp_path: Path) -> None:
    act = Counter()
    for days in (0, 29, 60, 91):
        at = NOW + timedelta(days=days)
        later = calls_in(tmp_path, iter([at] * 4).__next__)
        later.once(asked(f"other {days}"), ImportAnswer, Counter())
        later.once(asked(), ImportAnswer, act)

    assert act.done == 3


def test_a_file_that_cannot_be_used_stops_nothing(calls: Calls, tmp_path: Path) -> None:
    (tmp_path / ".calls").write_bytes(b"no database" * 100)

    assert calls.once(asked(), ImportAnswer, Counter())[1] == "done 1 times"


def test_calls_at_once_with_one_key_are_one(calls: Calls) -> None:
    act, answers = Counter(), []
    threads = [
        threading.Thread(target=lambda: answers.append(calls.once(asked(), ImportAnswer, act))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert act.done == 1
    assert len(answers) == 8
    assert all(answer == answers[0] for answer in answers)
