"""What changed between two reports on one subject, thing by thing instead of line by line."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tools_mcp.reports.model import BlockValue, Chart, Comparison, Metrics, Report, Sources, Timeline

Change: TypeAlias = Literal["added", "removed", "changed"]


@dataclass(frozen=True)
class Difference:
    """One thing that is new, gone or different; `before` and `after` are None where it was not there."""

    what: str
    name: str
    change: Change
    before: str | None
    after: str | None


def differences(old: Report, new: Report) -> tuple[Difference, ...]:
    """Return what changed from one report to the other, in the new one's order; what is gone comes last."""
    before, after = dict(_things(old)), dict(_things(new))
    came = [_difference(key, before.get(key), value) for key, value in after.items() if before.get(key) != value]
    gone = [_difference(key, value, None) for key, value in before.items() if key not in after]
    return (*came, *gone)


def _difference(key: tuple[str, str], before: str | None, after: str | None) -> Difference:
    change: Change = "added" if before is None else "removed" if after is None else "changed"
    return Difference(*key, change, before, after)


def _things(report: Report) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield everything that can be compared: what it is and its name, and what is said of it."""
    yield ("title", "title"), report.title
    for bullet in report.summary:
        yield ("summary", bullet), bullet
    for block in report.blocks():
        yield from _in_block(block.value)


def _in_block(value: BlockValue) -> Iterable[tuple[tuple[str, str], str]]:
    match value:
        case Metrics(tiles):
            return ((("number", one.label), one.value + (f" ({one.note})" if one.note else "")) for one in tiles)
        case Chart(_, title, unit, series):
            return (
                (("chart", f"{title}: {one.label}"), f"{plain_number(one.value)} {unit or ''}".strip())
                for one in series
            )
        case Comparison(columns, rows):
            return (
                (("comparison", f"{one.name}: {column}"), cell_text(cell))
                for one in rows
                for column, cell in zip(columns, one.cells, strict=True)
            )
        case Timeline(events):
            return ((("event", f"{one.date} {one.event}"), one.subject or one.event) for one in events)
        case Sources(sources):
            return ((("source", one.url or one.title), one.title) for one in sources)


def cell_text(cell: str | bool | None) -> str:
    """Return a cell of a comparison in words."""
    words: Mapping[str | bool | None, str] = {True: "yes", False: "no", None: "unknown"}
    return cell if isinstance(cell, str) else words[cell]


def plain_number(value: float) -> str:
    """Return a number without a needless fraction, thousands set apart by commas."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.10g}"
