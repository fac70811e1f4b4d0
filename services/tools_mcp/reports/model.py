"""A report as data: what the v1 format holds (agent.md 2.2), and what can be wrong with one."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

MARKER = "<!-- prometheus-report v1 -->"
"""The first line of a report. A line like it inside a code fence is none."""

SECTIONS = ("Summary", "Findings", "Comparison", "Numbers", "Timeline", "Gaps", "Sources")
"""Every section there is, in the order they stand in; the first and the last are required."""

Severity: TypeAlias = Literal["error", "warning"]
ChartType: TypeAlias = Literal["bar", "line"]


@dataclass(frozen=True)
class Problem:
    """One rule that a report breaks. `line` counts from 1 in the text that was given; `block` names where it is."""

    line: int
    block: str
    rule: str
    message: str
    severity: Severity = "error"


@dataclass(frozen=True)
class Tile:
    """One number that matters, with what it is."""

    label: str
    value: str
    note: str | None


@dataclass(frozen=True)
class Metrics:
    """Two to six tiles."""

    tiles: tuple[Tile, ...]


@dataclass(frozen=True)
class Point:
    """One value of a chart."""

    label: str
    value: float


@dataclass(frozen=True)
class Chart:
    """One series, as bars (largest first) or as a line."""

    type: ChartType
    title: str
    unit: str | None
    series: tuple[Point, ...]


@dataclass(frozen=True)
class CompareRow:
    """One row of a comparison: a text, yes, no or unknown (None) for each column."""

    name: str
    cells: tuple[str | bool | None, ...]


@dataclass(frozen=True)
class Comparison:
    """Things side by side."""

    columns: tuple[str, ...]
    rows: tuple[CompareRow, ...]


@dataclass(frozen=True)
class TimelineEvent:
    """Something that happened; `date` is `YYYY-MM-DD` or `YYYY-MM`."""

    date: str
    event: str
    subject: str | None


@dataclass(frozen=True)
class Timeline:
    """Events, the newest first."""

    events: tuple[TimelineEvent, ...]


@dataclass(frozen=True)
class Source:
    """Where a claim comes from; `via` is the tool that found it."""

    title: str
    url: str | None
    via: str | None
    cost_usd: float | None


@dataclass(frozen=True)
class Sources:
    """Every source of the report."""

    sources: tuple[Source, ...]


BlockValue: TypeAlias = Metrics | Chart | Comparison | Timeline | Sources


@dataclass(frozen=True)
class Block:
    """A fenced block that was understood, and the line its fence opens in."""

    line: int
    name: str
    value: BlockValue


@dataclass(frozen=True)
class Prose:
    """Markdown between blocks."""

    line: int
    markdown: str


@dataclass(frozen=True)
class Broken:
    """A fenced block that could not be read: where and why, and its text, so that nothing is lost."""

    line: int
    name: str
    rule: str
    message: str
    source: str


Part: TypeAlias = Prose | Block | Broken


@dataclass(frozen=True)
class Section:
    """A titled part of a report; what stands before the first one has an empty name."""

    name: str
    line: int
    parts: tuple[Part, ...]

    def blocks(self) -> tuple[Block, ...]:
        """Return the blocks of the section, in order."""
        return tuple(part for part in self.parts if isinstance(part, Block))


@dataclass(frozen=True)
class Report:
    """A report as far as it could be read; `text` runs from the marker to the end of what was given."""

    title: str
    summary: tuple[str, ...]
    sections: tuple[Section, ...]
    text: str

    def blocks(self) -> tuple[Block, ...]:
        """Return every block, in order."""
        return tuple(block for section in self.sections for block in section.blocks())

    def sources(self) -> tuple[Source, ...]:
        """Return every source, in order."""
        found = (block.value for block in self.blocks())
        return tuple(source for value in found if isinstance(value, Sources) for source in value.sources)


@dataclass(frozen=True)
class Reading:
    """What a text holds: a report as far as it can be read, none at all, and every rule that is broken."""

    report: Report | None
    problems: tuple[Problem, ...]

    @property
    def is_valid(self) -> bool:
        """Whether it is a report that breaks no rule; a warning does not count."""
        return self.report is not None and not any(problem.severity == "error" for problem in self.problems)
