"""Charts as SVG drawn by hand: real axes and labels, no script, readable without colour (title, text and table).

Each chart is drawn for a wide page and for a phone, where text has to keep its size; the page's style shows one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

from tools_mcp.reports.lettering import shortened, width, wrapped
from tools_mcp.reports.model import Chart, Point
from tools_mcp.reports.numbers import plain_number

_BAR, _GAP, _LINE_HEIGHT = 22, 12, 16
_TICKS = 4
_TINY = 0.001  # below it a number is told by its power of ten
_APART = 16  # the least room between two labels
_NARROW = 72  # what may stand centred under the first and the last point
_BOLD = 1.12  # how much wider bold letters are
_LEAST = 1e-300  # what is smaller is drawn as 0: a length divided by it is no number
_FLAT = 1e-12  # of the largest value: a smaller span is drawn as none


@dataclass(frozen=True)
class Frame:
    """What a chart is drawn into, in pixels.

    `label` is the room for a bar's label at its left; 0 puts it above the bar. `side` and `end` are the least room
    at the left and right of a line.
    """

    name: str
    width: int
    label: int
    value: int
    height: int
    side: int
    end: int


FRAMES = (
    Frame("on-wide", width=640, label=190, value=80, height=260, side=72, end=64),
    Frame("on-phone", width=360, label=0, value=76, height=230, side=52, end=52),
)


def chart_svg(chart: Chart) -> str:
    """Return the chart as SVG, once for each kind of screen; every text in it is escaped."""
    name = escape(f"{chart.title}{f', {chart.unit}' if chart.unit else ''}")
    return "".join(_drawn(chart, frame, name) for frame in FRAMES)


def ticks(low: float, high: float) -> list[float]:
    """Return round values that reach from at most `low` to at least `high`, about four steps apart."""
    largest = max(abs(low), abs(high))
    span = high - low
    if span <= largest * _FLAT or span < _LEAST:
        span = largest if largest >= _LEAST else 1.0
    rough = span / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def short_number(value: float) -> str:
    """Return a number in at most nine characters, such as `-456.8 M`; the table beside a chart has it whole."""
    for size, unit in ((1e12, " tn"), (1e9, " bn"), (1e6, " M")):
        if abs(value) >= size:
            return f"{value / size:,.4g}{unit}"
    if value == 0 or abs(value) >= _TINY:
        return plain_number(float(f"{value:.6g}"))
    return f"{value:.1e}"


def _drawn(chart: Chart, frame: Frame, name: str) -> str:
    values = [point.value if abs(point.value) >= _LEAST else 0.0 for point in chart.series]
    height, body = _bars(chart, values, frame) if chart.type == "bar" else _line(chart, values, frame)
    return (
        f'<svg class="chart {frame.name}" viewBox="0 0 {frame.width} {height}" role="img" aria-label="{name}">'
        f"<title>{name}</title>{body}</svg>"
    )


def _bars(chart: Chart, values: Sequence[float], frame: Frame) -> tuple[int, str]:
    low, high = min(0.0, *values), max(0.0, *values)
    left = frame.label + (frame.value if low < 0 else 0)  # the value of a bar below zero stands at its left
    scale = (frame.width - left - frame.value) / ((high - low) or 1.0)
    zero = left - low * scale
    above = 0 if frame.label else _LINE_HEIGHT + 2
    parts, top = [], _GAP
    for point, value in zip(chart.series, values, strict=True):
        start, length = zero + min(0.0, value) * scale, max(abs(value) * scale, 1)
        middle = top + above + _BAR / 2
        parts += _label(point.label, frame, top, middle)
        parts.append(
            f'<rect class="bar" x="{start:.1f}" y="{top + above}" width="{length:.1f}" height="{_BAR}" rx="2"/>'
        )
        end, anchor = (start - 8, "end") if value < 0 else (start + length + 8, "start")
        parts.append(_text(end, middle, short_number(point.value), anchor))
        top += above + _BAR + _GAP
    if frame.label:
        parts.append(f'<line class="axis" x1="{zero:.1f}" y1="4" x2="{zero:.1f}" y2="{top - 4}"/>')
    return top, "".join(parts)


def _label(label: str, frame: Frame, top: float, middle: float) -> list[str]:
    """Return a bar's label: at its left, in two lines when it is long, or above it in one."""
    if not frame.label:
        return [_text(0, top + _LINE_HEIGHT / 2, shortened(label, frame.width), "start")]
    lines = wrapped(label, frame.label - 10, 2)
    first = middle - (len(lines) - 1) * _LINE_HEIGHT / 2
    return [_text(frame.label - 10, first + at * _LINE_HEIGHT, line, "end") for at, line in enumerate(lines)]


def _line(chart: Chart, values: Sequence[float], frame: Frame) -> tuple[int, str]:
    marks = ticks(min(values), max(values))
    low, high = marks[0], marks[-1]
    beside = [short_number(float(f"{mark:.12g}")) for mark in marks]
    last = short_number(chart.series[-1].value)
    side = max(frame.side, math.ceil(max(map(width, beside))) + 14)
    end = max(frame.end, math.ceil(width(last) * _BOLD) + 12)
    frame = replace(frame, side=side, end=end)
    across = (frame.width - side - end) / max(len(values) - 1, 1)
    top, bottom = 16, 52

    def place(at: int, value: float) -> tuple[float, float]:
        return side + at * across, top + (high - value) / (high - low) * (frame.height - top - bottom)

    parts = []
    for mark, told in zip(marks, beside, strict=True):
        _, y = place(0, mark)
        parts.append(f'<line class="grid" x1="{side}" y1="{y:.1f}" x2="{frame.width - end + 4}" y2="{y:.1f}"/>')
        parts.append(_text(side - 10, y, told, "end"))
    spots = [place(at, value) for at, value in enumerate(values)]
    parts.append(f'<polyline class="line" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in spots)}"/>')
    parts += [f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in spots]
    parts.append(_text(spots[-1][0] + 9, spots[-1][1], last, "start", "last"))
    below = frame.height - bottom + 24
    parts += [_text(spots[at][0], below, label, anchor) for at, label, anchor in _below(chart.series, frame)]
    return frame.height, "".join(parts)


def _below(series: Sequence[Point], frame: Frame) -> list[tuple[int, str, str]]:
    """Return the labels under a line that fit beside one another; the first and the last are always among them."""
    across = frame.width - frame.side - frame.end
    labels = [shortened(point.label, across / 2 - _APART / 2) for point in series]
    room = max(2, int(across // (max(map(width, labels)) + _APART)))
    last = len(series) - 1
    step = max(1, -(-last // (room - 1)))
    chosen = [at for at in range(0, last, step) if last - at >= step] + [last]
    is_wide = max(width(labels[0]), width(labels[last])) > _NARROW
    anchors = {0: "start", last: "end"} if last and is_wide else {}
    return [(at, labels[at], anchors.get(at, "middle")) for at in chosen]


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> str:
    marked = f' class="{kind}"' if kind else ""
    return f'<text{marked} x="{x:.1f}" y="{y:.1f}" dy=".35em" text-anchor="{anchor}">{escape(text)}</text>'
