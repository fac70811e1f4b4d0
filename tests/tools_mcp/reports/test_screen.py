"""The page of a report in a real browser: light and dark, on a desk and on a phone, measured as a reader sees it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tools_mcp.reports.browser import Browser, Look, browsing
from tests.tools_mcp.reports.samples import BARS, COMPARE, LINE, METRICS, SOURCES, TIMELINE, fence, report
from tools_mcp.reports.page import page
from tools_mcp.reports.reading import read_report

MEASURING = (Path(__file__).parent / "measuring.js").read_text(encoding="utf-8")
LONG = "Donaudampfschifffahrtsgesellschaft and everything that comes after it, whatever that may be called"
ADDRESS = "https://example.org/" + "a-long-way-to-go/" * 12


def bars(*points: tuple[str, float], unit: str = "M €") -> str:
    """A bar chart."""
    series = [{"label": label, "value": value} for label, value in points]
    return fence("chart", {"type": "bar", "title": LONG, "unit": unit, "series": series})


def line(labels: list[str], values: list[float]) -> str:
    """A line chart."""
    series = [{"label": label, "value": value} for label, value in zip(labels, values, strict=True)]
    return fence("chart", {"type": "line", "title": "A line", "series": series})


def crowded() -> str:
    """A report with more of everything than fits."""
    numbers = (
        fence("metrics", [METRICS[0] | {"label": LONG, "value": "€ 1,234,567,890.12", "note": LONG}] * 6),
        bars((LONG, 987_654_321.5), ("Wasserversorgungsanlagenbetriebe", 12.25), ("loss", -456_789_012.75)),
        bars(("W" * 120, 3), ("用" * 120, 2), ("WWWW MMMM " * 12, 1)),
        line(["W" * 40, "用" * 40, "@" * 40], [1, 3e-12, -1]),
        fence("chart", {"type": "pie", "title": LONG * 3}),
        bars(*((f"Country number {number}", 100 - number * 7) for number in range(30))),
        line([f"{year}-{month:02}" for year in (2023, 2024, 2025) for month in range(1, 13)], [0.5] * 35 + [1e9]),
        line([LONG, LONG, LONG], [-1e14, 0, 1e14]),
        line(["only one"], [5]),
    )
    columns = {"columns": [f"Column {number}" for number in range(9)], "rows": []}
    columns["rows"] = [{"name": LONG, "cells": ["a longer text", True, False, None, *["x"] * 5]}] * 3  # type: ignore[list-item]
    return report(
        f"# {LONG} {LONG}",
        Summary=f"- {LONG}\n- {'x' * 200}\n- [{ADDRESS}]({ADDRESS})",
        Findings=f"| {' | '.join('abcdefgh')} |\n|{'---|' * 8}\n| {' | '.join([LONG] * 8)} |",
        Comparison=fence("compare", columns),
        Numbers="\n\n".join(numbers),
        Timeline=fence("timeline", [TIMELINE[0] | {"event": f"{LONG} {'y' * 120}"}, TIMELINE[1]]),
        Gaps=f"    {'code ' * 60}\n\n`{'c' * 150}` and {ADDRESS}",
        Sources=fence("sources", [SOURCES[0] | {"title": ADDRESS, "url": ADDRESS, "via": "x" * 150}, SOURCES[1]]),
    )


REPORTS = {"usual": report(), "crowded": crowded()}
CHARTS = {"usual": len([BARS, LINE]), "crowded": 7}
assert COMPARE  # the usual report has one of every block


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all pages."""
    with browsing(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.mark.parametrize("which", REPORTS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1000, 400])
def test_the_page_looks_right(browser: Browser, tmp_path: Path, which: str, scheme: str, width: int) -> None:
    found = read_report(REPORTS[which]).report
    assert found is not None
    place = tmp_path / "report.html"
    place.write_text(page(found, "Saved 30 November 2026, 20:00 CET"), encoding="utf-8")
    tab = browser.tab()
    tab.open(place, Look(width, scheme=scheme))
    seen: dict[str, Any] = tab.measure(MEASURING)
    tab.photograph(tmp_path / f"{which}-{width}-{scheme}.png")

    assert not seen["wrong"], "\n".join(seen["wrong"])
    assert seen["charts"] == CHARTS[which]
    assert (seen["ground"] < 0.1) is (scheme == "dark")
    assert (seen["ground"] > 0.9) is (scheme == "light")
    assert browser.complaints(tab.session) == []
