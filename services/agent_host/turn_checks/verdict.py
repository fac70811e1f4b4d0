"""What a check says of one turn, and how often turns pass it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Result:
    """One check of one turn: 1 passed, 0 failed, None when it does not apply; `note` says why in one line."""

    name: str
    value: Literal[0, 1] | None
    note: str


@dataclass(frozen=True)
class Finding:
    """A result without the name of its check, as a check returns it."""

    value: Literal[0, 1] | None
    note: str


@dataclass(frozen=True)
class Rate:
    """How one check went over many turns."""

    name: str
    passed: int
    failed: int
    not_applicable: int

    @property
    def percent(self) -> int | None:
        """Passed turns in percent of those it applied to, rounded down: one failure in any number is never 100."""
        judged = self.passed + self.failed
        return 100 * self.passed // judged if judged else None


def passed(note: str) -> Finding:
    """Returns a pass."""
    return Finding(1, note)


def failed(note: str) -> Finding:
    """Returns a failure."""
    return Finding(0, note)


def not_applicable(note: str) -> Finding:
    """Returns that the check does not apply."""
    return Finding(None, note)


def rates(results: Iterable[Result]) -> list[Rate]:
    """Returns how each check went, in the order first seen."""
    counts: dict[str, list[int]] = {}
    for result in results:
        place = {1: 0, 0: 1, None: 2}[result.value]
        counts.setdefault(result.name, [0, 0, 0])[place] += 1
    return [Rate(name, *count) for name, count in counts.items()]
