"""Days: the words that name one, and the date `dateparser` makes of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from agent_host.providers.offline.times.tokens import (
    Match,
    Token,
    joined_at,
    read_digits,
    read_number,
    word_at,
    words_at,
)

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORT: Mapping[str, str] = {
    "mon": "monday", "tue": "tuesday", "tues": "tuesday", "wed": "wednesday", "weds": "wednesday",
    "thu": "thursday", "thur": "thursday", "thurs": "thursday", "fri": "friday", "sat": "saturday", "sun": "sunday",
}  # fmt: skip
_AMBIGUOUS = ("mon", "sat", "sun", "wed")  # words of their own
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
)  # fmt: skip
_ORDINAL_ENDINGS = ("st", "nd", "rd", "th")
_RELATIVE = (
    ("the day after tomorrow", "day after tomorrow"), ("day after tomorrow", "day after tomorrow"),
    ("the day before yesterday", "day before yesterday"), ("today", "today"), ("tonight", "today"),
    ("tomorrow", "tomorrow"), ("today's", "today"), ("tomorrow's", "tomorrow"),
    ("tmrw", "tomorrow"), ("tomorow", "tomorrow"), ("tommorow", "tomorrow"),
    ("tommorrow", "tomorrow"), ("yesterday", "yesterday"),
)  # fmt: skip
_HOLIDAYS = (
    ("christmas eve", "24 december"), ("christmas day", "25 december"), ("christmas", "25 december"),
    ("boxing day", "26 december"), ("new year's eve", "31 december"), ("new year's day", "1 january"),
    ("valentine's day", "14 february"), ("halloween", "31 october"),
)  # fmt: skip
_WITHOUT_YEAR = re.compile(r"\d+ [a-z]+")  # "1 december", said on that day, is today
_TO = ("to", "until", "till", "through", "-", "\u2013", "\u2014", "and")
_FIRST_YEAR, _LAST_YEAR = 1900, 2200
_LEADS = ("on", "for", "this", "next", "coming", "by", "until", "till", "before", "after", "last", "from", "to")
_LONGEST_MONTH = 31
_DAYS_IN_WEEK = 7


@dataclass(frozen=True)
class Day:
    """Words for one day, in a form `dateparser` reads.

    `weekday` is 0 for Monday when a weekday names the day; `week` then says which one: "" the coming one, "next" the
    one of next week, "last" the one gone, "after" a week later than the coming one. `led` tells that a word such as
    "on" stands before it.
    """

    words: str
    weekday: int | None = None
    week: str = ""
    led: bool = True


@dataclass(frozen=True)
class DayRange:
    """Several days in a row, the last one included."""

    first: Day
    last: Day


def weekday_at(tokens: Sequence[Token], index: int, *, led: bool) -> int | None:
    """Returns 0 for Monday to 6 for Sunday, or None; "sat" or "sun" count only after a word such as "on"."""
    word = word_at(tokens, index).removesuffix("'s")
    name = _SHORT.get(word, word)
    if name not in WEEKDAYS or (word in _AMBIGUOUS and not led):
        return None
    return WEEKDAYS.index(name)


def _weekday(tokens: Sequence[Token], index: int) -> Match[Day]:
    week, at = "", index
    for phrase, meaning in (
        ("a week from", "after"), ("a week on", "after"), ("a week after", "after"), ("on next", "next"),
        ("this coming", ""), ("next", "next"), ("this", ""), ("coming", ""), ("last", "last"), ("past", "last"),
    ):  # fmt: skip
        after = words_at(tokens, index, phrase)
        if after is not None:
            week, at = meaning, after
            break
    led = at != index or word_at(tokens, index - 1) in _LEADS
    day = weekday_at(tokens, at, led=led)
    if day is None:
        return None
    end = at + 1
    if not week:
        later = words_at(tokens, end, "week", "next week")
        week, end = ("after" if word_at(tokens, end) == "week" else "next", later) if later else (week, end)
    return end, Day(WEEKDAYS[day], day, week, led)


def _named(tokens: Sequence[Token], index: int) -> Match[Day]:
    for phrase, words in (*_RELATIVE, *_HOLIDAYS):
        end = words_at(tokens, index, phrase)
        if end is not None:
            return end, Day(words)
    return None


def _counted(tokens: Sequence[Token], index: int) -> Match[Day]:
    """Reads "in three days", "a week from now", "2 weeks ago", "in a month"."""
    led = words_at(tokens, index, "in") or index
    article = word_at(tokens, led) in ("a", "an")
    amount = (led + 1, 1) if article else read_number(tokens, led)
    if amount is None:
        return None
    unit = word_at(tokens, amount[0]).removesuffix("s")
    if unit not in ("day", "week", "fortnight", "month", "year"):
        return None
    count, unit = (amount[1] * 2, "week") if unit == "fortnight" else (amount[1], unit)
    end = amount[0] + 1
    ago = words_at(tokens, end, "ago")
    later = words_at(tokens, end, "from now", "from today", "' time")
    if led == index and ago is None and later is None:
        return None
    words = f"{count} {unit}s ago" if ago else f"in {count} {unit}s"
    return ago or later or end, Day(words)


def _ordinal(tokens: Sequence[Token], index: int) -> Match[int]:
    """Reads the number of a day in a month, with or without its ending; the ending is 1 token of its own."""
    number = read_digits(tokens, index, longest=2)
    if number is None or not 1 <= number <= _LONGEST_MONTH:
        return None
    ending = word_at(tokens, index + 1) in _ORDINAL_ENDINGS and joined_at(tokens, index + 1)
    return (index + 2 if ending else index + 1), number


def _year(tokens: Sequence[Token], index: int) -> tuple[int, str]:
    at = words_at(tokens, index, ",") or index
    value = read_digits(tokens, at)
    return (at + 1, f" {value}") if value is not None and _FIRST_YEAR < value < _LAST_YEAR else (index, "")


def _calendar(tokens: Sequence[Token], index: int) -> Match[Day]:
    """Reads "3 December", "the 15th of January 2027", "Dec 24", "December the 3rd", "the 15th"."""
    at = words_at(tokens, index, "the") or index
    number = _ordinal(tokens, at)
    if number is not None:
        month_at = words_at(tokens, number[0], "of") or number[0]
        if word_at(tokens, month_at) in _MONTHS:
            end, year = _year(tokens, month_at + 1)
            return end, Day(f"{number[1]} {word_at(tokens, month_at)}{year}")
        if number[0] == at + 2:
            end = words_at(tokens, number[0], "of this month", "of the month") or number[0]
            return end, Day(f"{number[1]}th", led=at != index or word_at(tokens, index - 1) in _LEADS)
        return None
    if word_at(tokens, index) not in _MONTHS:
        return None
    after = words_at(tokens, index + 1, "the", ".") or index + 1
    number = _ordinal(tokens, after)
    if number is None or word_at(tokens, number[0]) == ":":
        return None
    end, year = _year(tokens, number[0])
    return end, Day(f"{number[1]} {word_at(tokens, index)}{year}")


def _numeric(tokens: Sequence[Token], index: int) -> Match[Day]:
    """Reads "2026-12-04", "4.12.2026", "04/12/2026" and "4/12" (the day first, unless the year leads)."""
    sign = word_at(tokens, index + 1)
    if sign not in ("-", "/", ".") or not all(joined_at(tokens, index + step) for step in (1, 2)):
        return None
    first, second = (read_digits(tokens, at) for at in (index, index + 2))
    third = read_digits(tokens, index + 4) if word_at(tokens, index + 3) == sign else None
    if first is None or second is None or (third is None and sign != "/"):
        return None
    if third is None and not (first <= _LONGEST_MONTH and second <= 12):  # noqa: PLR2004 - months
        return None
    end = index + 3 if third is None else index + 5
    if word_at(tokens, end) == "t" and joined_at(tokens, end):
        end += 1
    parts = (first, second) if third is None else (first, second, third)
    return end, Day(sign.join(str(part) for part in parts))


def read_day(tokens: Sequence[Token], index: int) -> Match[Day]:
    """Reads the words for one day that start at an index."""
    for reader in (_named, _weekday, _counted, _numeric, _calendar):
        found = reader(tokens, index)
        if found is not None:
            return found
    return None


def _joiner(tokens: Sequence[Token], index: int, *, led: bool) -> int | None:
    """Returns the index after the word between two days; "and" is one only after "between" or "from"."""
    word = word_at(tokens, index)
    return index + 1 if word in _TO and (word != "and" or led) else None


def read_day_range(tokens: Sequence[Token], index: int) -> Match[DayRange]:
    """Reads "from 10 to 12 December", "December 10-12", "from Monday to Wednesday"."""
    led = words_at(tokens, index, "from", "between")
    at = led or words_at(tokens, index, "on", "for") or index
    number = _ordinal(tokens, at)
    joint = _joiner(tokens, number[0], led=led is not None) if number is not None else None
    if number is not None and joint is not None:
        last = _calendar(tokens, joint)
        if last is None or " " not in last[1].words:
            return None
        return last[0], DayRange(Day(f"{number[1]} {last[1].words.partition(' ')[2]}"), last[1])
    first = read_day(tokens, at)
    joint = _joiner(tokens, first[0], led=led is not None) if first is not None else None
    if first is None or joint is None:
        return None
    last = read_day(tokens, joint) or _same_month(tokens, joint, first[1])
    return (last[0], DayRange(first[1], last[1])) if last is not None else None


def _same_month(tokens: Sequence[Token], index: int, first: Day) -> Match[Day]:
    """Reads the bare number that ends "December 10-12"."""
    number = _ordinal(tokens, index)
    month = first.words.partition(" ")[2]
    if number is None or month.partition(" ")[0] not in _MONTHS or word_at(tokens, number[0]) in (":", "am", "pm"):
        return None
    return number[0], Day(f"{number[1]} {month}")


def parse_date(words: str, today: date) -> date | None:
    """Asks `dateparser` for the date, future ones first; None for one that does not exist or is centuries away."""
    import dateparser  # 0.14 s: loaded at the first date

    base = datetime.combine(today, time())
    settings = {"RELATIVE_BASE": base, "PREFER_DATES_FROM": "future", "DATE_ORDER": "DMY"}
    found: datetime | None = dateparser.parse(words, languages=["en"], settings=settings)
    if found is None or not _FIRST_YEAR < found.year < _LAST_YEAR:
        return None
    in_a_year = (found.year, found.month, found.day) == (today.year + 1, today.month, today.day)
    return today if in_a_year and _WITHOUT_YEAR.fullmatch(words) else found.date()


def resolve_day(day: Day, today: date) -> date | None:
    """Returns the date that words mean on a day; None when there is no such date.

    A weekday named on that very weekday means today; `events` moves it a week when its time has passed.
    """
    if day.weekday is None:
        return parse_date(day.words, today)
    if day.week == "last":
        return parse_date(f"last {day.words}", today)
    found = today if today.weekday() == day.weekday else parse_date(day.words, today)
    if found is None:
        return None
    if day.week == "next":
        monday = today - timedelta(days=today.weekday())
        return found + timedelta(weeks=1) if found < monday + timedelta(days=_DAYS_IN_WEEK) else found
    return found + timedelta(weeks=1) if day.week == "after" else found


def resolve_range(days: DayRange, today: date) -> tuple[date, date] | None:
    """Returns the first and the last day; None when one does not exist or the last comes first."""
    first, last = resolve_day(days.first, today), resolve_day(days.last, today)
    if first is None or last is None:
        return None
    if last < first and days.last.weekday is not None:  # "from Thursday to Monday"
        last += timedelta(weeks=1)
    return (first, last) if first <= last else None
