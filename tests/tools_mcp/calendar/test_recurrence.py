from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest

from tools_mcp.calendar.recurrence import checked_rule
from tools_mcp.errors import InvalidInputError

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 12, 7, 9, tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("FREQ=WEEKLY;BYDAY=MO", "FREQ=WEEKLY;BYDAY=MO"),
        (" rrule:freq=daily;count=5; ", "FREQ=DAILY;COUNT=5"),
        ("FREQ=WEEKLY;UNTIL=20261231", "FREQ=WEEKLY;UNTIL=20261231T225959Z"),
        ("FREQ=WEEKLY;UNTIL=20260801T080000Z;INTERVAL=1", None),
        ("FREQ=WEEKLY;UNTIL=20261214T080000Z", "FREQ=WEEKLY;UNTIL=20261214T080000Z"),
        ("FREQ=WEEKLY;UNTIL=20261214T090000", "FREQ=WEEKLY;UNTIL=20261214T080000Z"),
        ("FREQ=MONTHLY;BYDAY=1MO", "FREQ=MONTHLY;BYDAY=1MO"),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=5", "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=5"),
        ("FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=7", "FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=7"),
    ],
)
def test_a_good_rule_is_stored_in_one_form(text: str, stored: str | None) -> None:
    if stored is None:
        with pytest.raises(InvalidInputError, match="ends before the event starts"):
            checked_rule(text, MONDAY)
    else:
        assert checked_rule(text, MONDAY) == stored


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("every monday", "no RRULE"),
        ("FREQ=WEEKLY\r\nBEGIN:VEVENT", "no RRULE"),
        ("FREQ=WEEKLY;FREQ=DAILY", "no RRULE"),
        ("BYDAY=MO", "no RRULE"),
        ("FREQ=HOURLY", "FREQ must be one of"),
        ("FREQ=FORTNIGHTLY", "FREQ must be one of"),
        ("FREQ=WEEKLY;COLOUR=RED", "COLOUR is not supported"),
        ("FREQ=DAILY;BYHOUR=9,10", "BYHOUR is not supported"),
        ("FREQ=DAILY;COUNT=3;UNTIL=20270101", "both UNTIL and COUNT"),
        ("FREQ=DAILY;INTERVAL=0", "INTERVAL takes numbers of 1"),
        ("FREQ=DAILY;INTERVAL=1,2", "INTERVAL takes one number"),
        ("FREQ=DAILY;COUNT=-1", "COUNT takes numbers"),
        ("FREQ=MONTHLY;BYMONTHDAY=32", "BYMONTHDAY takes numbers"),
        ("FREQ=MONTHLY;BYMONTHDAY=0", "BYMONTHDAY takes numbers"),
        ("FREQ=YEARLY;BYMONTH=99999999999", "BYMONTH takes numbers"),
        ("FREQ=WEEKLY;BYDAY=XX", "days are MO"),
        ("FREQ=WEEKLY;BYDAY=2MO", "needs FREQ=MONTHLY"),
        ("FREQ=DAILY;UNTIL=20270230", "no date of the calendar"),
        ("FREQ=DAILY;UNTIL=SOON", "UNTIL takes 20261231"),
        ("FREQ=WEEKLY;BYDAY=TU", "start on Tuesday 2026-12-08 or change the rule"),
        ("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", "no date at or after the start"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "start on Tuesday 2028-02-29"),
    ],
)
def test_a_bad_rule_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(InvalidInputError, match=why) as refusal:
        checked_rule(text, MONDAY)

    assert str(refusal.value).endswith(".")
    assert "\n" not in str(refusal.value)


def test_an_all_day_rule_ends_on_a_date() -> None:
    assert checked_rule("FREQ=DAILY;UNTIL=20261224T120000Z", date(2026, 12, 7)) == "FREQ=DAILY;UNTIL=20261224"


def test_a_last_day_counts_as_a_whole_in_the_zone_of_the_event() -> None:
    evening = datetime(2026, 12, 7, 22, tzinfo=ZoneInfo("America/New_York"))

    assert checked_rule("FREQ=DAILY;UNTIL=20261209", evening) == "FREQ=DAILY;UNTIL=20261210T045959Z"
