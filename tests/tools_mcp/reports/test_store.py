from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.tools_mcp.reports.samples import BARS, FETCHED, METRICS, fence, report
from tests.tools_mcp.running import call, here, refused, settings, text_of
from tools_mcp.errors import InvalidInputError, NotFoundError, StoreError
from tools_mcp.reports.model import Report
from tools_mcp.reports.reading import read_report
from tools_mcp.reports.store import ReportFolder, check, open_reports

AT = datetime(2026, 11, 30, 9, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> ReportFolder:
    return open_reports(settings(tmp_path))


def read(title: str = "# Heat pumps") -> Report:
    found = read_report(report(title)).report
    assert found is not None
    return found


def test_a_report_is_kept_as_it_was_written_in_private_files(folder: ReportFolder) -> None:
    is_new, saved = folder.save(read(), "global", ["https://example.org"])
    assert is_new
    assert folder.read(saved.id) == (saved, report("# Heat pumps"))
    files = [path for path in folder.root.iterdir() if path.is_file()]
    assert sorted(path.name for path in files) == [f"{saved.id}.json", f"{saved.id}.md"]
    assert not [path for path in files if path.stat().st_mode & 0o077]


def test_the_same_report_is_kept_once_a_scope(folder: ReportFolder) -> None:
    first = folder.save(read(), "global", None)
    assert folder.save(read(), "global", None) == (False, first[1])
    assert folder.save(read(), "project:home", None)[1].id != first[1].id
    assert [one.scope for one in folder.newest("global")] == ["global"]
    assert len(folder.newest(None)) == 2


def test_the_newest_comes_first(folder: ReportFolder) -> None:
    for day in (2, 3, 1):
        at = AT + timedelta(days=day)
        ReportFolder(folder.root, folder.zone, lambda at=at: at, folder.lock).save(read(f"# Day {day}"), "global", None)  # type: ignore[misc]
    assert [one.title for one in folder.newest(None)] == ["Day 3", "Day 2", "Day 1"]


@pytest.mark.parametrize(
    "report_id", ["", "report-1", "../report-0123456789abcdef", "report-0123456789abcdef", "x" * 400]
)
def test_an_unknown_id_is_told(folder: ReportFolder, report_id: str) -> None:
    with pytest.raises(NotFoundError, match="report_list tells the ids"):
        folder.read(report_id)


def test_a_file_that_is_no_report_any_more_is_told(folder: ReportFolder) -> None:
    _, saved = folder.save(read(), "global", None)
    (folder.root / f"{saved.id}.md").write_text("gone\n")
    with pytest.raises(NotFoundError, match="holds no report any more"):
        folder.whole(saved.id)


GOOD = (
    b'{"id": "ID", "title": "t", "summary": [], "scope": "global", "saved_at_ms": 1,'
    b' "sources_seen": null, "memory_id": null}'
)


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"[]", b'{"id": 1}', b"\xff", b"[" * 5000),
        GOOD.replace(b'ms": 1', b'ms": 1000000000000000000'),
        GOOD.replace(b'ms": 1', b'ms": Infinity'),
        GOOD.replace(b'ms": 1', b'ms": -1'),
        GOOD.replace(b'ms": 1', b'ms": true'),
        GOOD.replace(b'"ID"', b'"../messages/x"'),
        GOOD.replace(b'"t"', b'"\\ud800"'),
        GOOD.replace(b'"t"', b"3"),
        GOOD.replace(b"[]", b"{}"),
    ],
)
def test_damaged_facts_about_a_report_hide_it_and_nothing_else(folder: ReportFolder, content: bytes) -> None:
    _, kept = folder.save(read(), "global", None)
    _, damaged = folder.save(read("# Other"), "global", None)
    (folder.root / f"{damaged.id}.json").write_bytes(content.replace(b"ID", damaged.id.encode()))
    assert folder.newest(None) == [kept]
    assert folder.damaged() == [f"{damaged.id}.json"]
    with pytest.raises(NotFoundError, match="report_list tells the ids"):
        folder.whole(damaged.id)
    assert folder.save(read("# Other"), "global", None)[0]
    assert folder.damaged() == []


def test_a_report_in_another_encoding_is_told(folder: ReportFolder) -> None:
    _, saved = folder.save(read(), "global", None)
    (folder.root / f"{saved.id}.md").write_bytes(report("# Gr\u00fcn").encode("latin-1", "replace"))
    with pytest.raises(NotFoundError, match="is no UTF-8 text; save it anew"):
        folder.whole(saved.id)


async def test_one_odd_file_hides_no_other_report_and_is_named(tmp_path: Path) -> None:
    async with here("reports", tmp_path) as client:
        saved = await call(client, "report_save", markdown=report())
        (tmp_path / "reports" / "report-0123456789abcdef.json").write_text('{"saved_at_ms": 1e400}')
        (tmp_path / "reports" / "report-mine.json").write_text("{}")
        listed = await call(client, "report_list")
        again = await client.call_tool("report_list", {})
    assert [one["id"] for one in listed["reports"]] == [saved["report"]["id"]]
    assert listed["damaged"] == ["report-0123456789abcdef.json", "report-mine.json"]
    assert "Not readable any more: report-0123456789abcdef.json" in text_of(again)


def test_a_report_that_is_too_large_is_refused(folder: ReportFolder) -> None:
    huge = read_report(report(Gaps="word " * 90_000)).report
    assert huge is not None
    with pytest.raises(InvalidInputError, match="keep it under"):
        folder.save(huge, "global", None)
    assert folder.newest(None) == []


def test_a_full_disk_is_told_and_leaves_no_half_report(folder: ReportFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tools_mcp.reports.store.secure_write", refuse)
    with pytest.raises(StoreError, match="no space left on device"):
        folder.save(read(), "global", None)
    assert folder.newest(None) == []


def test_check_counts_the_reports(tmp_path: Path) -> None:
    open_reports(settings(tmp_path)).save(read(), "global", None)
    assert check(settings(tmp_path)) == "reports: 1 reports"


async def test_a_report_that_breaks_rules_is_kept_whole_and_told(tmp_path: Path) -> None:
    broken = report(Numbers=fence("metrics", METRICS[:1]))
    async with here("reports", tmp_path) as client:
        saved = await call(client, "report_save", markdown=broken, sources_seen=FETCHED)
        got = await call(client, "report_get", id=saved["report"]["id"])
    assert (saved["valid"], [one["rule"] for one in saved["problems"]]) == (False, ["metrics-count"])
    assert got["text"] == broken


async def test_a_report_knows_the_memory_that_holds_it_from_the_first_time_or_later(tmp_path: Path) -> None:
    async with here("reports", tmp_path) as client:
        first = await call(client, "report_save", markdown=report())
        later = await call(client, "report_save", markdown=report(), memory_id="m_1")
        again = await call(client, "report_save", markdown=report())
        other = await call(client, "report_save", markdown=report("# Other"), memory_id="m_2")
        wrong = await refused(client, "report_save", markdown=report(), memory_id="x" * 201)
    assert "memory_id" not in first
    assert [(one["status"], one["memory_id"]) for one in (later, again)] == [("exists", "m_1")] * 2
    assert later["report"] == first["report"]
    assert (other["status"], other["memory_id"]) == ("saved", "m_2")
    assert "memory_id" in wrong


async def test_a_text_without_a_report_saves_nothing(tmp_path: Path) -> None:
    async with here("reports", tmp_path) as client:
        said = await refused(client, "report_save", markdown=f"```\n{report(Numbers=None)}")
        listed = await call(client, "report_list")
    assert "The text holds no report" in said
    assert listed["reports"] == []


async def test_a_validation_names_lines_rules_and_unseen_sources(tmp_path: Path) -> None:
    async with here("reports", tmp_path) as client:
        good = await call(client, "report_validate", markdown=report(), sources_seen=json.dumps(FETCHED))
        bad = await call(client, "report_validate", markdown=report(Gaps=None) + "tail", sources_seen=[])
    assert good == {"valid": True, "problems": []}
    assert not bad["valid"]
    assert [one["rule"] for one in bad["problems"]] == ["sources-last", "source-unseen", "source-unseen"]
    assert all(one["line"] > 1 for one in bad["problems"])


@pytest.mark.parametrize("form", ["markdown", "html", "digest", "json"])
async def test_every_format_comes_whole_in_parts_that_meet(tmp_path: Path, form: str) -> None:
    long = report(Gaps='用 " \\ word\n\n' * 1200)
    async with here("reports", tmp_path) as client:
        saved = await call(client, "report_save", markdown=long)
        report_id, text, cursor = saved["report"]["id"], "", None
        while True:
            result = await client.call_tool("report_get", {"id": report_id, "format": form, "cursor": cursor})
            assert len(json.dumps(result.structured_content, ensure_ascii=False).encode()) < 20_000
            answer = result.structured_content or {}
            text += answer["text"]
            cursor = answer.get("next_cursor")
            if cursor is None:
                break
        said = await refused(client, "report_get", id=report_id, format="json", cursor="WyJyZXBvcnQiLDEsIngiXQ")
    if form == "markdown":
        assert text == long
    if form == "json":
        assert json.loads(text)["title"] == "Heat pumps in Europe"
    assert "of another report or format" in said


async def test_a_page_is_a_file_and_a_resource(tmp_path: Path) -> None:
    async with here("reports", tmp_path) as client:
        saved = await call(client, "report_save", markdown=report())
        made = await call(client, "report_render", id=saved["report"]["id"])
        (resource,) = await client.read_resource(made["resource"])
    html = (tmp_path / "reports" / made["file"]).read_text()
    assert html.startswith("<!doctype html>")
    assert getattr(resource, "text", "") == html
    assert made["size_bytes"] == len(html.encode())


async def test_a_page_tells_what_of_the_report_could_not_be_read(tmp_path: Path) -> None:
    async with here("reports", tmp_path) as client:
        saved = await call(client, "report_save", markdown=report(Numbers=fence("chart", BARS | {"type": "pie"})))
        made = await call(client, "report_render", id=saved["report"]["id"])
        fine = await call(client, "report_save", markdown=report())
        whole = await call(client, "report_render", id=fine["report"]["id"])
    assert (made["valid"], [one["rule"] for one in made["problems"]]) == (False, ["chart-type"])
    assert (whole["valid"], whole["problems"]) == (True, [])
    assert "This block could not be read" in (tmp_path / "reports" / made["file"]).read_text()


async def test_what_other_people_wrote_comes_back_as_untrusted(tmp_path: Path) -> None:
    async with here("reports", tmp_path) as client:
        saved = await call(client, "report_save", markdown=report())
        place = saved["report"]["id"]
        got = await call(client, "report_get", id=place)
        listed = await call(client, "report_list")
        diff = await call(client, "report_diff", old=place, new=place)
    assert [one["untrusted"] for one in (got, listed, diff)] == [True, True, True]


async def test_many_differences_outside_ascii_fit_in_one_answer(tmp_path: Path) -> None:
    def compare(word: str) -> str:
        row = {"name": word * 190, "cells": [word * 190] * 60}
        return fence("compare", {"columns": [f"{number}" for number in range(60)], "rows": [row]})

    async with here("reports", tmp_path) as client:
        old = await call(client, "report_save", markdown=report(Comparison=compare("用")))
        new = await call(client, "report_save", markdown=report(Comparison=compare("字")))
        result = await client.call_tool("report_diff", {"old": old["report"]["id"], "new": new["report"]["id"]})
    told = json.dumps([result.structured_content, text_of(result)], ensure_ascii=False).encode()
    assert len(told) < 40_000
    assert (result.structured_content or {})["more"] > 1


async def test_reports_that_differ_in_nothing_but_spacing_are_told_so(tmp_path: Path) -> None:
    async with here("reports", tmp_path) as client:
        old = await call(client, "report_save", markdown=report())
        new = await call(client, "report_save", markdown=report().replace("## Gaps\n", "## Gaps\n\n"))
        ids = old["report"]["id"], new["report"]["id"]
        spaced = await client.call_tool("report_diff", {"old": ids[0], "new": ids[1]})
        same = await client.call_tool("report_diff", {"old": ids[0], "new": ids[0]})
    assert text_of(spaced) == "Only order, spacing or marking changed."
    assert text_of(same) == "Nothing changed."


async def test_what_changed_since_is_told_by_two_ids(tmp_path: Path) -> None:
    newer = report(Summary="- Prices rose.")
    async with here("reports", tmp_path) as client:
        old = await call(client, "report_save", markdown=report())
        new = await call(client, "report_save", markdown=newer)
        diff = await call(client, "report_diff", old=old["report"]["id"], new=new["report"]["id"])
        same = await call(client, "report_diff", old=old["report"]["id"], new=old["report"]["id"])
    assert ("summary", "Prices rose.", "added") in {
        (one["what"], one["name"], one["change"]) for one in diff["differences"]
    }
    assert same["differences"] == []
