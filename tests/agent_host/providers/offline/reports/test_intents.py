import pytest

from agent_host.providers.offline.reports.intents import compare_reports, list_reports, render_report, show_report
from agent_host.providers.offline.reports.requests import CompareReports, ListReports, RenderReport, ShowReport

ID = "report-0123456789abcdef"


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("list my reports", ""),
        ("reports", ""),
        ("show me all my research reports", ""),
        ("what reports do I have?", ""),
        ("which reports are there?", ""),
        ("do I have reports on solar power?", "solar power"),
        ("any reports about “mem0”?", "mem0"),
        ("have I got a report about mem0?", "mem0"),
    ],
)
def test_reports_are_listed(text: str, about: str) -> None:
    assert list_reports(text) == ListReports(about)


@pytest.mark.parametrize(
    ("text", "about", "whole"),
    [
        ("show the report on solar", "solar", False),
        ("show me the whole report on solar power.", "solar power", True),
        ("open my last report", "", False),
        ("read the solar report", "solar", False),
        ("summarise the report about mem0", "mem0", False),
        ("what does the report on mem0 say?", "mem0", False),
        ("what's in my latest research report?", "", False),
        (f"show report {ID}", ID, False),
    ],
)
def test_a_report_is_shown_by_what_it_is_about(text: str, about: str, whole: bool) -> None:
    assert show_report(text) == ShowReport(about, whole)


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("make a page of the report on solar", "solar"),
        ("render my last report", ""),
        ("export the solar report as html", "solar"),
        ("turn the report on solar into a web page", "solar"),
        (f"render {ID}", ID),
    ],
)
def test_a_page_is_made_of_a_report(text: str, about: str) -> None:
    assert render_report(text) == RenderReport(about)


@pytest.mark.parametrize(
    ("text", "one", "other"),
    [
        ("what changed between report A and report B?", "A", "B"),
        ("what changed between report A and B", "A", "B"),
        ("what's changed between the reports on solar and wind?", "solar", "wind"),
        ("what is the difference between the report on solar and the one on wind?", "solar", "wind"),
        ("compare the solar report with the wind report", "solar", "wind"),
        ("what changed between the May report and the June report?", "May", "June"),
        (f"diff {ID} and {ID}", ID, ID),
        (f"what changed between report {ID} and report {ID}?", ID, ID),
        ("what changed since the last report on solar?", "solar", ""),
        ("what's new in my report on solar?", "solar", ""),
        ("compare the last two reports on solar", "solar", ""),
        ("compare my last two reports", "", ""),
        ("compare the solar and wind reports", "solar", "wind"),
        ("what changed between the solar and the wind report?", "solar", "wind"),
        ("what's the difference between my reports on solar and wind?", "solar", "wind"),
    ],
)
def test_two_reports_are_compared(text: str, one: str, other: str) -> None:
    assert compare_reports(text) == CompareReports(one, other)


@pytest.mark.parametrize(
    "text",
    [
        *("write a report on solar", "report on solar", "research solar", "compare apples with pears", "report", ""),
        *("what changed?", "what's new?", "list my notes", "show my groceries list", "what changed since Friday"),
    ],
)
def test_other_sentences_ask_for_no_report(text: str) -> None:
    assert [read(text) for read in (list_reports, show_report, render_report, compare_reports)] == [None] * 4
