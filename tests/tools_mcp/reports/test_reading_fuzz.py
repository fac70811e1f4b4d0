"""Texts made of the pieces that reports are made of: whatever comes, problems with their lines, and a page."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.tools_mcp.reports.samples import (
    BARS,
    COMPARE,
    LINE,
    MARKER,
    METRICS,
    SOURCES,
    TABLE,
    TIMELINE,
    fence,
    report,
    sections,
)
from tools_mcp.reports.comparing import differences
from tools_mcp.reports.digest import MOST_CHARACTERS, digest
from tools_mcp.reports.model import SECTIONS
from tools_mcp.reports.page import page
from tools_mcp.reports.reading import read_report

BLOCKS: dict[str, Any] = {
    "metrics": METRICS,
    "chart": BARS,
    "compare": COMPARE,
    "timeline": TIMELINE,
    "sources": SOURCES,
    "other": LINE,
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def bent(draw: st.DrawFn, value: Any) -> Any:
    """A value with one of its parts replaced by anything."""
    if draw(st.integers(0, 3)) == 0 or not isinstance(value, dict | list) or not value:
        return draw(JSON)
    if isinstance(value, list):
        at = draw(st.integers(0, len(value) - 1))
        return [*value[:at], draw(bent(value[at])), *value[at + 1 :]]
    name = draw(st.sampled_from(sorted(value)))
    return value | {name: draw(bent(value[name]))}


BLOCK = st.sampled_from(sorted(BLOCKS)).flatmap(lambda name: bent(BLOCKS[name]).map(lambda one: fence(name, one)))
PIECES = st.sampled_from(
    (
        *(MARKER, "# A title", *(f"## {name}" for name in SECTIONS), "### below", TABLE, "- one", "* two", "  - deep"),
        *("```", "````", "~~~", "> ", "<script>alert(1)</script>", "<!--", "-->", "[a](javascript:x)", "![x](y)", "\\"),
        *(
            "```prometheus-chart",
            "```prometheus-sources\n[]\n```",
            "text",
            "",
            "",
            "\t",
            "    code",
            "| a |",
            "***",
            "&lt;",
        ),
    )
)
LINES = st.lists(PIECES | BLOCK, max_size=14).map("\n".join)
BENT_REPORTS = st.sampled_from(sorted(sections())).flatmap(
    lambda name: (LINES | BLOCK).map(lambda text: report(**{name: text}))
)
TEXTS = LINES | LINES.map(lambda text: f"{MARKER}\n{text}") | BENT_REPORTS | st.text(max_size=60)
calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def it_is_read(text: str) -> None:
    """Every problem has a place in the text; a report that can be read can be shown, told in short and compared."""
    lines = text.count("\n") + 1
    reading = read_report(text)
    assert all(1 <= problem.line <= lines for problem in reading.problems)
    assert all(problem.message and problem.rule and problem.block for problem in reading.problems)
    assert reading.is_valid or reading.problems
    if reading.report is None:
        return
    html = page(reading.report, "Saved")
    assert "<script" not in html
    assert "javascript:" not in html.replace("[a](javascript:x)", "")
    assert len(digest(reading.report)) <= MOST_CHARACTERS
    assert differences(reading.report, reading.report) == ()
    again = read_report(reading.report.text)
    assert [problem.rule for problem in again.problems] == [problem.rule for problem in reading.problems]


@calm
@given(TEXTS)
@example("".join(f"{MARKER}\n" for _ in range(5)))
@example(f"{MARKER}\n# t\n## Sources\n" + fence("sources", "[" * 5000))
@example(
    f"{MARKER}\n# t\n## Numbers\n" + fence("chart", json.dumps(BARS | {"series": [{"label": "a", "value": 1e400}]}))
)
@example(f"<!--\n{MARKER}")
@example(f"<div>\n{MARKER}\n# t")
@example("> " * 500 + MARKER)
@example("`" * 5000 + MARKER)
def test_whatever_is_sent_is_read(text: str) -> None:
    it_is_read(text)


@pytest.mark.fuzz
@pytest.mark.timeout(900)
@settings(calm, max_examples=1_500)
@given(TEXTS)
def test_very_many_texts_are_read(text: str) -> None:
    it_is_read(text)
