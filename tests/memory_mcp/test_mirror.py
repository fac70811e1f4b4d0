"""MEMORY.md and a file per fact: written after each change, and what a person wrote there is read back, never lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from memory_mcp import intake
from memory_mcp.mirror import pages
from memory_mcp.mirror.files import FileMirror
from memory_mcp.model import Memory, Origin, Status, Trust
from memory_mcp.storage.sqlite import FILE_NAME, open_sqlite
from memory_mcp.transfer.service import Gate
from memory_mcp.transfer.taking_in import Taken
from tests.memory_mcp.world import ORIGIN, World

PERSON = Origin("by hand", Trust.USER)


class Mirrored(World):
    """A world whose store is mirrored into its folder."""

    def __init__(self, folder: Path, first_id: int = 1) -> None:
        self.folder = folder
        self.store = open_sqlite(folder / FILE_NAME)
        self.files = FileMirror(self.store, folder)
        super().__init__(self.store, first_id=first_id, mirror=self.files)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.files.close()
        self.store.close()

    def file(self, memory: Memory) -> Path:
        """The file of a memory."""
        return self.folder / "memory" / f"{memory.id}.md"

    @property
    def index(self) -> str:
        """What MEMORY.md says once everything is written."""
        assert self.files.flush(30)
        return (self.folder / "MEMORY.md").read_text()

    def shown(self) -> list[str]:
        """The ids of the memories that have a file, once everything is written."""
        assert self.files.flush(30)
        return sorted(path.stem for path in (self.folder / "memory").glob("*.md"))

    def read_back(self) -> Taken:
        """Import the folder of the mirror."""
        return self.take_in(self.folder, gate=Gate(any_path=True, mirror=self.folder))


@pytest.fixture
def mirrored(tmp_path: Path) -> Iterator[Mirrored]:
    """A world with a mirror."""
    with Mirrored(tmp_path) as world:
        yield world


def update(world: World, memory: Memory, **changes: Any) -> Memory:
    """Update a memory and return the new version."""
    return world.memory.update(memory.id, intake.changes(**changes), ORIGIN).memory


def test_a_memory_has_a_file_with_front_matter_and_a_line_in_the_index(mirrored: Mirrored) -> None:
    memory = mirrored.stored("Bo leads the team.", subject="Bo [boss]", tags=["a"], happened_at="2026-05-08")

    assert mirrored.shown() == [memory.id]
    text = mirrored.file(memory).read_text()
    assert text.startswith('---\nname: "Bo [boss]"\ndescription: "Bo leads the team."\nmetadata:\n  type: "fact"\nid: ')
    assert text.endswith("\n---\n\nBo leads the team.\n")
    assert f"- [Bo (boss)](memory/{memory.id}.md) — Bo leads the team. (2026-05-08)\n" in mirrored.index
    assert mirrored.index.startswith("# Memory\n\n- [")


def test_the_files_follow_every_change(mirrored: Mirrored) -> None:
    old = mirrored.stored("Bo leads.")
    new = update(mirrored, old, body="Mia leads.")
    gone = mirrored.stored("Forget me.")
    mirrored.memory.forget(gone.id, ORIGIN)
    mirrored.remember("A turn.", kind="episode")

    assert mirrored.shown() == [new.id]
    assert "Mia leads." in mirrored.index
    assert "A turn." in mirrored.index
    assert "Forget me." not in mirrored.index


def test_an_erased_text_leaves_the_mirror_before_the_answer(mirrored: Mirrored) -> None:
    memory = mirrored.stored("The code is 4711.")
    assert mirrored.shown() == [memory.id]

    done = mirrored.memory.forget(memory.id, ORIGIN, hard=True)

    assert done.remains == ()
    for path in mirrored.folder.rglob("*"):
        assert not path.is_file() or b"4711" not in path.read_bytes()


def _orphans(folder: Path, memory: Memory) -> None:
    """What a writer leaves that is killed between writing and renaming, and files that are not ours."""
    (folder / "memory").mkdir(exist_ok=True)
    for path in (f"memory/.{memory.id}.md.x1y2z3_4.tmp", ".MEMORY.md.abcdefgh.tmp", ".MEMORY.current.md.abcdefgh.tmp"):
        (folder / path).write_text("The code is 4711.")
    (folder / ".notes.md.abcdefgh.tmp").write_text("mine")


def test_an_erased_text_leaves_the_files_of_killed_writers_too(mirrored: Mirrored) -> None:
    memory = mirrored.stored("The code is 4711.")
    _orphans(mirrored.folder, memory)

    assert mirrored.memory.forget(memory.id, ORIGIN, hard=True).remains == ()
    for path in mirrored.folder.rglob("*"):
        assert not path.is_file() or b"4711" not in path.read_bytes()
    assert (mirrored.folder / ".notes.md.abcdefgh.tmp").read_text() == "mine"


def test_what_a_killed_writer_left_is_removed_at_the_next_start(tmp_path: Path) -> None:
    with Mirrored(tmp_path) as world:
        memory = world.stored("Bo leads.")
        assert world.shown()
    _orphans(tmp_path, memory)
    (tmp_path / ".mirror-open-1-1").touch()
    with Mirrored(tmp_path, first_id=50) as world:
        assert world.shown() == [memory.id]

    assert [path.name for path in tmp_path.rglob("*.tmp")] == [".notes.md.abcdefgh.tmp"]


def test_the_index_holds_no_more_than_is_read_of_it(mirrored: Mirrored) -> None:
    for number in range(250):
        mirrored.remember(f"Memory {number} {'long ' * 40}")

    lines = mirrored.index.splitlines()
    assert len(lines) <= 200
    assert len(mirrored.index.encode()) <= 25_000
    assert lines[2].startswith("- [Memory 249 ")
    shown = sum(line.startswith("- [") for line in lines)
    assert f"({250 - shown} more are in the store.)" in lines


def test_a_body_changed_by_hand_becomes_a_new_version_that_a_person_said(mirrored: Mirrored) -> None:
    old = mirrored.stored("Bo leads.", subject="Bo", tags=["people"])
    assert mirrored.shown() == [old.id]
    path = mirrored.file(old)
    path.write_text(
        path.read_text().replace("\n\nBo leads.", "\n\nBo and Mia lead.").replace('"people"', '"people", "x"')
    )

    done = mirrored.read_back()
    new = mirrored.memory.get(done.updated[0]).memory

    assert (done.new, done.skipped, len(done.updated)) == ([], [], 1)
    assert (new.content.body, new.content.tags, new.origin) == ("Bo and Mia lead.", ("people", "x"), PERSON)
    assert mirrored.memory.get(old.id).memory.superseded_by == new.id
    assert mirrored.shown() == [new.id]
    again = mirrored.read_back()
    assert (again.new, again.updated, mirrored.shown()) == ([], [], [new.id])


def test_what_a_person_changed_stays_until_it_is_read_even_when_the_memory_changes(mirrored: Mirrored) -> None:
    old = mirrored.stored("Bo leads.")
    assert mirrored.shown() == [old.id]
    path = mirrored.file(old)
    edited = path.read_text().replace("\n\nBo leads.", "\n\nEve leads.")
    path.write_text(edited)

    new = update(mirrored, old, body="Mia leads.")

    assert mirrored.shown() == sorted([old.id, new.id])
    assert path.read_text() == edited
    done = mirrored.read_back()
    assert sorted(mirrored.everything()) == ["Eve leads.", "Mia leads."]
    assert mirrored.shown() == sorted([new.id, *done.new])


def test_lines_changed_and_added_in_the_index_are_read_back(mirrored: Mirrored) -> None:
    short = mirrored.stored("Bo leads.", happened_at="2026-05-08")
    long = mirrored.stored("A long memory. " * 30)
    kept = mirrored.stored("Mia likes tea.")
    path = mirrored.folder / "MEMORY.md"
    text = mirrored.index.replace("— Bo leads. (", "— Bo leads all. (").replace("— A long memory.", "— A short memory.")
    path.write_text(text.replace("# Memory\n", "# Memory\n\n- Oslo has trams\n"))

    fresh = mirrored.stored("Stored meanwhile.")
    assert "Stored meanwhile." not in mirrored.index
    assert "Stored meanwhile." in (mirrored.folder / "MEMORY.current.md").read_text()
    done = mirrored.read_back()

    assert [memory.content.body for memory in map(_get(mirrored), done.new)] == ["Oslo has trams"]
    assert [memory.content.body for memory in map(_get(mirrored), done.updated)] == ["Bo leads all."]
    assert [one.reason for one in done.skipped] == [
        f"The line shows only the beginning of the memory; edit memory/{long.id}.md instead."
    ]
    assert mirrored.memory.get(short.id).memory.status is Status.SUPERSEDED
    assert {_get(mirrored)(memory.id).status for memory in (kept, fresh, long)} == {Status.LIVE}
    assert "A short memory." in mirrored.index  # it holds something unread, so it stays


@pytest.mark.parametrize(
    "body", ["HTML comments begin with <!-- and browsers hide them", "Write <!-- a --> b", "It ends with -->", "<!--"]
)
def test_what_is_edited_below_a_memory_that_speaks_of_comments_is_read_back(mirrored: Mirrored, body: str) -> None:
    mirrored.remember("Bo leads.")
    mirrored.remember(body)
    path = mirrored.folder / "MEMORY.md"
    text = mirrored.index.replace("— Bo leads.", "— Bo leads all.")
    path.write_text(text.replace("\n\n<!-- content_hash", "\n- Oslo has trams\n\n<!-- content_hash"))

    done = mirrored.read_back()

    assert done.skipped == []
    assert sorted(mirrored.everything()) == sorted([body, "Bo leads all.", "Oslo has trams"])


def test_what_is_written_below_an_open_comment_or_with_another_dash_is_not_lost(mirrored: Mirrored) -> None:
    mirrored.remember("Bo leads.")
    path = mirrored.folder / "MEMORY.md"
    text = mirrored.index.replace(") — Bo leads.", ") - Bo leads all.")
    path.write_text(text.replace("# Memory\n", "# Memory\n\n<!-- to do\n- Oslo has trams\n<!-- done\nhidden -->\n"))

    mirrored.read_back()

    assert sorted(mirrored.everything()) == ["<!-- to do", "Bo leads all.", "Oslo has trams"]


def test_a_second_line_below_one_of_the_index_is_left_with_its_reason(mirrored: Mirrored) -> None:
    memory = mirrored.stored("Bo leads.")
    path = mirrored.folder / "MEMORY.md"
    edited = mirrored.index.replace("— Bo leads.", "— Bo leads.\n  And Mia too.")
    path.write_text(edited)
    assert mirrored.shown()

    done = mirrored.read_back()

    assert [one.reason for one in done.skipped] == [
        f"A line of the index holds one line of text; write the rest into memory/{memory.id}.md."
    ]
    assert path.read_text() == edited


def test_an_index_that_was_read_back_whole_is_written_anew(mirrored: Mirrored) -> None:
    mirrored.remember("Bo leads.")
    path = mirrored.folder / "MEMORY.md"
    path.write_text(mirrored.index + "\n- Oslo has trams\n")
    mirrored.remember("Mia likes tea.")

    mirrored.read_back()

    assert "- [Oslo has trams](memory/mem_" in mirrored.index
    assert "Mia likes tea." in mirrored.index
    assert not (mirrored.folder / "MEMORY.current.md").exists()


def test_a_file_that_a_person_added_is_a_memory_and_stays(mirrored: Mirrored) -> None:
    mirrored.remember("Bo leads.")
    assert mirrored.shown()
    added = mirrored.folder / "memory" / "tea.md"
    added.write_text("---\nname: tea\ntype: user\n---\nMia likes tea.\n")

    done = mirrored.read_back()

    assert [(memory.content.subject, memory.origin) for memory in map(_get(mirrored), done.new)] == [("tea", PERSON)]
    assert added.exists()
    assert mirrored.read_back().new == []


def test_a_memory_of_the_web_stays_untrusted_when_its_file_is_edited(mirrored: Mirrored) -> None:
    web = mirrored.memory.remember(
        intake.content(mirrored.search._zone, body="Oslo has trams.", source_url="https://example.org"),
        Origin("claude-ai", Trust.WEB),
    ).memory
    assert "Oslo has trams. (untrusted)\n" in mirrored.index
    path = mirrored.file(web)
    path.write_text(path.read_text().replace("\n\nOslo has trams.", "\n\nOslo has six tram lines."))

    (new,) = map(_get(mirrored), mirrored.read_back().updated)

    assert new.origin == Origin("by hand", Trust.WEB)


def test_an_editor_that_only_changes_line_ends_changes_nothing(mirrored: Mirrored) -> None:
    memory = mirrored.stored("One.\nTwo.")
    assert mirrored.shown() == [memory.id]
    path = mirrored.file(memory)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))

    done = mirrored.read_back()

    assert (done.new, done.updated, done.known) == ([], [], 1)
    assert path.read_bytes().count(b"\r") == 0 if mirrored.shown() else False


def test_a_hand_made_file_of_an_erased_memory_is_named_as_a_place_where_the_text_may_remain(mirrored: Mirrored) -> None:
    memory = mirrored.stored("The code is 4711.")
    assert mirrored.shown() == [memory.id]
    mirrored.file(memory).write_text(mirrored.file(memory).read_text() + "more\n")

    done = mirrored.memory.forget(memory.id, ORIGIN, hard=True)

    assert done.remains == (f"the file memory/{memory.id}.md, which somebody changed by hand",)


def test_a_store_that_had_no_mirror_gets_one(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / FILE_NAME)
    memory = World(store).stored("Bo leads.")
    store.close()

    with Mirrored(tmp_path, first_id=50) as world:
        assert world.shown() == [memory.id]
    (tmp_path / "MEMORY.md").unlink()
    with Mirrored(tmp_path, first_id=60) as world:
        assert world.shown() == [memory.id]


def test_the_mirror_of_a_lost_store_stays_and_brings_its_facts_back(tmp_path: Path) -> None:
    with Mirrored(tmp_path) as world:
        old = world.stored("Bo leads.", subject="Bo", tags=["a"])
        new = update(world, old, body="Mia leads.")
        assert world.shown() == [new.id]
    (tmp_path / FILE_NAME).unlink()
    (tmp_path / "MEMORY.md").unlink()

    with Mirrored(tmp_path, first_id=60) as world:
        assert world.shown() == [new.id]
        assert world.read_back().new == [new.id]
        assert world.memory.get(new.id).memory.content == new.content


CRASH = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.memory_mcp.test_mirror import Mirrored
world = Mirrored(Path(sys.argv[1]))
world.remember("Bo leads.")
world.files.flush(30)
world.files._write = lambda ids: None
world.remember("Mia likes tea.")
os._exit(9)
"""


def test_what_a_killed_process_had_not_written_is_written_by_the_next(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", CRASH, tmp_path, root], env=os.environ | {"PYTHONPATH": str(root)}, check=False
    )
    assert done.returncode == 9
    assert len(list((tmp_path / "memory").glob("*.md"))) == 1

    with Mirrored(tmp_path, first_id=50) as world:
        assert len(world.shown()) == 2
        assert "Mia likes tea." in world.index
    assert list(tmp_path.glob(".mirror-open*")) == []


def test_two_mirrors_of_one_store_do_not_disturb_each_other(tmp_path: Path) -> None:
    with Mirrored(tmp_path) as one, Mirrored(tmp_path, first_id=500) as two:
        for number in range(10):
            one.remember(f"One {number}.")
            two.remember(f"Two {number}.")
        assert one.files.flush(30)
        assert len(two.shown()) == 20
        assert sum(line.startswith("- [") for line in two.index.splitlines()) == 20


def test_a_disk_that_refuses_the_mirror_costs_no_memory(mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("memory_mcp.mirror.files.replace_all", refuse)
    memory = mirrored.stored("Bo leads.")

    assert mirrored.files.flush(30)
    assert mirrored.bodies("who leads") == ["Bo leads."]
    assert not mirrored.file(memory).exists()


def test_what_a_person_saves_while_the_disk_works_is_not_overwritten(
    mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = mirrored.stored("Bo leads.")
    index, file = mirrored.folder / "MEMORY.md", mirrored.file(memory)
    edits = {index: mirrored.index + "\n- Oslo has trams\n", file: file.read_text().replace("Bo leads.", "Mia leads.")}
    fsync = os.fsync

    def saved_meanwhile(descriptor: int) -> None:
        fsync(descriptor)
        for path, text in edits.items():
            path.write_text(text)

    with mirrored.store.writing() as writer:
        writer.touch(memory, memory.last_seen_at_ms + 1)  # so that its file is to be written anew
    monkeypatch.setattr("memory_mcp.mirror.disk.os.fsync", saved_meanwhile)
    new = mirrored.stored("Ann has a boat.")
    mirrored.files.changed([memory.id])
    assert mirrored.files.flush(30)
    monkeypatch.setattr("memory_mcp.mirror.disk.os.fsync", fsync)

    assert {path: path.read_text() for path in edits} == edits
    assert "Ann has a boat." in (mirrored.folder / "MEMORY.current.md").read_text()
    assert list(mirrored.folder.rglob("*.tmp")) == []
    mirrored.read_back()
    assert sorted(mirrored.everything()) == ["Ann has a boat.", "Mia leads.", "Oslo has trams"]
    assert new.id in mirrored.shown()


def test_an_empty_store_gets_no_files(mirrored: Mirrored) -> None:
    assert mirrored.files.flush(30)
    assert not (mirrored.folder / "MEMORY.md").exists()


def test_a_file_is_ours_only_as_we_wrote_it(world: World) -> None:
    memory = world.stored("Bo leads.\ncontent_hash: x")
    text = pages.file_of(memory)

    assert pages.is_ours(text)
    assert not pages.is_ours(text.replace("Bo", "Mia"))
    assert not pages.is_ours(text + " ")
    assert not pages.is_ours("")
    assert pages.index_is_ours(pages.index_of([memory], 1))
    assert not pages.index_is_ours(pages.index_of([memory], 1) + "- more\n")


def _get(world: World) -> Any:
    return lambda memory_id: world.memory.get(memory_id).memory
