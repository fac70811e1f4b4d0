from datetime import date, datetime

import pytest

from agent_host.providers.offline.results import date_of, failure, moment_of, object_of, rows_of, text_of
from agent_host.providers.offline.routine import Outcome
from tests.agent_host.providers.offline.scenes import ZONE, failed, outcome


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-12-04T09:00:00+01:00", datetime(2026, 12, 4, 9, tzinfo=ZONE)),
        ("2026-12-04T08:00:00Z", datetime(2026, 12, 4, 9, tzinfo=ZONE)),
        ("2026-12-04T09:00:00", datetime(2026, 12, 4, 9, tzinfo=ZONE)),
        ("2026-12-04", datetime(2026, 12, 4, tzinfo=ZONE)),
        (1_796_371_200, datetime(2026, 12, 4, 9, tzinfo=ZONE)),
        (1_796_371_200_000, datetime(2026, 12, 4, 9, tzinfo=ZONE)),
        ("soon", None),
        ("", None),
        (None, None),
        (True, None),
        ([], None),
        (1e300, None),
        (float("nan"), None),
        ("9999-12-31T23:59:59Z", None),
        ("0001-01-01", None),
        (-(10**12), None),
    ],
)
def test_times_are_read_in_any_form_and_bad_ones_read_as_none(value: object, moment: datetime | None) -> None:
    assert moment_of(value, ZONE) == moment  # type: ignore[arg-type]


def test_the_first_field_that_holds_a_time_gives_the_date() -> None:
    row = {"happened_at": None, "created_at": "2026-11-30T23:30:00Z"}
    assert date_of(row, ZONE, "happened_at", "created_at") == date(2026, 12, 1)
    assert date_of("no row", ZONE, "created_at") is None


def test_rows_are_found_under_any_of_their_names_or_bare() -> None:
    assert rows_of(outcome({"entries": [{"id": 1}]}), "results", "entries") == ({"id": 1},)
    assert rows_of(outcome([{"id": 1}, "x", None]), "entries") == ({"id": 1},)
    nothing: tuple[object, ...] = ({"entries": {}}, {"entries": "abc"}, {}, "text", 3, None)
    for data in nothing:
        assert rows_of(outcome(data), "entries") == ()


def test_an_object_is_found_under_its_name_or_bare() -> None:
    assert object_of(outcome({"memory": {"id": 1}}), "memory") == {"id": 1}
    assert object_of(outcome({"id": 1}), "memory") == {"id": 1}
    assert object_of(outcome([1]), "memory") == {}


def test_the_first_field_with_words_is_taken() -> None:
    assert text_of({"body": " ", "snippet": 3, "text": "words"}, "body", "snippet", "text") == "words"
    assert text_of(["x"], "body") == ""


def test_a_failure_gives_the_reason_on_one_line() -> None:
    assert failure(failed("it is\nlocked"), "remember that") == "I could not remember that: it is locked"
    assert failure(failed(""), "remember that") == "I could not remember that: the tool gave no reason"
    structured = Outcome('{"message": "blocked"}', {"message": "blocked"}, is_error=True)
    assert failure(structured, "search") == "I could not search: blocked"
    assert len(failure(failed("x " * 5000), "search")) < 450
