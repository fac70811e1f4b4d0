"""`grounded_numbers`: the figures of a reply stand in what the turn read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

from agent_host.tracing.results import parsed
from agent_host.tracing.traced_turn import TracedTurn
from agent_host.turn_checks.figures import Dated, Day, Figure, figures_in
from agent_host.turn_checks.prose import plain
from agent_host.turn_checks.verdict import Finding, failed, not_applicable, passed

_FEWEST: Final = 3
_TENTHS: Final = 9  # of ten figures, so many must be found
_SHOWN: Final = 5
_MEMORY: Final = "memory"
_MOST_LEVELS: Final = 40


def grounded_numbers(turn: TracedTurn) -> Finding:
    """Looks each figure of the reply up in what tools returned, in memory and in the message; 9 of 10 must be there.

    The turn's own date, a day more or less, is nobody's claim. What a tool returned counts also as how many it is.
    """
    if turn.is_old:
        return not_applicable("an old trace, whose outputs may be missing")
    asked = _asked(turn)
    if len(asked) < _FEWEST:
        return not_applicable(f"{len(asked)} figures, fewer than {_FEWEST}")
    read = _read(turn)
    missing = [one.text for one in asked if not read.holds(one)]
    note = f"{len(asked) - len(missing)} of {len(asked)} figures found"
    if 10 * len(missing) <= (10 - _TENTHS) * len(asked):
        return passed(note)
    if any(tool.cut for tool in turn.tools):
        return not_applicable(f"{note}, and an output was too long to be traced whole")
    if all(tool.source == _MEMORY for tool in turn.tools if tool.ok):
        where = "read memory alone" if turn.tools or turn.known else "looked nothing up"
        return not_applicable(f"{note}; the turn {where}")
    shown = ", ".join(missing[:_SHOWN]) + (", …" if len(missing) > _SHOWN else "")
    return failed(f"{note}; nowhere: {shown}")


@dataclass
class _Read:
    """Every figure of what a turn read."""

    numbers: set[Decimal] = field(default_factory=set)
    dates: set[Day] = field(default_factory=set)

    def add(self, text: str) -> None:
        found = figures_in(text)
        for figure in found.numbers:
            self.numbers |= figure.readings
        for dated in found.dates:
            self.dates.update(dated.days)
            self.numbers.update(Decimal(part) for day in dated.days for part in day if part is not None)

    def holds(self, one: Figure | Dated) -> bool:
        if isinstance(one, Figure):
            return not self.numbers.isdisjoint(one.readings)
        return any(_same(day, known) for day in one.days for known in self.dates)


def _asked(turn: TracedTurn) -> list[Figure | Dated]:
    """Returns the reply's figures that tell something, each once, without the turn's own date."""
    found = figures_in(plain(turn.reply))
    today = turn.started.date() if turn.started else None
    numbers = {one.readings: one for one in found.numbers if one.telling and not _is_year_of(one, today)}
    dates = {one.days: one for one in found.dates if not _is_near(one, today)}
    return [*numbers.values(), *dates.values()]


def _read(turn: TracedTurn) -> _Read:
    read = _Read()
    read.add(turn.message)
    for tool in turn.tools:
        for text in _texts(tool.output, read, 0):
            read.add(text)
    for entry in turn.known:
        for text in _texts(entry, read, 0):
            read.add(text)
    return read


def _texts(value: Any, read: _Read, level: int) -> Iterator[str]:
    """Yields the texts of an output, of JSON inside JSON too; how many things a list holds is a number as well."""
    if level > _MOST_LEVELS:
        return
    if isinstance(value, str):
        inner = parsed(value)
        if inner is None:
            yield value
        else:
            yield from _texts(inner, read, level + 1)
    elif isinstance(value, Mapping):
        for name, member in value.items():
            yield str(name)
            yield from _texts(member, read, level + 1)
    elif isinstance(value, Sequence):
        read.numbers.add(Decimal(len(value)))
        for item in value:
            yield from _texts(item, read, level + 1)
    elif value is not None:
        yield str(value)


def _same(one: Day, other: Day) -> bool:
    years = {one[0], other[0]} - {None}
    return one[1:] == other[1:] and len(years) <= 1


def _is_near(dated: Dated, today: date | None) -> bool:
    if today is None:
        return False
    near = [today + timedelta(days=days) for days in (-1, 0, 1)]
    return any(_same(day, (one.year, one.month, one.day)) for day in dated.days for one in near)


def _is_year_of(figure: Figure, today: date | None) -> bool:
    return today is not None and figure.readings == {Decimal(today.year)}
