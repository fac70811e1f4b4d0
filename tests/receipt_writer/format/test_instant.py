from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from receipt_writer.format.errors import SchemaError
from receipt_writer.format.instant import MAX_MS, is_instant, iso_from_ms


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (1_709_210_096_789, "2024-02-29T12:34:56.789Z"),
        (1_764_607_125_386, "2025-12-01T16:38:45.386Z"),
        (MAX_MS, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_time_has_one_spelling(ms: int, text: str) -> None:
    """RF-9."""
    assert iso_from_ms(ms) == text
    assert is_instant(text)


@pytest.mark.parametrize("ms", [-1, MAX_MS + 1])
def test_times_that_need_another_year_form_are_refused(ms: int) -> None:
    with pytest.raises(SchemaError, match="recordedAtMs must be an integer from 0"):
        iso_from_ms(ms)


@pytest.mark.parametrize(
    "text",
    [
        "2025-12-01T16:38:45.386+00:00",
        "2025-12-01T16:38:45.386z",
        "2025-12-01 16:38:45.386Z",
        "2025-12-01T16:38:45Z",
        "2025-12-01T16:38:45.3860Z",
        "2025-02-30T16:38:45.386Z",
        "2025-12-01T24:00:00.000Z",
        "2025-12-01T23:59:60.000Z",
        "0000-01-01T00:00:00.000Z",
        "1969-12-31T23:59:59.999Z",
        "2025-12-01T16:38:45.386Z\n",
        "\uff12025-12-01T16:38:45.386Z",
    ],
)
def test_other_spellings_and_unreal_times_are_refused(text: str) -> None:
    assert not is_instant(text)


@given(st.integers(0, MAX_MS))
def test_every_spelling_reads_back_as_its_milliseconds(ms: int) -> None:
    text = iso_from_ms(ms)
    moment = datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)
    assert moment.days * 86_400_000 + moment.seconds * 1000 + moment.microseconds // 1000 == ms
    assert is_instant(text)
