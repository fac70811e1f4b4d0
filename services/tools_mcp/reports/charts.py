"""Charts as SVG drawn by hand: real axes and labels, no script, readable without colour (title, text and table)."""

import math
from collections.abc import Sequence
from html import escape

from tools_mcp.reports.comparing import plain_number
from tools_mcp.reports.model import Chart, Point

_WIDTH = 640
_BAR, _GAP = 22, 12
_LABEL, _VALUE = 190, 80  # room for a bar's label on the left and its value on the right
_HEIGHT, _TOP, _BOTTOM, _SIDE = 260, 16, 52, 72
_TICKS = 4
_MOST_LABELS = 12
_NARROW = 9  # characters that may stand centred under the first and the last point
_SHOWN = 21  # characters of a label; the table below has it whole


def chart_svg(chart: Chart) -> str:
    """Return the chart as one SVG element; every text in it is escaped."""
    drawn = _bars(chart) if chart.type == "bar" else _line(chart)
    height, body = drawn
    name = escape(f"{chart.title}{f', {chart.unit}' if chart.unit else ''}")
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{name}">'
        f"<title>{name}</title>{body}</svg>"
    )


def ticks(low: float, high: float) -> list[float]:
    """Return round values that reach from at most `low` to at least `high`, about four steps apart."""
    span = high - low or abs(high) or 1.0
    rough = span / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def _bars(chart: Chart) -> tuple[int, str]:
    values = [point.value for point in chart.series]
    low, high = min(0.0, *values), max(0.0, *values)
    scale = (_WIDTH - _LABEL - _VALUE) / ((high - low) or 1.0)
    zero = _LABEL - low * scale
    parts = []
    for at, point in enumerate(chart.series):
        top = at * (_BAR + _GAP) + _GAP
        left, width = zero + min(0.0, point.value) * scale, abs(point.value) * scale
        middle = top + _BAR / 2
        parts.append(_text(_LABEL - 10, middle, _short(point.label), "end"))
        parts.append(f'<rect class="bar" x="{left:.1f}" y="{top}" width="{max(width, 1):.1f}" height="{_BAR}" rx="2"/>')
        parts.append(_text(zero + max(0.0, point.value) * scale + 8, middle, plain_number(point.value), "start"))
    height = len(values) * (_BAR + _GAP) + _GAP
    parts.append(f'<line class="axis" x1="{zero:.1f}" y1="4" x2="{zero:.1f}" y2="{height - 4}"/>')
    return height, "".join(parts)


def _line(chart: Chart) -> tuple[int, str]:
    values = [point.value for point in chart.series]
    marks = ticks(min(values), max(values))
    low, high = marks[0], marks[-1]
    across = (_WIDTH - _SIDE - 36) / max(len(values) - 1, 1)

    def place(at: int, value: float) -> tuple[float, float]:
        return _SIDE + at * across, _TOP + (high - value) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)

    parts = []
    for mark in marks:
        _, y = place(0, mark)
        parts.append(f'<line class="grid" x1="{_SIDE}" y1="{y:.1f}" x2="{_WIDTH - 16}" y2="{y:.1f}"/>')
        parts.append(_text(_SIDE - 10, y, plain_number(round(mark, 10)), "end"))
    spots = [place(at, value) for at, value in enumerate(values)]
    parts.append(f'<polyline class="line" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in spots)}"/>')
    parts += [f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in spots]
    parts += [_text(spots[at][0], _HEIGHT - _BOTTOM + 24, label, anchor) for at, label, anchor in _below(chart.series)]
    return _HEIGHT, "".join(parts)


def _below(series: Sequence[Point]) -> list[tuple[int, str, str]]:
    """Return the labels under a line that fit beside one another; the first and the last are always among them."""
    room = max(2, min(_MOST_LABELS, _WIDTH // (8 * max(len(_short(point.label)) for point in series) + 16)))
    last = len(series) - 1
    chosen = sorted({round(number * last / max(room - 1, 1)) for number in range(room)}) if last else [0]
    is_wide = max(len(series[0].label), len(series[last].label)) > _NARROW
    anchors = {0: "start", last: "end"} if last and is_wide else {}
    return [(at, _short(series[at].label), anchors.get(at, "middle")) for at in chosen]


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" dy=".35em" text-anchor="{anchor}">{escape(text)}</text>'


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
