"""Importing and exporting as a client of the server sees it: near (stdio, in this process) and far (HTTP)."""

from __future__ import annotations

import base64
import io
import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client as FastClient
from mcp import MCPError

from memory_mcp.app import build
from memory_mcp.storage.sqlite import FILE_NAME
from memory_mcp.transfer import service
from service_runtime.settings import load_settings
from tests.memory_mcp.serving import PATIENCE_S, TOKEN, WHO, Forked, call, here, refused, said
from tests.memory_mcp.world import opened


async def test_a_text_is_imported_and_a_second_time_known(tmp_path: Path) -> None:
    async with here(tmp_path) as client:
        first = await call(client, "memory_import", content="# Memory\n- Bo leads\n- Mia likes tea\n- " + "x" * 70_000)
        again = await call(client, "memory_import", content="- Bo leads")
        (entry,) = (await call(client, "memory_search", query="who leads"))["entries"]

    assert (first["format"], first["new"], first["known"], first["skipped"]) == ("memory-md", 2, 0, 1)
    assert first["first_skipped"][0]["reason"].startswith("The body has 70,000 bytes")
    assert (again["new"], again["known"]) == (0, 1)
    assert (entry["origin"], entry["untrusted"]) == ("MEMORY.md", True)


async def test_a_dry_run_says_that_it_was_one(tmp_path: Path) -> None:
    async with here(tmp_path) as client:
        told = await said(client, "memory_import", content="- Bo leads", dry_run=True)
        assert told == "Would be imported as memory-md: 1 new, 0 updated, 0 known already."
        assert (await call(client, "memory_list"))["entries"] == []


async def test_a_time_of_a_store_that_no_calendar_has_makes_no_answer_fail(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    with opened(tmp_path / "memory") as world:
        memory = world.stored("Bo leads.")
    with closing(sqlite3.connect(tmp_path / "memory" / FILE_NAME)) as connection, connection:
        connection.execute("UPDATE memory SET created_at_ms = 253402300799999")
    async with here(tmp_path) as client:
        (listed,) = (await call(client, "memory_list"))["entries"]
        (found,) = (await call(client, "memory_search", query="who leads"))["entries"]
        whole = (await call(client, "memory_get", id=memory.id))["memory"]
        assert "Bo leads." in (await call(client, "memory_recall", query="who leads"))["block"]

    assert {one["created_at"][:10] for one in (listed, found, whole)} == {"9999-12-31"}


async def test_an_export_is_a_link_that_can_be_read_and_imported_elsewhere(tmp_path: Path) -> None:
    async with here(tmp_path / "one") as client:
        old = (await call(client, "memory_remember", body="Bo leads.", scope="project:A b/c?"))["memory"]["id"]
        await call(client, "memory_update", id=old, body="Mia leads.")
        await call(client, "memory_remember", body="Oslo has trams.")
        result = await client.call_tool_mcp("memory_export", {"scope": "project:a B/C?"})
        assert result.structured_content is not None
        link = next(block for block in result.content if block.type == "resource_link")
        (content,) = await client.read_resource(link.uri)
        everything = await call(client, "memory_export")
    text = getattr(content, "text", "")
    async with here(tmp_path / "two") as client:
        done = await call(client, "memory_import", content=text)
        history = (await call(client, "memory_get", id=old))["memory"]

    assert (result.structured_content["live"], result.structured_content["superseded"]) == (1, 1)
    assert str(link.uri) == result.structured_content["uri"]
    assert (everything["uri"], everything["live"]) == ("memory://export/jsonl/all", 2)
    assert [json.loads(line).get("body") for line in text.splitlines()] == [None, "Bo leads.", "Mia leads."]
    assert (done["format"], done["new"]) == ("jsonl", 2)
    assert (history["status"], history["scope"]) == ("superseded", "project:A b/c?")


async def test_an_export_as_markdown_is_an_archive_of_files(tmp_path: Path) -> None:
    async with here(tmp_path) as client:
        memory = (await call(client, "memory_remember", body="Bo leads."))["memory"]["id"]
        uri = (await call(client, "memory_export", format="markdown"))["uri"]
        (content,) = await client.read_resource(uri)

    with zipfile.ZipFile(io.BytesIO(base64.b64decode(getattr(content, "blob", "")))) as archive:
        assert sorted(archive.namelist()) == ["MEMORY.md", f"memory/{memory}.md"]


async def test_too_large_an_export_is_not_linked_but_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MAX_LINKED_BYTES", 100)
    async with here(tmp_path) as client:
        await call(client, "memory_remember", body="Bo leads.")
        for name in ("jsonl", "markdown"):
            with pytest.raises(MCPError, match="run `memory-mcp export`, which writes any amount"):
                await client.read_resource(f"memory://export/{name}/all")
        assert (await call(client, "memory_search", query="Bo"))["entries"]


async def test_the_newest_memories_are_a_resource_and_recall_is_a_prompt(tmp_path: Path) -> None:
    async with here(tmp_path) as client:
        await call(client, "memory_remember", body="Bo leads.", source_url="https://example.org")
        (content,) = await client.read_resource("memory://MEMORY.md")
        names = [prompt.name for prompt in await client.list_prompts()]
        prompt = await client.get_prompt("recall", {"query": "who leads"})
        nothing = await client.get_prompt("recall", {"query": "the weather on Mars"})

    assert "— Bo leads. (untrusted)\n" in getattr(content, "text", "")
    assert names == ["recall"]
    assert "Bo leads." in getattr(prompt.messages[0].content, "text", "")
    assert "data with dates and ids" in getattr(prompt.messages[0].content, "text", "")
    assert "No memory is about this." in getattr(nothing.messages[0].content, "text", "")


async def test_what_was_edited_in_the_mirror_is_read_back_by_its_name(tmp_path: Path) -> None:
    async with here(tmp_path) as client:
        memory = (await call(client, "memory_remember", body="Bo leads."))["memory"]["id"]
    path = tmp_path / "memory" / "memory" / f"{memory}.md"
    path.write_text(path.read_text().replace("\n\nBo leads.", "\n\nMia leads."))
    async with here(tmp_path) as client:
        done = await call(client, "memory_import", path="MEMORY.md")
        (entry,) = (await call(client, "memory_list"))["entries"]

    assert (done["updated"], done["new"]) == (1, 0)
    assert (entry["snippet"], entry["origin"]) == ("Mia leads.", "by hand")


async def test_the_mirror_can_be_switched_off(tmp_path: Path) -> None:
    settings = load_settings({"PROMETHEUS_HOME": str(tmp_path), "PROMETHEUS_MEMORY_MIRROR": "off"}, tmp_path)
    async with FastClient(build(settings), client_info=WHO) as client:
        await call(client, "memory_remember", body="Bo leads.")
        assert "memory_import" in [tool.name for tool in await client.list_tools()]

    assert [path.name for path in (tmp_path / "memory").iterdir()] == ["memory.db"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "Send either a path or content"),
        ({"path": "/nowhere/x.md"}, "no such file or folder"),
        ({"path": "/etc/passwd"}, "ends with"),
        ({"content": "- x", "format": "notion"}, "There is no format 'notion'"),
        ({"content": "x" * 1_000_001}, "content"),
        ({"content": '{"a": 1}'}, "cannot be told"),
    ],
)
async def test_a_refused_import_is_one_sentence(tmp_path: Path, arguments: dict[str, Any], sentence: str) -> None:
    async with here(tmp_path) as client:
        told = await refused(client, "memory_import", **arguments)

    assert sentence in told
    assert "\n" not in told


@pytest.mark.slow  # starts processes
async def test_over_http_only_the_import_folder_can_be_read(forked: Forked, tmp_path: Path) -> None:
    inside, outside, home = tmp_path / "in", tmp_path / "out", tmp_path / "home"
    for folder in (inside, outside, home):
        folder.mkdir()
        (folder / "a.md").write_text(f"- from {folder.name}")
    with forked.http(home, PROMETHEUS_MEMORY_IMPORT_FOLDER=str(inside)) as url:
        async with FastClient(url, auth=TOKEN, client_info=WHO, timeout=PATIENCE_S) as client:
            for path in (str(outside / "a.md"), "../out/a.md", str(home), "/etc/hosts"):
                assert "cannot be read from here" in await refused(client, "memory_import", path=path)
            assert (await call(client, "memory_import", path="a.md"))["new"] == 1
    with forked.http(home) as url:
        async with FastClient(url, auth=TOKEN, client_info=WHO, timeout=PATIENCE_S) as client:
            told = await refused(client, "memory_import", path=str(inside / "a.md"))
            assert "PROMETHEUS_MEMORY_IMPORT_FOLDER" in told


@pytest.mark.slow  # starts processes
async def test_over_stdio_any_path_of_the_person_can_be_read(forked: Forked, tmp_path: Path) -> None:
    (tmp_path / "a b.md").write_text("- Bo leads")
    async with forked.stdio(tmp_path) as client:
        assert (await call(client, "memory_import", path=str(tmp_path / "a b.md")))["new"] == 1
