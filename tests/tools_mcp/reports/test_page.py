from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pages import Page, assert_still
from tests.tools_mcp.reports.samples import BARS, LINE, METRICS, SOURCES, fence, report
from tools_mcp.reports.charts import FRAMES, _below, chart_svg, short_number, ticks
from tools_mcp.reports.lettering import shortened, width, wrapped
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


ODD = (5e-324, 1e-310, -1e-310, 1e-300, 0.0, -0.0, 1.0, 1.0000000000000002, 1e-12, 999999999999999.0)


@settings(deadline=None)
@given(
    st.sampled_from(["bar", "line"]),
    st.lists(st.floats(-1e14, 1e14) | st.sampled_from(ODD), min_size=1, max_size=30),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40),
)
def test_every_chart_is_drawn_inside_its_frame(kind: str, values: list[float], label: str) -> None:
    ordered = sorted(values, reverse=True) if kind == "bar" else values
    svg = chart_svg(Chart("bar" if kind == "bar" else "line", "t", None, tuple(Point(label, one) for one in ordered)))
    assert not re.search(r"\b(nan|inf)\b", svg)
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
        assert all((after - before) * apart >= width("2026-01") for before, after in pairwise(chosen))


@pytest.mark.parametrize("values", [[5e-324], [1e-310, 0.0], [1.0, 1.0000000000000002], [3e-12, 1e-12], [0.0, -0.0]])
@pytest.mark.parametrize("kind", ["bar", "line"])
def test_numbers_too_small_to_draw_are_still_told(values: list[float], kind: str) -> None:
    svg = chart_svg(Chart("bar" if kind == "bar" else "line", "t", None, tuple(Point("a", one) for one in values)))
    assert not re.search(r"\b(nan|inf)\b", svg)
    assert short_number(values[-1]) in svg


def test_the_marks_of_a_small_scale_are_not_all_nought() -> None:
    svg = chart_svg(Chart("line", "t", None, (Point("a", 1e-12), Point("b", 3e-12))))
    assert "2.0e-12" in svg


@pytest.mark.parametrize("label", ["W" * 120, "用" * 120, "i" * 400, "Wa " * 60, "", "👍🏽" * 50])
def test_a_label_is_cut_by_how_wide_it_is(label: str) -> None:
    lines = wrapped(label, 180, 2)
    assert 1 <= len(lines) <= 2
    assert all(width(line) <= 180 for line in lines)
    assert width(shortened(label, 100)) <= 100
    assert width("W") > width("a") > width("i")


def test_a_label_is_broken_between_words_and_whole_where_it_fits() -> None:
    assert wrapped("The United Kingdom of Great Britain", 190, 2) == ["The United Kingdom of", "Great Britain"]
    assert wrapped("France", 190, 2) == ["France"]


def test_a_block_that_could_not_be_read_stands_on_the_page_with_its_place() -> None:
    shown = seen(Numbers=fence("chart", BARS | {"type": "pie", "title": HOSTILE}))
    assert "This block could not be read (prometheus-chart, line" in shown.text
    assert "chart-type: type is bar or line" in shown.text
    assert "<script>alert(1)</script>" in shown.text
    assert '"pie"' in shown.text


def test_words_without_a_section_stand_on_the_page() -> None:
    text = report("# one\n\nEarly words.\n\n# two").replace("## Gaps", "## ")
    found = read_report(text).report
    assert found is not None
    shown = Page(page(found, "Saved"))
    for told in ("Early words.", "two", "Prices outside the EU"):
        assert told in shown.text


def test_a_link_is_found_by_its_definition_in_another_paragraph() -> None:
    shown = seen(Gaps="See [the tariffs][t].\n\n[t]: https://example.org/tariffs\n\nMore.")
    assert "https://example.org/tariffs" in [attributes.get("href") for _, attributes in shown.tags]


def test_a_paragraph_too_long_to_be_marked_up_is_shown_as_it_was_written() -> None:
    assert "*a_ " * 9 in seen(Gaps="*a_ " * 20_000).text


def test_a_small_cost_of_a_source_is_told() -> None:
    assert "$0.00001" in seen(Sources=fence("sources", [SOURCES[1] | {"cost_usd": 0.00001}])).text
