from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.tools_mcp.reports.samples import METRICS, SOURCES, fence, report
from tests.tools_mcp.running import ERAS, call, here, over_stdio, refused, settings
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


@pytest.mark.parametrize("content", [b"", b"[]", b'{"id": 1}', b"\xff", b"[" * 5000])
def test_damaged_facts_about_a_report_hide_it_and_nothing_else(folder: ReportFolder, content: bytes) -> None:
    _, kept = folder.save(read(), "global", None)
    _, damaged = folder.save(read("# Other"), "global", None)
    (folder.root / f"{damaged.id}.json").write_bytes(content)
    assert folder.newest(None) == [kept]


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
        saved = await call(client, "report_save", markdown=broken, sources_seen=[SOURCES[0]["url"]])
        got = await call(client, "report_get", id=saved["report"]["id"])
    assert (saved["valid"], [one["rule"] for one in saved["problems"]]) == (False, ["metrics-count"])
    assert got["text"] == broken


async def test_a_text_without_a_report_saves_nothing(tmp_path: Path) -> None:
    async with here("reports", tmp_path) as client:
        said = await refused(client, "report_save", markdown=f"```\n{report(Numbers=None)}")
        listed = await call(client, "report_list")
    assert "The text holds no report" in said
    assert listed["reports"] == []


async def test_a_validation_names_lines_rules_and_unseen_sources(tmp_path: Path) -> None:
    async with here("reports", tmp_path) as client:
        good = await call(client, "report_validate", markdown=report(), sources_seen=json.dumps([SOURCES[0]["url"]]))
        bad = await call(client, "report_validate", markdown=report(Gaps=None) + "tail", sources_seen=[])
    assert good == {"valid": True, "problems": []}
    assert not bad["valid"]
    assert [one["rule"] for one in bad["problems"]] == ["sources-last", "source-unseen"]
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


async def test_two_processes_keep_one_copy_of_one_report(tmp_path: Path) -> None:
    async with over_stdio("reports", tmp_path, ERAS[0]) as one, over_stdio("reports", tmp_path, ERAS[1]) as other:
        made = await asyncio.gather(*(call(client, "report_save", markdown=report()) for client in (one, other) * 4))
    assert sorted(answer["status"] for answer in made) == [*["exists"] * 7, "saved"]
