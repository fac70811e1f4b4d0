"""What a reader would ask of a report beyond its form: units, dates, and sources that were really read.

Only what can be checked by rule is checked; each finding is a warning, for the writer to judge.
"""

import re
from collections.abc import Collection, Iterator
from urllib.parse import urlsplit

from tools_mcp.reports.model import Block, Chart, Metrics, Problem, Prose, Report, Source, Sources, Tile

_DIGIT = re.compile(r"\d")
_BARE_NUMBER = re.compile(r"[\s\d.,+\-\u2212~≈<>≤≥]*")
_YEAR = re.compile(r"\b(?:19|20)\d{2}\b")
_DATED = re.compile(
    r"(?:[(,/;]\s*|\b(?:in|of|for|since|by|until|from|at|end|late|early|mid|fy|q[1-4]|h[12]|[a-z]*(?:jan|feb|mar|apr|may|jun"
    r"|jul|aug|sep|oct|nov|dec)[a-z]*)[\s.-]*)(?:19|20)\d{2}\b|\b(?:19|20)\d{2}-(?:0[1-9]|1[0-2])\b",
    re.IGNORECASE,
)
"""A year in a value, which has digits of its own: `2000 units` is none."""
_ADDRESS = re.compile(r"https?://[^\s<>\"'()\[\]|`]+(?:\([^\s<>\"'()\[\]|`]*\)[^\s<>\"'()\[\]|`]*)*", re.IGNORECASE)


def questions(report: Report, seen: Collection[str] | None) -> tuple[Problem, ...]:
    """Return the warnings about a report; `seen` are the addresses that were fetched for it, None when nobody knows."""
    fetched = None if seen is None else {same_page(one) for one in seen}
    about_blocks = (problem for block in report.blocks() for problem in _about(block, fetched))
    return (*about_blocks, *_about_links(report, fetched))


def same_page(url: str) -> str:
    """Return the form of an address in which two spellings of one page are equal."""
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").removeprefix("www."), parts.port
    except ValueError:
        return url.strip()
    shown_port = "" if port in {None, 80, 443} else f":{port}"
    path = parts.path.rstrip("/")
    return f"{host}{shown_port}{path}" + (f"?{parts.query}" if parts.query else "")


def _about(block: Block, fetched: Collection[str] | None) -> Iterator[Problem]:
    match block.value:
        case Metrics(tiles):
            for tile in tiles:
                yield from _about_tile(block, tile)
        case Chart(_, title, None, _):
            yield _warning(block, "number-unit", f"the chart {title!r} has no unit")
        case Sources(sources):
            for source in sources:
                yield from _about_source(block, source, fetched)
        case _:
            return


def _about_tile(block: Block, tile: Tile) -> Iterator[Problem]:
    if not _DIGIT.search(tile.value):
        return
    if _BARE_NUMBER.fullmatch(tile.value):
        yield _warning(block, "number-unit", f"{tile.label!r} has a number without a unit")
    if not _YEAR.search(f"{tile.label} {tile.note or ''}") and not _DATED.search(tile.value):
        yield _warning(block, "number-date", f"{tile.label!r} has a number without a date; give it in note")


def _about_links(report: Report, fetched: Collection[str] | None) -> Iterator[Problem]:
    """Ask about the links in running text: they are sources as much as those in the block."""
    if fetched is None:
        return
    for section in report.sections:
        for part in section.parts:
            if isinstance(part, Prose):
                for at, line in enumerate(part.markdown.split("\n")):
                    for url in (found.rstrip(".,;:!?*_") for found in _ADDRESS.findall(line)):
                        if same_page(url) not in fetched:
                            told = f"{url} was never fetched in this turn"
                            yield Problem(part.line + at, section.name or "report", "source-unseen", told, "warning")


def _about_source(block: Block, source: Source, fetched: Collection[str] | None) -> Iterator[Problem]:
    if source.url is None and source.via is None:
        yield _warning(block, "source-place", f"{source.title!r} has neither url nor via")
    if fetched is not None and source.url is not None and same_page(source.url) not in fetched:
        yield _warning(block, "source-unseen", f"{source.url} was never fetched in this turn")


def _warning(block: Block, rule: str, message: str) -> Problem:
    return Problem(block.line, block.name, rule, message, "warning")
