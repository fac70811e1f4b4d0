from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pages import Page, assert_still
from tests.tools_mcp.reports.samples import BARS, LINE, METRICS, SOURCES, fence, report
from tools_mcp.reports.charts import FRAMES, _below, chart_svg, short_number, ticks
from tools_mcp.reports.model import Chart, Point
from tools_mcp.reports.page import page
from tools_mcp.reports.reading import read_report

HOSTILE = '"><script>alert(1)</script><img src=x onerror=y>&lt;'


def seen(title: str = "# Heat pumps in Europe", **changes: str | None) -> Page:
    found = read_report(report(title, **changes)).report
    assert found is not None
    return Page(page(found, "Saved 30 November 2026"))


def test_everything_in_the_report_is_on_the_page() -> None:
    shown = seen()
    for told in (
        "Heat pumps in Europe",
        "3.0 M units",
        "430.5",
        "Ground source",
        "unknown",
        "Germany",
        "2024-01",
        "via memory",
    ):
        assert told in shown.text
    assert len(shown.named("svg")) == 2 * len(FRAMES)
    assert len(shown.named("rect")) == len(BARS["series"]) * len(FRAMES)
    assert len(shown.named("circle")) == len(LINE["series"]) * len(FRAMES)
    assert "Saved 30 November 2026 · 2 sources" in shown.text
    assert "example.org · via search:search_web" in shown.text


def test_the_page_fetches_nothing_and_runs_nothing() -> None:
    shown = seen()
    assert_still(shown)
    links = [attributes["href"] for tag, attributes in shown.tags if tag == "a"]
    assert links == ["https://example.org/t", SOURCES[0]["url"]]


def test_text_stays_text_wherever_it_stands() -> None:
    tiles = [METRICS[0] | {"label": HOSTILE, "value": HOSTILE, "note": HOSTILE}, METRICS[1]]
    bars = BARS | {"title": HOSTILE, "unit": HOSTILE, "series": [{"label": HOSTILE, "value": 1}]}
    numbers = f"{fence('metrics', tiles)}\n\n{fence('chart', bars)}"
    sources = fence("sources", [{"title": HOSTILE, "via": HOSTILE}])
    table = f"| A | B |\n|---|---|\n| {HOSTILE} | ![x](https://example.org/x.png) [y](javascript:alert(1)) |"
    shown = seen(f"# {HOSTILE}", Numbers=numbers, Sources=sources, Findings=table, Summary=f"- {HOSTILE}")
    assert not {"script", "img"} & {tag for tag, _ in shown.tags}
    assert shown.text.count("<script>alert(1)</script>") >= 9
    links = [attributes["href"] for tag, attributes in shown.tags if tag == "a"]
    assert links == ["https://example.org/x.png"]  # a picture becomes a link, a script link nothing at all


def test_each_chart_can_be_read_without_seeing_it() -> None:
    shown = seen()
    drawn = [attributes for tag, attributes in shown.tags if tag == "svg"]
    told = [f"{one['title']}, {one['unit']}" for one in (BARS, LINE) for _ in FRAMES]
    assert [one["aria-label"] for one in drawn] == told
    assert len(shown.named("details")) == 2


@settings(deadline=None)
@given(
    st.sampled_from(["bar", "line"]),
    st.lists(st.floats(-1e14, 1e14), min_size=1, max_size=30),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40),
)
def test_every_chart_is_drawn_inside_its_frame(kind: str, values: list[float], label: str) -> None:
    ordered = sorted(values, reverse=True) if kind == "bar" else values
    svg = chart_svg(Chart("bar" if kind == "bar" else "line", "t", None, tuple(Point(label, one) for one in ordered)))
    for drawn in svg.split("</svg>")[:-1]:
        width, height = map(int, re.findall(r'viewBox="0 0 (\d+) (\d+)"', drawn)[0])
        for x, y in re.findall(r'(?:cx|x|x1)="(-?[\d.]+)" (?:cy|y|y1)="(-?[\d.]+)"', drawn):
            assert -0.1 <= float(x) <= width + 0.1
            assert -0.1 <= float(y) <= height + 0.1


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 100, [0, 25, 50, 75, 100]), (29, 46, [25, 30, 35, 40, 45, 50]), (-3, 3, [-4, -2, 0, 2, 4]), (5, 5, [4, 6])],
)
def test_axes_have_round_numbers_that_hold_every_value(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high)[0] <= low
    assert ticks(low, high)[-1] >= high
    if low != high:
        assert ticks(low, high) == expected


@pytest.mark.parametrize(
    ("value", "told"),
    [
        *((0, "0"), (430.5, "430.5"), (-1234.5, "-1,234.5"), (999_999, "999,999"), (123_456.78, "123,457")),
        *((1e6, "1 M"), (-456_789_012.75, "-456.8 M"), (2.5e9, "2.5 bn"), (-1e14, "-100 tn"), (999_999_999, "1,000 M")),
        *((0.0125, "0.0125"), (0.00001234, "1.2e-05"), (-0.5, "-0.5")),
    ],
)
def test_a_number_in_a_chart_is_short(value: float, told: str) -> None:
    assert short_number(value) == told
    assert len(told) <= 9


@pytest.mark.parametrize("count", [2, 3, 7, 12, 13, 31, 50])
def test_labels_under_a_line_never_stand_closer_than_there_is_room(count: int) -> None:
    series = tuple(Point(f"2026-{number:02d}", float(number)) for number in range(1, count + 1))
    for frame in FRAMES:
        chosen = [at for at, _, _ in _below(series, frame)]
        apart = (frame.width - frame.side - frame.end) / (count - 1)

        assert (chosen[0], chosen[-1]) == (0, count - 1)
        assert all((after - before) * apart >= 7 * 7 for before, after in pairwise(chosen))
