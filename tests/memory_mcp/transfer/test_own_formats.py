"""Our own exports: nothing is lost on the way out and in again."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from memory_mcp import intake
from memory_mcp.errors import InvalidArgumentError, NotCurrentError
from memory_mcp.indexing import index_text
from memory_mcp.model import Memory, Origin, Status, Trust
from memory_mcp.scopes import parse_scope
from memory_mcp.storage.postgres import open_postgres
from memory_mcp.storage.sqlite import SqliteStore
from memory_mcp.transfer import giving_out
from memory_mcp.transfer.fields import fields_of, kept_of
from memory_mcp.transfer.formats.own import HEADER
from memory_mcp.transfer.items import Manner
from memory_mcp.transfer.service import export_format
from tests.memory_mcp.world import ORIGIN, ZONE, World, content, opened
from tests.postgres_server import PostgresServer

WEB = Origin("claude-ai", Trust.WEB)
PERSON = Origin("cursor", Trust.USER)


def fill(world: World) -> None:
    """A store with something of everything: history, tags, dates, a conversation, the web, forgotten and erased."""
    first = world.stored("Bo leads.", subject="Bo", tags=["people", "a b"], happened_at="2026-05-08")
    world.memory.update(first.id, intake.changes(body="Mia leads.", tags=[]), PERSON)
    for number in range(3):
        world.remember(f"Turn {number}: who leads?", kind="episode", scope="project:Company brain", episode="chat 1")
    turn = world.stored("Turn 3.", kind="episode", scope="project:Company brain", episode="chat 1")
    world.memory.update(turn.id, intake.changes(body="Turn 3, corrected."), ORIGIN)
    world.memory.remember(content("Oslo has trams.", source_url="https://example.org/a?b=1#c"), WEB)
    world.remember(
        "— ★ 🎉 Привет 用户\n---\n- a: \"b\" \\ 'c'\n\n\x00\x7f\u2028 end", subject='"quoted": [yes]', tags=["yes", "1"]
    )
    gone = world.stored("Forget me.", happened_at="2026-05-08T10:00:00+05:30")
    world.memory.forget(gone.id, PERSON)
    world.stored("Forget me.")
    secret = world.stored("The code is 4711.", subject="code", tags=["secret"])
    world.memory.forget(secret.id, ORIGIN, hard=True)
    world.remember("Bo leads.", scope="project:x")
    world.remember("mia LEADS.")


def alike(memories: list[Memory]) -> list[Memory]:
    """Memories without what only says where they lie in one file, and how long an erased text was."""
    placed = [replace(memory, number=place, episode_number=None) for place, memory in enumerate(memories)]
    return [replace(memory, words=0, distinct_terms=0) if memory.erased else memory for memory in placed]


def exported(world: World, folder: Path, form: str) -> Path:
    """An export on disk: JSON lines, a folder or a zip archive of Markdown."""
    if form == "jsonl":
        path = folder / "memories.jsonl"
        path.write_text("".join(giving_out.jsonl(world.all())), encoding="utf-8", newline="")
        return path
    if form == "zip":
        path = folder / "memories.zip"
        path.write_bytes(giving_out.zipped(giving_out.markdown_files(world.all())))
        return path
    for name, text in giving_out.markdown_files(world.all()):
        path = folder / "export" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return folder / "export"


@pytest.mark.parametrize("form", ["jsonl", "folder", "zip"])
def test_an_export_brings_every_memory_back_as_it_was(world: World, tmp_path: Path, form: str) -> None:
    fill(world)
    path = exported(world, tmp_path, form)
    (tmp_path / "new").mkdir()
    with opened(tmp_path / "new", first_id=5000) as other:
        done = other.take_in(path)

        assert (done.skipped, done.known, done.updated) == ([], 0, [])
        assert done.format == ("jsonl" if form == "jsonl" else "markdown")
        assert len(done.new) == len(world.all())
        assert alike(other.all()) == alike(world.all())
        for query in ("who leads", "oslo trams", "用户", "turn 3"):
            assert other.bodies(query, include_retired=True) == world.bodies(query, include_retired=True)


@pytest.mark.parametrize("form", ["jsonl", "folder", "zip"])
def test_importing_an_export_again_changes_nothing(world: World, tmp_path: Path, form: str) -> None:
    fill(world)
    before = world.all()
    path = exported(world, tmp_path, form)

    done = world.take_in(path)

    assert (done.new, done.updated, done.skipped) == ([], [], [])
    assert done.known == len(before)
    assert world.all() == before


def test_what_was_forgotten_since_an_export_does_not_come_back(world: World, tmp_path: Path) -> None:
    memory = world.stored("The code is 4711.")
    path = exported(world, tmp_path, "jsonl")
    world.memory.forget(memory.id, ORIGIN, hard=True)
    (tmp_path / "new").mkdir()
    with opened(tmp_path / "new", first_id=5000) as other:
        other.memory.forget(other.stored("The code is 4711.").id, ORIGIN)
        skipped = other.take_in(path).skipped

    world.take_in(path)
    assert world.everything() == []
    assert [one.reason for one in skipped] == ["It was corrected or forgotten here (mem_00000000000000001388)."]


def test_a_memory_that_is_here_under_another_id_stands_for_the_imported_one(world: World, tmp_path: Path) -> None:
    old = world.stored("Bo leads.")
    new = world.memory.update(old.id, intake.changes(body="Mia leads."), ORIGIN).memory
    path = exported(world, tmp_path, "jsonl")
    (tmp_path / "new").mkdir()
    with opened(tmp_path / "new", first_id=5000) as other:
        here = other.stored("mia leads.")
        done = other.take_in(path)

        assert (done.new, done.known) == ([old.id], 1)
        assert other.memory.get(old.id).memory.superseded_by == here.id
        assert new.id not in {memory.id for memory in other.all()}


def test_a_text_that_a_caller_sends_states_no_trust_of_its_own(world: World, tmp_path: Path) -> None:
    world.memory.remember(content("Mia likes tea."), PERSON)
    world.memory.remember(content("Oslo has trams."), WEB)
    text = exported(world, tmp_path, "jsonl").read_text(encoding="utf-8")
    (tmp_path / "new").mkdir()
    with opened(tmp_path / "new", first_id=5000) as other:
        other.take_in(text)

        assert [memory.origin for memory in other.all()] == [Origin("cursor", Trust.IMPORT), WEB]


def test_a_bad_line_is_left_out_with_its_reason_and_the_others_come_in(world: World) -> None:
    row = {"id": "mem_" + "a" * 20, "body": "Bo leads.", "created_at_ms": 1, "origin": "x", "trust": "agent"}
    bad = [
        {**row, "id": "x"},
        {**row, "body": ""},
        {**row, "created_at_ms": "yesterday"},
        {**row, "created_at_ms": None},
        {**row, "created_at_ms": -253_402_300_799_999},
        {**row, "created_at_ms": 253_402_300_799_999},
        {**row, "trust": "friend"},
        {**row, "tags": "a"},
        {**row, "position": 3},
        {**row, "erased": True},
        {**row, "erased": True, "body_hash": "0" * 64},
        {**row, "scope": "all"},
        ["x"],
    ]
    lines = [json.dumps(HEADER), *map(json.dumps, bad), "{half", json.dumps(row)]

    done = world.take_in("\n".join(lines))

    assert done.new == [row["id"]]
    assert [one.where for one in done.skipped] == [f"content.json line {number}" for number in range(2, 16)]
    assert all(one.reason.endswith(".") for one in done.skipped)


def _row(letter: str, **fields: Any) -> dict[str, Any]:
    """A line of an export."""
    row = {"id": "mem_" + letter * 20, "body": f"Body {letter}.", "created_at_ms": 1, "origin": "x", "trust": "agent"}
    return row | fields


@pytest.mark.parametrize("circle", ["a", "ab", "abc"])
def test_lines_that_replace_one_another_in_a_circle_are_left_out_and_nothing_hangs(world: World, circle: str) -> None:
    rows = [
        _row(letter, superseded_by="mem_" + circle[place - 1] * 20, retired_at_ms=2)
        for place, letter in enumerate(circle)
    ]
    rows.append(_row("d", superseded_by="mem_" + "a" * 20, retired_at_ms=2))

    done = world.take_in("\n".join(map(json.dumps, [HEADER, *rows])))

    assert done.new == ["mem_" + "d" * 20]
    reasons = {one.reason for one in done.skipped}
    assert (len(done.skipped), reasons) == (
        len(circle),
        {"It is said to be replaced by itself, or by what it replaced."},
    )
    with pytest.raises(NotCurrentError, match="was superseded"):
        world.memory.update("mem_" + "d" * 20, intake.changes(body="New."), ORIGIN)


def test_a_circle_that_an_import_would_close_with_what_is_stored_is_seen(world: World) -> None:
    world.take_in(json.dumps(_row("a", superseded_by="mem_" + "b" * 20, retired_at_ms=2)), format_name="jsonl")

    second = json.dumps(_row("b", superseded_by="mem_" + "a" * 20, retired_at_ms=2))
    assert len(world.take_in(second, format_name="jsonl").skipped) == 1


def test_a_store_that_has_versions_in_a_circle_still_answers(world: World) -> None:
    one, two = world.stored("Bo leads."), world.stored("Mia leads.")
    with world.store.writing() as writer:
        writer.supersede(one, index_text(one.content), two.id, 5)
        writer.supersede(two, index_text(two.content), one.id, 6)

    with pytest.raises(NotCurrentError, match=two.id):
        world.memory.update(one.id, intake.changes(body="New."), ORIGIN)
    assert world.memory.forget(one.id, ORIGIN, hard=True).remains == (f"the version {two.id}",)


def test_no_odd_value_in_a_line_is_more_than_a_line_left_out(world: World) -> None:
    fill(world)
    manner = Manner(ZONE, parse_scope(None), vouched=True)
    odds: tuple[Any, ...] = (None, True, -1, 10**30, 1.5, "", "x", "\ud83d", [], [[]], {}, "9" * 5000)
    good = 0
    for memory in world.all():
        fields = fields_of(memory)
        for name in fields:
            for odd in odds:
                with contextlib.suppress(InvalidArgumentError):
                    kept_of({**fields, name: odd}, manner, "here")
                    good += 1

    assert good > 100


def test_an_export_of_a_newer_program_is_refused_whole(world: World) -> None:
    with pytest.raises(InvalidArgumentError, match="has version 2, this program knows 1; nothing was imported"):
        world.take_in('{"format": "prometheus-memory", "version": 2}\n{"id": "x"}')


def test_an_export_can_be_of_one_scope_and_of_live_memories_only(world: World) -> None:
    fill(world)
    with world.transfer.memories("project:company BRAIN") as memories:
        scoped = list(memories)
    with world.transfer.memories(live_only=True) as memories:
        live = list(memories)

    assert {memory.content.scope.name for memory in scoped} == {"project:Company brain"}
    assert {memory.status for memory in live} == {Status.LIVE}
    assert len(live) == len(world.everything())
    counts = world.transfer.counts()
    assert (counts[Status.FORGOTTEN], counts[Status.ERASED], counts[Status.SUPERSEDED]) == (1, 1, 2)


def test_an_export_format_is_one_of_two() -> None:
    assert [export_format(name) for name in (None, " ", "JSONL", "markdown")] == ["jsonl", "jsonl", "jsonl", "markdown"]
    with pytest.raises(InvalidArgumentError, match="no export format 'pdf'; send jsonl or markdown"):
        export_format("pdf")


@pytest.mark.parametrize("form", ["jsonl", "zip"])
def test_an_export_moves_a_store_to_postgresql_and_back_whole(
    world: World, tmp_path: Path, postgres: PostgresServer, form: str
) -> None:
    fill(world)
    server = open_postgres(postgres.address(postgres.new_role(), postgres.shared_database()))
    try:
        there = World(cast("SqliteStore", server), first_id=5000)
        done = there.take_in(exported(world, tmp_path, form))
        assert (len(done.new), done.skipped) == (len(world.all()), [])
        moved = there.all()
        (tmp_path / "back").mkdir()
        back = exported(there, tmp_path / "back", form)
    finally:
        server.close()
    (tmp_path / "new").mkdir()
    with opened(tmp_path / "new", first_id=9000) as other:
        other.take_in(back)
        assert alike(other.all()) == alike(moved) == alike(world.all())
