"""The five blocks of a report: strict JSON in, values out, each broken rule named with its place (agent.md 2.2)."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import date
from difflib import get_close_matches
from itertools import pairwise
from math import isfinite
from typing import Any, cast, get_args

from tools_mcp.reports.model import (
    BlockValue,
    Chart,
    ChartType,
    CompareRow,
    Comparison,
    Metrics,
    Point,
    Source,
    Sources,
    Tile,
    Timeline,
    TimelineEvent,
)
from tools_mcp.reports.run_cost import is_about_run_cost

PREFIX = "prometheus-"
MOST_ITEMS = 200
MOST_TEXT = 2_000

_MOST_WORD = 40
_FEWEST_TILES, _MOST_TILES = 2, 6
_MOST_DIGITS = 20  # longer numbers are none that a page can show; reading them whole takes time
_MONTH = re.compile(r"(\d{4})-(\d{2})")


class BlockError(Exception):
    """A block breaks a rule: which one, where in the block, and what is accepted there."""

    def __init__(self, rule: str, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.rule, self.message, self.line = rule, message, line


def read_block(name: str, text: str) -> BlockValue:
    """Return what a block's text says; `name` is the language of its fence.

    Raises:
        BlockError: The name is not one of the five, the text is no strict JSON, or a rule of the block is broken.
    """
    reader = _READERS.get(name)
    if reader is None:
        raise BlockError("block-name", f"there is no block {name}; use one of: {' '.join(_READERS)}")
    return reader(_strict_json(text))


def looks_like(info: str, text: str) -> str | None:
    """Return the block that a fence of another language was meant to be; None when it is just code."""
    word = info.partition(" ")[0].casefold()
    if len(word) > _MOST_WORD or not text.lstrip().startswith(("[", "{")):
        return None
    near = get_close_matches(word.removeprefix(PREFIX), [name.removeprefix(PREFIX) for name in _READERS], 1, 0.85)
    near = near or get_close_matches(word, list(_READERS), 1, 0.85)
    return PREFIX + near[0].removeprefix(PREFIX) if near else None


def _strict_json(text: str) -> object:
    def refuse(constant: str) -> object:
        raise BlockError("json", f"{constant} is no JSON number")

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        members = dict(pairs)
        if len(members) != len(pairs):
            raise BlockError("json", "a member stands twice in one object")
        return members

    def whole(digits: str) -> float:
        return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)

    try:
        return json.loads(text, parse_constant=refuse, parse_int=whole, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise BlockError("json", f"it is no strict JSON: {error.msg.lower()}", error.lineno) from error
    except RecursionError as error:
        raise BlockError("json", "it is nested too deep") from error


def _metrics(value: object) -> Metrics:
    items = _items(value, "the block")
    if not _FEWEST_TILES <= len(items) <= _MOST_TILES:
        raise BlockError("metrics-count", f"it has {len(items)} tiles; give {_FEWEST_TILES} to {_MOST_TILES}")
    tiles = []
    for place, item in _numbered(items, "tile"):
        members = _object(item, place, ("label", "value"), ("note",))
        tile = Tile(_text(members, "label", place), _text(members, "value", place), _maybe(members, "note", place))
        if is_about_run_cost(tile):
            raise BlockError("metrics-run-cost", f"{place} tells what the run cost; leave it to cost_usd of a source")
        tiles.append(tile)
    return Metrics(tuple(tiles))


def _chart(value: object) -> Chart:
    members = _object(value, "the block", ("type", "title", "series"), ("unit",))
    kind = members["type"]
    if kind not in get_args(ChartType):
        raise BlockError("chart-type", "type is bar or line")
    points = []
    for place, item in _numbered(_items(members["series"], "series"), "point"):
        point = _object(item, place, ("label", "value"), ())
        points.append(Point(_text(point, "label", place), _number(point, "value", place)))
    if not points:
        raise BlockError("chart-series", "series is empty; give at least one label and value")
    values = [point.value for point in points]
    if kind == "bar" and values != sorted(values, reverse=True):
        raise BlockError("chart-order", "the bars are not sorted; put the largest value first")
    title, unit = _text(members, "title", "the block"), _maybe(members, "unit", "the block")
    return Chart(cast("ChartType", kind), title, unit, tuple(points))


def _compare(value: object) -> Comparison:
    members = _object(value, "the block", ("columns", "rows"), ())
    columns = tuple(_plain(one, "columns") for one in _items(members["columns"], "columns"))
    rows = []
    for place, item in _numbered(_items(members["rows"], "rows"), "row"):
        row = _object(item, place, ("name", "cells"), ())
        cells = _items(row["cells"], f"cells of {place}")
        if len(cells) != len(columns):
            raise BlockError("compare-cells", f"{place} has {len(cells)} cells for {len(columns)} columns")
        rows.append(CompareRow(_text(row, "name", place), tuple(_cell(cell, place) for cell in cells)))
    if not columns or not rows:
        raise BlockError("compare-empty", "it needs at least one column and one row")
    return Comparison(columns, tuple(rows))


def _timeline(value: object) -> Timeline:
    events = []
    for place, item in _numbered(_items(value, "the block"), "event"):
        members = _object(item, place, ("date", "event"), ("subject",))
        told = _text(members, "date", place)
        if not _is_date(told):
            raise BlockError("timeline-date", f"{place} has the date {told!r}; give YYYY-MM-DD or YYYY-MM")
        events.append(TimelineEvent(told, _text(members, "event", place), _maybe(members, "subject", place)))
    if not events:
        raise BlockError("timeline-empty", "it needs at least one event")
    for at, (later, earlier) in enumerate(pairwise(events), start=2):
        if earlier.date[: len(later.date)] > later.date[: len(earlier.date)]:
            raise BlockError("timeline-order", f"event {at} is newer than the one before it; put the newest first")
    return Timeline(tuple(events))


def _sources(value: object) -> Sources:
    sources = []
    for place, item in _numbered(_items(value, "the block"), "source"):
        members = _object(item, place, ("title",), ("url", "via", "cost_usd"))
        url = _maybe(members, "url", place)
        if url is not None and not re.fullmatch(r"https?://[^\s<>\"]+", url):
            raise BlockError(
                "sources-url", f"{place} has a url that is not one; give http:// or https:// and no spaces"
            )
        cost = _number(members, "cost_usd", place) if "cost_usd" in members else None
        if cost is not None and cost < 0:
            raise BlockError("sources-cost", f"{place} has a cost below 0")
        sources.append(Source(_text(members, "title", place), url, _maybe(members, "via", place), cost))
    if not sources:
        raise BlockError("sources-empty", "it needs at least one source")
    return Sources(tuple(sources))


_READERS: Mapping[str, Callable[[object], BlockValue]] = {
    "prometheus-metrics": _metrics,
    "prometheus-chart": _chart,
    "prometheus-compare": _compare,
    "prometheus-timeline": _timeline,
    "prometheus-sources": _sources,
}


def _items(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise BlockError("shape", f"{what} is a JSON array")
    if len(value) > MOST_ITEMS:
        raise BlockError("shape", f"{what} has {len(value)} items; give at most {MOST_ITEMS}")
    return value


def _numbered(items: list[Any], word: str) -> list[tuple[str, object]]:
    return [(f"{word} {number}", item) for number, item in enumerate(items, start=1)]


def _object(value: object, place: str, needed: tuple[str, ...], allowed: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BlockError("shape", f"{place} is a JSON object")
    for name in needed:
        if name not in value:
            raise BlockError("shape", f"{place} lacks {name}")
    for name in value:
        if name not in (*needed, *allowed):
            raise BlockError("shape", f"{place} has {name!r}, which is not known; use {' '.join((*needed, *allowed))}")
    return value


def _text(members: Mapping[str, Any], name: str, place: str) -> str:
    return _plain(members[name], f"{name} of {place}")


def _maybe(members: Mapping[str, Any], name: str, place: str) -> str | None:
    return _plain(members[name], f"{name} of {place}") if name in members else None


def _plain(value: object, what: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BlockError("shape", f"{what} is a text that is not empty")
    if len(value) > MOST_TEXT:
        raise BlockError("shape", f"{what} has {len(value)} characters; give at most {MOST_TEXT}")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise BlockError("shape", f"{what} holds half of a surrogate pair")
    return value


def _number(members: Mapping[str, Any], name: str, place: str) -> float:
    value = members[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_small(value):
        raise BlockError("shape", f"{name} of {place} is a plain number")
    return float(value)


def _is_small(value: float) -> bool:
    return isfinite(value) and abs(value) < 1e15 if isinstance(value, float) else abs(value) < 10**15  # noqa: PLR2004 - what a page can show


def _cell(value: object, place: str) -> str | bool | None:
    if value is None or isinstance(value, bool):
        return value
    return _plain(value, f"a cell of {place}")


def _is_date(text: str) -> bool:
    month = _MONTH.fullmatch(text)
    try:
        date.fromisoformat(f"{text}-01" if month else text)
    except ValueError:
        return False
    return bool(month) or re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) is not None
