from __future__ import annotations

from tests.tools_mcp.reports.samples import BARS, METRICS, SOURCES, TIMELINE, fence, report
from tools_mcp.reports.comparing import Difference, differences
from tools_mcp.reports.digest import MOST_CHARACTERS, digest
from tools_mcp.reports.model import Metrics, Report, Tile
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
