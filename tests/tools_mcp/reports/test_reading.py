from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tools_mcp.reports.samples import (
    BARS,
    COMPARE,
    LINE,
    MARKER,
    METRICS,
    RUN_COST_TILES,
    SOURCES,
    TIMELINE,
    fence,
    report,
)
from tools_mcp.reports.model import Broken, Chart, Comparison, Metrics, Problem, Prose, Report, Sources, Tile, Timeline
from tools_mcp.reports.reading import read_report
from tools_mcp.reports.run_cost import is_about_run_cost

NUMBERS = "Numbers"


def problems(text: str) -> list[tuple[str, str]]:
    return [(one.block, one.rule) for one in read_report(text).problems]


def whole(text: str) -> Report:
    reading = read_report(text)
    assert reading.is_valid, reading.problems
    assert reading.report is not None
    return reading.report


def only(text: str) -> Problem:
    (problem,) = read_report(text).problems
    return problem


def without(items: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in items.items() if key != name}


def test_a_whole_report_breaks_no_rule_and_is_read_into_values() -> None:
    read = whole(report())
    assert (read.title, len(read.summary)) == ("Heat pumps in Europe", 3)
    assert [section.name for section in read.sections] == [
        *("Summary", "Findings", "Comparison", "Numbers", "Timeline", "Gaps", "Sources")
    ]
    kinds = [type(block.value) for block in read.blocks()]
    assert kinds == [Comparison, Metrics, Chart, Chart, Timeline, Sources]
    assert [source.title for source in read.sources()] == [one["title"] for one in SOURCES]


def test_summary_and_sources_are_enough() -> None:
    short = report(Findings=None, Comparison=None, Numbers=None, Timeline=None, Gaps=None)
    assert len(whole(short).sections) == 2


def test_a_reply_may_come_before_the_report() -> None:
    read = whole(f"Prices are flat.\nThe report follows.\n\n{report()}")
    assert read.text == report()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no marker",
        f"```\n{report(Numbers=None, Comparison=None, Timeline=None)}",
        f"    {MARKER}\n    # indented code\n",
        f"Here: {MARKER}\n# mid-line\n",
        "<!-- prometheus-report v2 -->\n# later\n",
    ],
)
def test_without_a_marker_of_its_own_outside_code_there_is_no_report(text: str) -> None:
    reading = read_report(text)
    assert reading.report is None
    assert [(one.block, one.rule) for one in reading.problems] == [("report", "marker")]


def test_a_second_marker_is_named_with_its_line() -> None:
    text = f"{report()}\n{MARKER}\n"
    assert [(one.line, one.rule) for one in read_report(text).problems if one.rule == "marker"] == [
        (text.count("\n"), "marker")
    ]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (report(""), "title"),
        (report("\n# late"), "title"),
        (report("# one\n# two"), "title"),
        (report().replace("## Summary", "Words.\n\n## Summary"), "section-first"),
        (report().replace("## Gaps", "## Outlook"), "section-name"),
        (report().replace("## Gaps", "## Timeline"), "section-once"),
        (report(Summary=None), "section-required"),
        (report(Sources=None), "section-required"),
        (report(Summary="- a\n- b\n- c\n- d"), "summary-bullets"),
        (report(Summary="Prose."), "summary-bullets"),
        (report(Summary="- a\n\nMore prose."), "summary-bullets"),
        (report(Findings="No table."), "findings-table"),
        (report(Sources="None."), "sources-block"),
        (report(Sources=fence("sources", SOURCES) + "\n\n" + fence("sources", SOURCES)), "sources-block"),
        (report() + "\nThat is all.\n", "sources-last"),
        (report(Gaps=fence("gaps", [])), "block-name"),
        (report(Gaps=fence("sources", SOURCES)), "block-place"),
        (report() + "\n[a]: https://example.org/a\n", "sources-last"),
        (report() + "\n[a]: https://example.org/a\n[a]: https://example.org/b\n", "sources-last"),
        (report().replace("## Gaps", "## "), "section-name"),
        (report(Gaps="- item\n\n  " + fence("metrics", METRICS).replace("\n", "\n  ")), "block-place"),
    ],
)
def test_each_rule_of_the_whole_is_told_by_name(text: str, rule: str) -> None:
    reading = read_report(text)
    assert rule in {problem.rule for problem in reading.problems}
    assert not reading.is_valid


def test_sections_in_another_order_are_told() -> None:
    text = report(Gaps=None).replace("## Findings", "## Gaps\nNone.\n\n## Findings")
    assert problems(text) == [("report", "section-order")]


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("metrics", METRICS[:1], "metrics-count"),
        ("metrics", [*METRICS, *METRICS, *METRICS], "metrics-count"),
        ("metrics", [*METRICS, {"label": "Cost of this run", "value": "$0.12"}], "metrics-run-cost"),
        (
            "metrics",
            [*METRICS, {"label": "Total", "value": "$1", "note": "what the research cost"}],
            "metrics-run-cost",
        ),
        ("metrics", {"label": "x"}, "shape"),
        ("metrics", [*METRICS, {"label": "x"}], "shape"),
        ("metrics", [*METRICS, {"label": "x", "value": 3}], "shape"),
        ("metrics", [*METRICS, {"label": "x", "value": " "}], "shape"),
        ("metrics", [*METRICS, METRICS[0] | {"colour": "red"}], "shape"),
        ("metrics", [*METRICS, METRICS[0] | {"note": None}], "shape"),
        ("chart", BARS | {"type": "pie"}, "chart-type"),
        ("chart", BARS | {"series": []}, "chart-series"),
        ("chart", BARS | {"series": BARS["series"][::-1]}, "chart-order"),
        ("chart", LINE | {"series": [{"label": "a", "value": "3"}]}, "shape"),
        ("chart", LINE | {"series": [{"label": "a", "value": True}]}, "shape"),
        ("chart", LINE | {"series": [{"label": "a", "value": 10**400}]}, "shape"),
        ("chart", LINE | {"series": [{"label": "a", "value": 1, "n": 2}]}, "shape"),
        ("chart", without(BARS, "title"), "shape"),
        ("chart", BARS | {"series": [BARS["series"][0]] * 201}, "shape"),
        ("compare", COMPARE | {"columns": ["one"]}, "compare-cells"),
        ("compare", {"columns": [], "rows": []}, "compare-empty"),
        ("compare", COMPARE | {"rows": [{"name": "x", "cells": [1, 2]}]}, "shape"),
        ("timeline", [], "timeline-empty"),
        ("timeline", TIMELINE[::-1], "timeline-order"),
        ("timeline", [{"date": "2025-02-30", "event": "x"}], "timeline-date"),
        ("timeline", [{"date": "2025-13", "event": "x"}], "timeline-date"),
        ("timeline", [{"date": "March 2025", "event": "x"}], "timeline-date"),
        ("timeline", [{"date": "20250314", "event": "x"}], "timeline-date"),
        ("timeline", [{"date": "2025-W11-5", "event": "x"}], "timeline-date"),
        ("metrics", "[1,]", "json"),
        ("metrics", "// why\n[]", "json"),
        ("chart", '{"type":"line","title":"t","series":[{"label":"a","value":NaN}]}', "json"),
        ("chart", '{"type":"line","type":"bar"}', "json"),
        ("metrics", "[" * 5000, "json"),
    ],
)
def test_each_rule_of_a_block_is_told_with_its_block(name: str, value: object, rule: str) -> None:
    problem = only(report(Numbers=fence(name, value)))
    assert (problem.block, problem.rule) == (f"prometheus-{name}", rule)
    assert problem.message


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ({"title": "x", "url": "javascript:alert(1)"}, "sources-url"),
        ({"title": "x", "url": "https://a b"}, "sources-url"),
        ({"title": "x", "cost_usd": -1}, "sources-cost"),
        ({"url": "https://example.org"}, "shape"),
    ],
)
def test_each_rule_of_the_sources_is_told(source: dict[str, Any], rule: str) -> None:
    assert problems(report(Sources=fence("sources", [source]))) == [("prometheus-sources", rule)]


def test_an_error_in_json_is_told_with_the_line_it_stands_in() -> None:
    text = report(Numbers="Words.\n\n" + fence("metrics", '[\n {"label": "a",\n  "value": }\n]'))
    assert only(text).line == text[: text.index('"value": }')].count("\n") + 1


def test_a_broken_block_is_told_at_the_line_of_its_fence() -> None:
    text = report(Numbers=fence("metrics", METRICS[:1]))
    assert only(text).line == text[: text.index("```prometheus-metrics")].count("\n") + 1


def test_two_months_and_days_of_one_month_stand_in_any_order() -> None:
    days = [
        {"date": "2024-01", "event": "a"},
        {"date": "2024-01-20", "event": "b"},
        {"date": "2024-01-03", "event": "c"},
    ]
    whole(report(Timeline=fence("timeline", days)))


@settings(deadline=None)
@given(st.text(max_size=400))
def test_no_text_breaks_the_reader(text: str) -> None:
    read_report(text)
    read_report(f"{MARKER}\n# t\n{text}")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["label", "value", "series", "type", "title", "date", "event", "cells", "name"]), inner
        )
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.sampled_from(["metrics", "chart", "compare", "timeline", "sources", "unknown"]), JSON)
def test_no_json_breaks_a_block_and_every_problem_is_one_sentence(name: str, value: object) -> None:
    reading = read_report(report(Numbers=fence(name, json.dumps(value))))
    for problem in reading.problems:
        assert problem.message
        assert "\n" not in problem.message


def test_a_mark_of_byte_order_before_the_marker_hides_no_report() -> None:
    assert read_report("\ufeff<!-- prometheus-report v1 -->\n# T\n").report is not None


def kept(text: str) -> str:
    """Everything of a report that a page could show."""
    found = read_report(text).report
    assert found is not None
    parts = [part for section in found.sections for part in section.parts]
    told = [part.markdown if isinstance(part, Prose) else part.source for part in parts if not hasattr(part, "value")]
    return "\n".join([found.title, *(section.name for section in found.sections), *told])


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        (report(Numbers=fence("chart", BARS | {"type": "pie"})), '"pie"'),
        (report().replace("## Summary", "Early words.\n\n## Summary"), "Early words."),
        (report("# one\n\n# two"), "two"),
        (report().replace("## Gaps", "# late\n\n## Gaps"), "late"),
        (report().replace("## Gaps", "## "), "Prices outside the EU"),
        (report().replace("## Gaps", "##"), "Prices outside the EU"),
        (f"{MARKER}\n# t\n```prometheus-odd\nwhat it holds\n```\n", "what it holds"),
    ],
)
def test_nothing_that_breaks_a_rule_is_lost(text: str, lost: str) -> None:
    assert not read_report(text).is_valid
    assert lost in kept(text)


def test_a_block_that_cannot_be_read_is_kept_with_line_and_rule() -> None:
    text = report(Numbers=fence("metrics", METRICS[:1]))
    found = read_report(text).report
    assert found is not None
    (part,) = (part for section in found.sections for part in section.parts if isinstance(part, Broken))
    assert (part.name, part.rule, part.line) == ("prometheus-metrics", "metrics-count", only(text).line)
    assert json.loads(part.source) == METRICS[:1]


@pytest.mark.parametrize(
    ("heading", "title"),
    [("# #1 in Europe", "#1 in Europe"), ("# Heat pumps ##", "Heat pumps"), ("Heat pumps\n===", "Heat pumps")],
)
def test_a_title_is_the_text_of_its_heading(heading: str, title: str) -> None:
    assert whole(report(heading)).title == title


def test_a_heading_may_be_closed_with_number_signs() -> None:
    whole(report().replace("## Summary", "## Summary ##"))


@pytest.mark.parametrize(
    ("language", "meant"),
    [
        ("chart", "prometheus-chart"),
        ("Prometheus-chart", "prometheus-chart"),
        ("promethues-chart", "prometheus-chart"),
        ("charts", "prometheus-chart"),
        ("sources", "prometheus-sources"),
    ],
)
def test_a_fence_that_was_meant_to_be_a_block_is_asked_about(language: str, meant: str) -> None:
    reading = read_report(report(Gaps=f"```{language}\n{json.dumps(BARS)}\n```"))
    (problem,) = reading.problems
    assert (problem.rule, problem.severity) == ("block-name", "warning")
    assert meant in problem.message


@pytest.mark.parametrize("code", ["json\n[1]", "chart\nno JSON", "\n{}", "python\n[]", f"{'chart' * 20}\n[]"])
def test_other_code_is_just_code(code: str) -> None:
    assert read_report(report(Gaps=f"```{code}\n```")).problems == ()


def test_only_problems_of_the_report_are_told_of_link_definitions() -> None:
    whole(f"[a]: https://example.org/a\n\n{report(Gaps='See [b].' + chr(10) * 2 + '[b]: https://example.org/b')}")


def test_a_number_of_any_length_is_read_or_told() -> None:
    digits = "9" * 5000
    text = json.dumps(BARS).replace("620", digits)
    assert only(report(Numbers=fence("chart", text))).rule == "shape"


@pytest.mark.parametrize(("label", "value", "note"), RUN_COST_TILES)
def test_a_tile_about_the_run_is_told_from_one_about_the_world(label: str, value: str, note: str) -> None:
    assert is_about_run_cost(Tile(label, value, note or None)) is RUN_COST_TILES[label, value, note]


def test_very_many_headings_and_brackets_are_read_without_looking_at_each_twice() -> None:
    steps = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal steps
        steps += event == "call"

    def work(text: str) -> int:
        nonlocal steps
        steps = 0
        sys.setprofile(count)
        try:
            read_report(text)
        finally:
            sys.setprofile(None)
        return steps

    for piece in ("## a\n", "![", "[a]("):
        few, many = work(report(Gaps=piece * 400)), work(report(Gaps=piece * 1600))
        assert many < 5 * few + 2000, piece
