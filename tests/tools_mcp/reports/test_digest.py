from __future__ import annotations

import pytest

from tests.tools_mcp.reports.samples import BARS, METRICS, SOURCES, TABLE, TIMELINE, fence, report
from tools_mcp.reports.comparing import Difference, differences
from tools_mcp.reports.digest import MOST_CHARACTERS, digest
from tools_mcp.reports.model import Metrics, Report, Tile
from tools_mcp.reports.numbers import dollars, plain_number
from tools_mcp.reports.page import page
from tools_mcp.reports.reading import read_report


def read(title: str = "# Heat pumps in Europe", **changes: str | None) -> Report:
    found = read_report(report(title, **changes)).report
    assert found is not None
    return found


def test_a_digest_has_the_title_the_summary_and_the_tiles() -> None:
    lines = digest(read()).split("\n")
    assert lines[:2] == ["Heat pumps in Europe", "- Sales fell by 22 % in 2024."]
    assert "Median price: € 11,400 (installed, Germany, 2025)" in lines


def test_a_digest_is_short_however_long_the_report_is() -> None:
    long = read(Summary="- " + "word " * 800)
    assert len(digest(long)) <= MOST_CHARACTERS
    assert digest(long).endswith("…")


def test_a_digest_leaves_out_what_the_run_cost() -> None:
    import dataclasses

    plain = read()
    tiles = Metrics((Tile("Cost of this run", "$0.31", None), Tile("Payback", "9 years", "2025")))
    sections = tuple(
        dataclasses.replace(one, parts=tuple(dataclasses.replace(part, value=tiles) for part in one.blocks()[:1]))
        if one.name == "Numbers"
        else one
        for one in plain.sections
    )
    told = digest(dataclasses.replace(plain, sections=sections))
    assert "Payback" in told
    assert "$0.31" not in told


def test_what_changed_is_told_thing_by_thing() -> None:
    newer = read(
        Summary="- Sales fell by 22 % in 2024.\n- Prices rose.",
        Numbers=f"{fence('metrics', [METRICS[0] | {'value': '3.4 M units'}, METRICS[1]])}\n\n{fence('chart', BARS)}",
        Timeline=fence("timeline", [{"date": "2025-06-01", "event": "Tariffs changed"}, *TIMELINE]),
        Sources=fence("sources", SOURCES[:1]),
    )
    found = differences(read(), newer)
    told = {(one.what, one.name, one.change) for one in found}
    assert (
        Difference("number", "Heat pumps sold", "changed", "3.0 M units (Europe, 2024)", "3.4 M units (Europe, 2024)")
        in found
    )
    assert ("summary", "Prices rose.", "added") in told
    assert ("summary", "Prices are flat.", "removed") in told
    assert ("event", "2025-06-01 Tariffs changed", "added") in told
    assert ("number", "Payback", "removed") in told
    assert ("source", "What we found in May", "removed") in told
    assert not [one for one in found if one.name.startswith("Units sold")]


def test_a_report_does_not_differ_from_itself() -> None:
    assert differences(read(), read()) == ()


def test_the_page_shows_what_was_read() -> None:
    assert "Heat pumps in Europe" in page(read(), "Saved today")


def changed(before: Report, after: Report) -> set[tuple[str, str, str]]:
    return {(one.what, one.name, one.change) for one in differences(before, after)}


def test_the_findings_and_the_gaps_are_compared_too() -> None:
    after = read(Findings=TABLE.replace("Gas is cheap | [", "Gas is cheap | now [") + "\n| New | here |", Gaps="Other.")
    told = changed(read(), after)
    assert ("text", "Findings: Gas is cheap", "changed") in told
    assert ("text", "Findings: New", "added") in told
    assert ("text", "Gaps: Other.", "added") in told
    assert ("text", "Gaps: Prices outside the EU were not looked at.", "removed") in told
    assert len(told) == 4


def test_a_section_that_is_gone_is_told() -> None:
    assert ("section", "Gaps", "removed") in changed(read(), read(Gaps=None))


def test_two_tiles_of_one_name_do_not_hide_one_another() -> None:
    two = [METRICS[0], METRICS[0] | {"value": "4 M units"}]
    told = differences(read(Numbers=fence("metrics", two)), read(Numbers=fence("metrics", [METRICS[0], METRICS[0]])))
    assert [(one.name, one.before, one.after) for one in told] == [
        ("Heat pumps sold (2)", "4 M units (Europe, 2024)", "3.0 M units (Europe, 2024)")
    ]


def test_how_a_source_was_found_and_what_it_cost_is_compared() -> None:
    after = read(Sources=fence("sources", [SOURCES[0] | {"via": "memory"}, SOURCES[1] | {"cost_usd": 0.00001}]))
    assert [(one.before, one.after) for one in differences(read(), after)] == [
        ("Market report 2025, via search:search_web", "Market report 2025, via memory"),
        ("What we found in May, via memory, $0.002", "What we found in May, via memory, $0.00001"),
    ]


def test_a_block_that_cannot_be_read_is_compared_by_its_text() -> None:
    old, new = (read(Numbers=fence("chart", BARS | {"type": kind})) for kind in ("pie", "ring"))
    assert changed(old, new) == {("unreadable block", "Numbers", "changed")}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        *((123456789012.55, "123,456,789,012.55"), (0.123456789012, "0.123456789012"), (-0.0, "0"), (5e-324, "5e-324")),
        *((1e15, "1,000,000,000,000,000"), (-1234.5, "-1,234.5"), (0.00001, "0.00001"), (3.0, "3")),
    ],
)
def test_a_number_is_told_whole(value: float, told: str) -> None:
    assert plain_number(value) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [(0.00001, "$0.00001"), (0.002, "$0.002"), (0.31, "$0.3100"), (0, "$0.0000"), (1e-7, "$0.0000001")],
)
def test_a_small_cost_is_not_told_as_none(value: float, told: str) -> None:
    assert dollars(value) == told
