from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from memory_mcp.errors import InvalidArgumentError
from memory_mcp.moments import date_words, parse_moment, shown

BERLIN = ZoneInfo("Europe/Berlin")
NOON_UTC_MS = 1_778_241_600_000  # 2026-05-08T12:00:00Z


@pytest.mark.parametrize(
    ("text", "at_ms", "shown_as", "assumed"),
    [
        ("2026-05-08T12:00:00Z", NOON_UTC_MS, "2026-05-08T12:00:00+00:00", False),
        ("2026-05-08T08:00:00-04:00", NOON_UTC_MS, "2026-05-08T08:00:00-04:00", False),
        ("2026-05-08T14:00", NOON_UTC_MS, "2026-05-08T14:00:00+02:00", True),
        (" 2026-05-08 14:00:00.250 ", NOON_UTC_MS + 250, "2026-05-08T14:00:00+02:00", True),
        ("2026-05-08", NOON_UTC_MS - 14 * 3_600_000, "2026-05-08", False),
    ],
)
def test_a_time_is_read_in_the_configured_zone_unless_it_has_an_offset(
    text: str,
    at_ms: int,
    shown_as: str,
    assumed: bool,
) -> None:
    moment = parse_moment("happened_at", text, BERLIN)

    assert moment is not None
    assert (moment.at_ms, moment.text, moment.zone_assumed) == (at_ms, shown_as, assumed)


@pytest.mark.parametrize("text", [None, "", "  "])
def test_no_text_is_no_moment(text: str | None) -> None:
    assert parse_moment("after", text, BERLIN) is None


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "08.05.2026", "2026-05-08T25:00", "9" * 400, "now\x00"])
def test_what_is_no_time_is_refused_with_one_that_works(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"The after .* is no time; send an RFC 3339 time such as"):
        parse_moment("after", text, BERLIN)


@pytest.mark.parametrize("text", ["0001-01-01", "9999-12-31T23:59:59-23:59"])
def test_the_first_and_the_last_day_can_be_read(text: str) -> None:
    assert parse_moment("after", text, BERLIN) is not None


def test_a_time_is_shown_in_the_configured_zone_with_its_offset() -> None:
    assert shown(NOON_UTC_MS + 999, BERLIN) == "2026-05-08T14:00:00+02:00"


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin", "Pacific/Kiritimati", "Etc/GMT+12"])
@pytest.mark.parametrize("at_ms", [-253_402_300_799_999, 253_402_300_799_999, -62_135_596_800_000, 10**30, -(10**30)])
def test_a_time_that_no_calendar_has_is_shown_as_the_first_or_last(zone: str, at_ms: int) -> None:
    assert shown(at_ms, ZoneInfo(zone))[:4] in {"0001", "9999"}


def test_a_day_is_found_by_its_words() -> None:
    words = "Friday 8 May 2026 2026-05-08"

    assert date_words("2026-05-08") == words
    assert date_words("2026-05-08T23:30:00-11:00") == words
