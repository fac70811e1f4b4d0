"""What a reader would ask of a report beyond its form: units, dates, and sources that were really read.

Only what can be checked by rule is checked; each finding is a warning, for the writer to judge.
"""

import re
from collections.abc import Collection, Iterator
from urllib.parse import urlsplit

from tools_mcp.reports.model import Block, Chart, Metrics, Problem, Report, Source, Sources, Tile

_DIGIT = re.compile(r"\d")
_BARE_NUMBER = re.compile(r"[\s\d.,+\-\u2212~≈<>≤≥]*")
_YEAR = re.compile(r"\b(19|20)\d{2}\b")


def questions(report: Report, seen: Collection[str] | None) -> tuple[Problem, ...]:
    """Return the warnings about a report; `seen` are the addresses that were fetched for it, None when nobody knows."""
    fetched = None if seen is None else {same_page(one) for one in seen}
    return tuple(problem for block in report.blocks() for problem in _about(block, fetched))


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
    if not _YEAR.search(f"{tile.label} {tile.value} {tile.note or ''}"):
        yield _warning(block, "number-date", f"{tile.label!r} has a number without a date; give it in note")


def _about_source(block: Block, source: Source, fetched: Collection[str] | None) -> Iterator[Problem]:
    if source.url is None and source.via is None:
        yield _warning(block, "source-place", f"{source.title!r} has neither url nor via")
    if fetched is not None and source.url is not None and same_page(source.url) not in fetched:
        yield _warning(block, "source-unseen", f"{source.url} was never fetched in this turn")


def _warning(block: Block, rule: str, message: str) -> Problem:
    return Problem(block.line, block.name, rule, message, "warning")
