from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.tools_mcp.reports.samples import BARS, FETCHED, METRICS, SOURCES, fence, report
from tools_mcp.reports.checking import questions, same_page
from tools_mcp.reports.model import Report
from tools_mcp.reports.reading import read_report


def read(**changes: str) -> Report:
    found = read_report(report(**changes)).report
    assert found is not None
    return found


def asked(report: Report, seen: Sequence[str] | None = FETCHED) -> list[str]:
    return [problem.rule for problem in questions(report, seen)]


def test_a_careful_report_raises_no_question() -> None:
    assert asked(read()) == []


@pytest.mark.parametrize(
    ("tile", "rules"),
    [
        ({"label": "Sold", "value": "3,000", "note": "2024"}, ["number-unit"]),
        ({"label": "Sold", "value": "3 M units"}, ["number-date"]),
        ({"label": "Sold", "value": "\u2212 3"}, ["number-unit", "number-date"]),
        ({"label": "Sold", "value": "2000 units"}, ["number-date"]),
        ({"label": "Sold", "value": "2000 units", "note": "2024"}, []),
        ({"label": "Sold", "value": "3 M units in 2024"}, []),
        ({"label": "Sold", "value": "3 M units (2024)"}, []),
        ({"label": "Sold", "value": "3 M units, March 2024"}, []),
        ({"label": "Sold", "value": "3 M units 2024-03"}, []),
        ({"label": "Leader", "value": "France"}, []),
        ({"label": "Sold in 2024", "value": "3 M units"}, []),
    ],
)
def test_a_number_without_a_unit_or_a_date_is_asked_about(tile: dict[str, str], rules: list[str]) -> None:
    assert asked(read(Numbers=fence("metrics", [*METRICS[:1], tile]))) == rules


def test_a_chart_without_a_unit_is_asked_about() -> None:
    plain = {name: value for name, value in BARS.items() if name != "unit"}
    assert asked(read(Numbers=fence("chart", plain))) == ["number-unit"]


def test_a_source_that_was_never_fetched_is_named() -> None:
    (problem,) = questions(read(), FETCHED[1:])
    assert (problem.rule, problem.severity) == ("source-unseen", "warning")
    assert SOURCES[0]["url"] in problem.message
    assert asked(read(), None) == []
    assert asked(read(), []) == ["source-unseen", "source-unseen"]


def test_a_source_that_comes_from_nowhere_is_asked_about() -> None:
    assert asked(read(Sources=fence("sources", [{"title": "Common knowledge"}]))) == ["source-place"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://example.org/a", "http://example.org/a"),
        ("https://example.org/a/", "https://www.example.org/a"),
        ("https://EXAMPLE.org/a#part", "https://example.org/a"),
        ("https://example.org:443/a", "https://example.org/a"),
    ],
)
def test_two_spellings_of_one_page_are_one(one: str, other: str) -> None:
    assert same_page(one) == same_page(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://example.org/a", "https://example.org/A"),
        ("https://example.org/?a=1", "https://example.org/?a=2"),
        ("https://example.org:8443/a", "https://example.org/a"),
        ("https://[bad/a", "https://[bad/b"),
    ],
)
def test_other_pages_stay_others(one: str, other: str) -> None:
    assert same_page(one) != same_page(other)


@pytest.mark.parametrize(
    ("text", "unseen"),
    [
        ("See [a](https://example.org/never).", ["https://example.org/never"]),
        ("See <https://example.org/never>, https://example.org/t and https://example.org/no.", ["never", "no"]),
        ("| https://en.example.org/A_(b) |", ["https://en.example.org/A_(b)"]),
        ("Nothing.", []),
    ],
)
def test_a_link_in_running_text_is_a_source_too(text: str, unseen: list[str]) -> None:
    found = questions(read(Gaps=f"Words.\n{text}"), FETCHED)
    assert [(one.block, one.rule) for one in found] == [("Gaps", "source-unseen")] * len(unseen)
    for one, url in zip(found, unseen, strict=True):
        assert f"{url} was never fetched" in one.message
        assert report(Gaps=f"Words.\n{text}").split("\n")[one.line - 1] == text
