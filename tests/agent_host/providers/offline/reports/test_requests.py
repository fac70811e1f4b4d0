from typing import Any

import pytest

from agent_host.providers.offline.reports.requests import CompareReports, ListReports, RenderReport, ShowReport
from agent_host.providers.offline.routine import Request
from tests.agent_host.providers.offline.scenes import failed, perform


def report(number: int, title: str, saved: str, *summary: str) -> dict[str, object]:
    return {"id": f"report-{number:016x}", "title": title, "saved": f"{saved}T09:00:00+01:00", "summary": list(summary)}


JUNE = report(3, "Solar power in Spain", "2026-11-20", "Prices fell.")
WIND = report(2, "Wind power", "2026-11-10", "Spain is ahead of solar.")
MAY = report(1, "Solar power in Spain", "2026-05-10", "Prices rose.")
REPORTS = {"reports": [JUNE, WIND, MAY]}
LETTERS = {"reports": [report(5, "Report B", "2026-11-01"), report(4, "Report A", "2026-11-20")]}
CHANGES = {
    "differences": [
        {"what": "number", "name": "Price", "change": "changed", "before": "10 EUR", "after": "8 EUR"},
        {"what": "source", "name": "https://example.org/a", "change": "added", "after": "A page"},
        {"what": "summary", "name": "Prices rose.", "change": "removed", "before": "Prices rose."},
    ]
}


def test_reports_are_listed_with_their_day() -> None:
    reply, (call,) = perform(ListReports(), {"report_list": REPORTS})
    assert call.tool == "report_list"
    assert "- “Solar power in Spain” (Friday 20 November): Prices fell." in reply
    reply, _ = perform(ListReports("wind"), {"report_list": REPORTS})
    assert "Wind" in reply
    assert "Solar power in" not in reply
    assert perform(ListReports(), {"report_list": {"reports": []}})[0] == "You have no reports yet."
    many = {"reports": [report(number, f"R{number}", "2026-11-01") for number in range(30)]}
    assert perform(ListReports(), {"report_list": many})[0].endswith("There are more than I can show here.")


def test_the_newest_report_that_fits_is_shown_in_short_and_the_others_are_named() -> None:
    digest = {"format": "digest", "text": "Solar power in Spain\n- Prices fell."}
    reply, calls = perform(ShowReport("solar"), {"report_list": REPORTS, "report_get": digest})
    assert calls[-1].arguments == {"id": JUNE["id"], "format": "digest"}
    assert reply.startswith(
        "Report “Solar power in Spain” (Friday 20 November):\n  Solar power in Spain\n  - Prices fell."
    )
    assert "Also:\n- “Solar power in Spain” (Sunday 10 May)" in reply


def test_a_whole_report_is_set_in_and_one_that_goes_on_says_so() -> None:
    whole = {
        "format": "markdown",
        "text": "# Title\n\nWhich one? Say its number, “all of them”, or “none”.",
        "next_cursor": "x",
    }
    reply, calls = perform(ShowReport("wind", whole=True), {"report_list": REPORTS, "report_get": whole})
    assert calls[-1].arguments == {"id": WIND["id"], "format": "markdown"}
    assert reply.splitlines()[-1] == "  … it goes on."
    assert "\n  Which one?" in reply


def test_a_report_is_found_by_its_id_and_by_its_day() -> None:
    for about in (str(MAY["id"]), "solar 10 May"):
        _, calls = perform(ShowReport(about), {"report_list": REPORTS, "report_get": {"text": "x"}})
        assert calls[-1].arguments["id"] == MAY["id"]


def test_a_page_is_made_of_the_report_that_fits() -> None:
    made = {"id": JUNE["id"], "file": "x.html", "resource": "report://x", "size_bytes": 1}
    reply, calls = perform(RenderReport("solar"), {"report_list": REPORTS, "report_render": made})
    assert calls[-1].arguments == {"id": JUNE["id"]}
    assert reply == "“Solar power in Spain” (Friday 20 November) is a page now: x.html in the reports folder."


@pytest.mark.parametrize(
    ("one", "other", "old", "new"),
    [
        ("solar", "wind", WIND, JUNE),
        ("wind", "solar", WIND, JUNE),
        ("solar May", "solar November", MAY, JUNE),
        ("solar", "", MAY, JUNE),
        ("solar", "solar", MAY, JUNE),
        ("", "", WIND, JUNE),
        (str(JUNE["id"]), str(MAY["id"]), MAY, JUNE),
    ],
)
def test_the_earlier_report_is_compared_with_the_later(one: str, other: str, old: Any, new: Any) -> None:
    reply, calls = perform(CompareReports(one, other), {"report_list": REPORTS, "report_diff": CHANGES})
    assert calls[-1].arguments == {"old": old["id"], "new": new["id"]}
    assert reply.splitlines()[1:] == [
        "- number Price: 10 EUR → 8 EUR",
        "- new: source https://example.org/a: A page",
        "- gone: summary Prices rose.",
    ]


def test_reports_known_by_a_letter_are_told_apart() -> None:
    reply, calls = perform(CompareReports("A", "B"), {"report_list": LETTERS, "report_diff": {"differences": []}})
    assert calls[-1].arguments == {"old": f"report-{5:016x}", "new": f"report-{4:016x}"}
    assert reply.endswith("nothing changed that can be compared.")


def test_two_reports_are_needed_and_what_is_there_is_named() -> None:
    reply, calls = perform(CompareReports("wind", "coal"), {"report_list": REPORTS})
    assert reply == "I found only “Wind power” (Tuesday 10 November), and it takes two reports to compare."
    assert len(calls) == 1
    reply, _ = perform(CompareReports("coal", "gas"), {"report_list": REPORTS})
    assert reply.startswith("I found no report on “coal gas”. These are there:")


def test_many_differences_are_cut() -> None:
    rows = {"differences": [{"what": "number", "name": f"N{n}", "change": "added", "after": "1"} for n in range(20)]}
    reply, _ = perform(CompareReports("solar"), {"report_list": REPORTS, "report_diff": rows})
    assert reply.endswith("… and 5 more.")


@pytest.mark.parametrize("request_", [ListReports(), ShowReport("x"), RenderReport("x"), CompareReports("x", "y")])
def test_a_folder_that_cannot_be_read_is_said_plainly(request_: Request) -> None:
    reply, calls = perform(request_, {"report_list": failed("locked")})
    assert reply.endswith("your reports: locked")
    assert len(calls) == 1


@pytest.mark.parametrize("request_", [ShowReport("coal"), RenderReport("coal"), ListReports("coal")])
def test_a_report_that_is_not_there_is_not_invented(request_: Request) -> None:
    reply, calls = perform(request_, {"report_list": REPORTS})
    assert reply.startswith("I found no report on “coal”. These are there:\n- “Solar power in Spain”")
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("request_", "tool", "said"),
    [
        (ShowReport("wind"), "report_get", "I could not open “Wind power” (Tuesday 10 November): gone"),
        (RenderReport("wind"), "report_render", "I could not make a page of “Wind power” (Tuesday 10 November): gone"),
        (CompareReports("wind", "solar"), "report_diff", "I could not compare them: gone"),
    ],
)
def test_a_failed_call_is_never_called_done(request_: Request, tool: str, said: str) -> None:
    assert perform(request_, {"report_list": REPORTS, tool: failed("gone")})[0] == said
