"""The figures in a text: numbers, money, percentages and dates, each in every way it may be meant. Pure.

`1,234` is a number with a thousands mark to one writer and a decimal to another; a figure therefore has readings, and
two figures are the same when they share one. What carries digits without being a figure (ids, versions, times of day,
names such as GPT-4) is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final, TypeAlias

Day: TypeAlias = tuple[int | None, int, int]
"""A year, where it is told, a month and a day."""

_MONTHS: Final = (
    ("jan", "january", "januar", "janvier", "enero"),
    ("feb", "february", "februar", "f\u00e9vrier", "febrero"),
    ("mar", "march", "m\u00e4rz", "mars", "marzo"),
    ("apr", "april", "avril", "abril"),
    ("may", "mai", "mayo"),
    ("jun", "june", "juni", "juin", "junio"),
    ("jul", "july", "juli", "juillet", "julio"),
    ("aug", "august", "ao\u00fbt", "agosto"),
    ("sep", "sept", "september", "septembre", "septiembre"),
    ("oct", "october", "okt", "oktober", "octobre", "octubre"),
    ("nov", "november", "novembre", "noviembre"),
    ("dec", "december", "dez", "dezember", "d\u00e9cembre", "diciembre"),
)
_NUMBER_OF: Final = {name: number for number, names in enumerate(_MONTHS, start=1) for name in names}
_MONTH: Final = "(?P<month>" + "|".join(sorted(_NUMBER_OF, key=len, reverse=True)) + r")\b\.?"
_YEAR_AFTER: Final = r"(?:,?\s+(?P<year>\d{4})(?!\d))?"
_DATES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<![\d-])(?P<year>\d{4})-(?P<number>\d{2})-(?P<day>\d{2})(?![\d-])",
        rf"(?<![\d.])(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?{_MONTH}{_YEAR_AFTER}",
        rf"\b{_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?!\d){_YEAR_AFTER}",
        r"(?<![\d./])(?P<day>\d{1,2})[./](?P<number>\d{1,2})[./](?P<year>\d{4})(?![\d./]*\d)",
    )
)
_NO_FIGURE: Final = re.compile(
    r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b"  # a UUID
    r"|T?\b\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?(?:\s?[ap]\.?m\b\.?)?"  # a time of day
    r"|\bT\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?"
    r"|\b\d{1,2}\s?(?:[ap]\.?m\b\.?|Uhr\b)"
    r"|\b\d+(?:\.\d+){2,}\b"  # a version, an address
    r"|\b[^\W\d]+-?\d[\w.-]*",  # a name with digits
    re.IGNORECASE,
)
_RANGE: Final = re.compile(r"(?<=[\d%kKMB])\s?[\u2012-\u2015\u2212-]\s?(?=[$\u20ac\u00a3]?\d)")
_FIGURE: Final = re.compile(
    r"(?<![\w.,])(?P<sign>(?:US)?[$\u20ac\u00a3\u00a5]\s?)?"
    r"(?P<digits>\d{1,3}(?:[\u00a0\u2009\u202f'\u2019 ]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)*)"
    r"(?:\s?(?P<percent>%|percent\b|per cent\b|Prozent\b)"
    r"|\s?(?P<scale>thousand|million|billion|trillion|mio|mrd|bn|tn)\b\.?|(?P<short>[kKMmBT])\b)?"
    r"(?:\s?(?P<unit>USD|EUR|GBP|CHF|JPY|dollars?|euros?|pounds?|cents?|\u20ac|\u00a2))?",
    re.IGNORECASE,
)
_SCALES: Final = {
    "thousand": 3, "k": 3, "million": 6, "mio": 6, "m": 6, "billion": 9, "mrd": 9, "bn": 9, "b": 9, "trillion": 12,
    "tn": 12, "t": 12,
}  # fmt: skip
_MOST_DIGITS: Final = 30
_THOUSANDS: Final = 3


@dataclass(frozen=True)
class Figure:
    """One number as it stands in a text. `telling`: it is money, a share, scaled, or has two digits or more."""

    text: str
    readings: frozenset[Decimal]
    telling: bool


@dataclass(frozen=True)
class Dated:
    """One date as it stands in a text; two days where it is not known which number is the month."""

    text: str
    days: tuple[Day, ...]


@dataclass(frozen=True)
class Figures:
    """What stands in one text."""

    numbers: tuple[Figure, ...]
    dates: tuple[Dated, ...]


def figures_in(text: str) -> Figures:
    """Returns the figures of a text; dates are taken out before numbers are looked for."""
    dates: list[Dated] = []
    for pattern in _DATES:
        rest, end = [], 0
        for match in pattern.finditer(text):
            if days := _days(match):
                dates.append(Dated(match.group().strip(), days))
                rest += [text[end : match.start()], " "]
                end = match.end()
        text = "".join([*rest, text[end:]])
    text = _RANGE.sub(" ", _NO_FIGURE.sub(" ", text))
    return Figures(tuple(_numbers(text)), tuple(dates))


def _numbers(text: str) -> Iterator[Figure]:
    for match in _FIGURE.finditer(text):
        digits = match["digits"]
        readings = _readings(digits)
        scale = match["scale"] or match["short"]
        if scale:
            scaled = {reading.scaleb(_SCALES[scale.lower()]) for reading in readings}
            readings = scaled | readings if scale == "m" else scaled  # `30m` may be minutes
        if (match["unit"] or "").lower() in {"cent", "cents", "\u00a2"}:
            readings = readings | {reading.scaleb(-2) for reading in readings}
        if match["percent"]:
            readings = readings | {reading.scaleb(-2) for reading in readings}
        marked = match["sign"] or match["unit"] or match["percent"] or scale
        telling = bool(marked) or sum(character.isdigit() for character in digits) > 1
        if readings:
            yield Figure(match.group().strip(), frozenset(map(_plain, readings)), telling)


def _readings(digits: str) -> set[Decimal]:
    """Returns what a row of digits with marks can mean; nothing for one too long to be meant as a number."""
    bare = re.sub(r"[\u00a0\u2009\u202f'\u2019 ]", "", digits)
    if len(bare) > _MOST_DIGITS:
        return set()
    marks = [character for character in bare if character in ".,"]
    if not marks:
        return {Decimal(bare)}
    head, _, tail = bare.rpartition(marks[-1])
    decimal = Decimal(re.sub(r"[.,]", "", head) + "." + tail)
    whole = Decimal(re.sub(r"[.,]", "", bare))
    if len(marks) > 1:
        return {whole} if len(set(marks)) == 1 else {decimal}
    return {decimal, whole} if len(tail) == _THOUSANDS and len(head) <= _THOUSANDS else {decimal}


def _plain(value: Decimal) -> Decimal:
    """Returns a number without the zeros that only say how exactly it was written."""
    return value.normalize() + 0


def _days(match: re.Match[str]) -> tuple[Day, ...]:
    told = match.groupdict()
    year = int(told["year"]) if told.get("year") else None
    day = int(told["day"])
    if name := told.get("month"):
        if name == "may" and match.group().startswith(name):
            return ()  # a verb: "may 12 people come"
        return tuple(one for one in ((year, _NUMBER_OF[name.lower()], day),) if _exists(one))
    month = int(told["number"])
    candidates: list[Day] = [(year, month, day)]
    if "-" not in match.group():
        candidates.append((year, day, month))
    return tuple(one for one in dict.fromkeys(candidates) if _exists(one))


def _exists(day: Day) -> bool:
    year, month, number = day
    try:
        date(year or 2000, month, number)  # a leap year, as the year is not told
    except ValueError:
        return False
    return True
