"""What changed between two reports on one subject, thing by thing instead of line by line."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tools_mcp.reports.model import (
    BlockValue,
    Broken,
    Chart,
    Comparison,
    Metrics,
    Prose,
    Report,
    Section,
    Source,
    Sources,
    Timeline,
)
from tools_mcp.reports.numbers import dollars, plain_number

Change: TypeAlias = Literal["added", "removed", "changed"]
_Thing: TypeAlias = tuple[tuple[str, str], str]

_RULE_OF_TABLE = re.compile(r"[\s|:-]+")
_LISTED = re.compile(r"[|>]|[-*+]\s|\d+[.)]\s")


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
    before, after = dict(_numbered(_things(old))), dict(_numbered(_things(new)))
    came = [_difference(key, before.get(key), value) for key, value in after.items() if before.get(key) != value]
    gone = [_difference(key, value, None) for key, value in before.items() if key not in after]
    return (*came, *gone)


def _difference(key: tuple[str, str], before: str | None, after: str | None) -> Difference:
    change: Change = "added" if before is None else "removed" if after is None else "changed"
    return Difference(*key, change, before, after)


def _numbered(things: Iterable[_Thing]) -> Iterator[_Thing]:
    """Number the things that have one name, so that none stands for another."""
    seen: Counter[tuple[str, str]] = Counter()
    for (what, name), value in things:
        seen[what, name] += 1
        count = seen[what, name]
        yield (what, name if count == 1 else f"{name} ({count})"), value


def _things(report: Report) -> Iterator[_Thing]:
    """Yield everything that can be compared: what it is and its name, and what is said of it."""
    yield ("title", "title"), report.title
    for section in report.sections:
        yield ("section", section.name), section.name
        yield from _in_section(section)


def _in_section(section: Section) -> Iterator[_Thing]:
    what = "summary" if section.name == "Summary" else "text"
    for part in section.parts:
        if isinstance(part, Prose):
            for name, told in _in_prose(part.markdown):
                yield (what, name if what == "summary" else f"{section.name}: {name}"), told
        elif isinstance(part, Broken):
            yield ("unreadable block", section.name), part.source
        else:
            yield from _in_block(part.value)


def _in_prose(markdown: str) -> Iterator[tuple[str, str]]:
    """Yield the rows of a table by their first cell, the items of a list, and any other text as one."""
    lines = [" ".join(line.split()) for line in markdown.split("\n") if line.strip()]
    if not lines or not _LISTED.match(lines[0]):
        yield " ".join(lines), " ".join(lines)
        return
    is_table = lines[0].startswith("|")
    for line in lines:
        if is_table and not _RULE_OF_TABLE.fullmatch(line):
            yield line.strip("|").split("|")[0].strip(), line
        elif not is_table:
            item = line[_ends(line) :]
            yield item, item


def _ends(line: str) -> int:
    mark = re.match(r"(?:[-*+]|\d+[.)])\s+", line)
    return mark.end() if mark else 0


def _in_block(value: BlockValue) -> Iterable[_Thing]:
    match value:
        case Metrics(tiles):
            return ((("number", one.label), one.value + (f" ({one.note})" if one.note else "")) for one in tiles)
        case Chart():
            return _in_chart(value)
        case Comparison(columns, rows):
            return (
                (("comparison", f"{one.name}: {column}"), cell_text(cell))
                for one in rows
                for column, cell in zip(columns, one.cells, strict=True)
            )
        case Timeline(events):
            return ((("event", f"{one.date} {one.event}"), one.subject or one.event) for one in events)
        case Sources(sources):
            return ((("source", one.url or one.title), _source_text(one)) for one in sources)


def _in_chart(chart: Chart) -> Iterator[_Thing]:
    yield ("chart", chart.title), f"{chart.type}{f', {chart.unit}' if chart.unit else ''}"
    for one in chart.series:
        yield ("chart", f"{chart.title}: {one.label}"), f"{plain_number(one.value)} {chart.unit or ''}".strip()


def _source_text(source: Source) -> str:
    via = f", via {source.via}" if source.via else ""
    return f"{source.title}{via}{'' if source.cost_usd is None else f', {dollars(source.cost_usd)}'}"


def cell_text(cell: str | bool | None) -> str:
    """Return a cell of a comparison in words."""
    words: Mapping[str | bool | None, str] = {True: "yes", False: "no", None: "unknown"}
    return cell if isinstance(cell, str) else words[cell]
