"""Vaults as Obsidian and other programs leave them: renamed files, odd names, attachments, files that are no text."""

import os
from pathlib import Path

import pytest

from service_runtime.settings import load_settings
from tests.tools_mcp.notes.test_moving import put, texts
from tests.tools_mcp.notes.test_notebook import notebook, write
from tests.tools_mcp.running import call, here, refused, text_of
from tools_mcp.errors import ConflictError, InvalidInputError, NotFoundError
from tools_mcp.notes.index import Filter
from tools_mcp.notes.notebook import Notebook, check

__all__ = ["notebook"]


def test_a_file_that_was_renamed_is_found_by_its_new_name_and_its_old_title(notebook: Notebook) -> None:
    write(notebook)
    (notebook.vault.root / "Ideas.md").rename(notebook.vault.root / "Plans.md")

    assert notebook.read(None, "plans").id == notebook.read(None, "Ideas").id == "Plans"
    assert write(notebook, title="Plans", body="two", mode="append").id == "Plans"
    with pytest.raises(ConflictError, match="id 'Plans'; send mode append"):
        write(notebook, title="Plans", body="three")
    assert texts(notebook) == {"Plans": "one\ntwo"}


def test_a_title_comes_before_a_file_name_and_that_before_an_alias(notebook: Notebook) -> None:
    put(notebook, "one", "---\ntitle: Other\naliases: [Plan]\n---\n")
    assert notebook.read(None, "Plan").id == "one"
    put(notebook, "Plan", "---\ntitle: Something else\n---\n")
    assert notebook.read(None, "Plan").id == "Plan"
    put(notebook, "x", "---\ntitle: plan\n---\n")
    assert notebook.read(None, "Plan").id == "x"


def test_an_alias_takes_an_addition_and_does_not_stand_in_the_way_of_a_new_note(notebook: Notebook) -> None:
    put(notebook, "work/Anna", "---\naliases: [Mum]\n---\none")

    assert write(notebook, title="mum", body="two", mode="append").id == "work/Anna"
    assert write(notebook, title="Mum", body="new", mode="append", folder="home").id == "home/Mum"
    assert write(notebook, title="Mum", body="new").id == "Mum"


def test_the_number_of_a_second_file_is_no_name_of_its_own(notebook: Notebook) -> None:
    put(notebook, "Ideas", "---\ntitle: Something else\n---\n")
    assert notebook.vault.new_id((), "Ideas") == "Ideas 2"
    put(notebook, "Ideas 2", "---\ntitle: Ideas\n---\n")
    notebook.index.refresh()

    assert notebook.index.filed("Ideas 2", None) == []
    with pytest.raises(NotFoundError):
        notebook.read(None, "Ideas 2")


def test_attachments_are_no_missing_links(notebook: Notebook) -> None:
    for name in ("pic.png", "deep/er/Scan.PDF", "work/near.csv", ".obsidian/hidden.json"):
        (notebook.vault.root / name).parent.mkdir(parents=True, exist_ok=True)
        (notebook.vault.root / name).write_bytes(b"x")
    there = "![[pic.png]] ![[scan.pdf#page=2]] [[er/Scan.PDF]] [[work/near.csv]] [[../pic.png]] [[near.csv|data]]"
    put(notebook, "work/a", f"{there} ![[gone.png]] [[v1.2]] [[r/Scan.PDF]] [[hidden.json]] [[nothing]]")

    around = notebook.surroundings(notebook.read("work/a", None))
    assert around.missing == ("gone.png", "v1.2", "r/Scan.PDF", "hidden.json", "nothing")


ODD_NAMES = ("Con", "A: thing", "50%2foff", "Upper.MD", "x.md.md", "a/" * 9 + "deep", "y" * 245, " x", "é" * 126)


@pytest.mark.parametrize("note_id", ODD_NAMES)
def test_a_note_with_an_odd_name_is_listed_read_changed_moved_and_deleted(notebook: Notebook, note_id: str) -> None:
    path = notebook.vault.root / (note_id if note_id.lower().endswith(".md") else f"{note_id}.md")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("one")
    put(notebook, "other", "[[other]]")

    assert {one.id for one in notebook.newest(Filter(), 10, None)} == {note_id, "other"}
    assert notebook.read(note_id, None).body == "one"
    notebook.edit(note_id, "one", "[[other]]", 1, expected_hash=None, key=None)
    assert path.read_text() == "[[other]]"
    assert notebook.move("other", title="another").links_updated == 2
    assert path.read_text() == "[[another]]"
    gone = notebook.delete(note_id)
    back = notebook.move((gone.undo or "").removeprefix("notes_move with id "))
    assert texts(notebook) == {back.id: "[[another]]", "another": "[[another]]"}
    notebook.delete(back.id)
    write(notebook, title="a new one")


def test_two_deleted_notes_of_the_longest_name_stay_apart(notebook: Notebook) -> None:
    for text in ("one", "two"):
        put(notebook, "y" * 252, text)
        notebook.delete("y" * 252)

    assert [notebook.read(one.id, None).body for one in notebook.trashed(10, None)] in (["one", "two"], ["two", "one"])


@pytest.mark.parametrize("title", ["50%2F off sale", "%2e%2e", "a%5Cb", "%00", "100%25", "README.md"])
def test_a_title_that_looks_encoded_is_written_and_found(notebook: Notebook, title: str) -> None:
    made = write(notebook, title=title)

    assert notebook.read(None, title).id == notebook.read(made.id, None).id == made.id
    assert notebook.read(made.id, None).title == title
    write(notebook, title="plain")
    assert notebook.move("plain", title=title, folder="x").id == f"x/{made.id}"


@pytest.mark.parametrize("data", [b"caf\xe9 [[Ideas]]", b"x" * 1_000_001])
def test_a_note_that_is_no_text_or_too_large_can_be_moved_and_deleted(notebook: Notebook, data: bytes) -> None:
    path = notebook.vault.root / "odd.md"
    path.write_bytes(data)
    put(notebook, "other", "[[odd]]")
    with pytest.raises(InvalidInputError, match=r"not UTF-8 text|more than 1000000 bytes"):
        notebook.read("odd", None)
    with pytest.raises(InvalidInputError, match=r"not UTF-8 text|more than 1000000 bytes"):
        notebook.edit("odd", "x", "y", 1, expected_hash=None, key=None)

    moved = notebook.move("odd", title="A: b", folder="work", key="k")
    assert (moved.id, moved.size_bytes, moved.links_updated) == ("work/A- b", len(data), 1)
    assert moved == notebook.move("odd", title="A: b", folder="work", key="k")
    assert (notebook.vault.root / "work/A- b.md").read_bytes() == data
    gone = notebook.delete("work/A- b", expected_hash=moved.content_hash)
    assert (notebook.vault.root / f"{(gone.undo or '').split(' id ')[1]}.md").read_bytes() == data


@pytest.mark.parametrize(
    ("tool", "arguments", "name"),
    [
        ("notes_write", {"title": "a", "body": "b", "folder": "null"}, "folder"),
        ("notes_write", {"title": "a", "body": "b", "expected_hash": "null"}, "expected_hash"),
        ("notes_move", {"id": "a", "title": "null"}, "title"),
        ("notes_list", {"folder": "null"}, "folder"),
    ],
)
async def test_the_word_null_names_nothing(tmp_path: Path, tool: str, arguments: dict[str, str], name: str) -> None:
    async with here("notes", tmp_path) as client:
        said = await refused(client, tool, **arguments)

    assert said.startswith(f'The argument {name!r} of {tool} is the text "null": send a text of at most ')
    assert said.endswith(", or leave it out.")
    assert not (tmp_path / "notes" / "null").exists()


async def test_files_that_no_id_can_name_are_counted_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    names = (b"a\nb.md", b"caf\xe9.md", b"back\\slash.md", b"good.md")
    for name in names:
        (folder / name.decode(errors="surrogateescape")).write_text("word")
    async with here("notes", tmp_path) as client:
        listed = await client.call_tool("notes_list", {})
        found = await call(client, "notes_search", query="word")

    assert (listed.structured_content or {})["unnamed"] == 3
    assert text_of(listed).splitlines()[-1] == (
        "Left out because of backslashes or control characters in file names: 3; tools-mcp notes --check names them."
    )
    assert [note["id"] for note in found["notes"]] == ["good"]
    assert check(load_settings({}, tmp_path, str(tmp_path))) == (
        "notes: 1 notes; 3 files are left out because of their names, rename them without backslashes and control "
        "characters: 'a\\nb.md', 'back\\\\slash.md', 'caf\\udce9.md'"
    )


def test_a_folder_is_searched_by_the_name_it_has(notebook: Notebook) -> None:
    put(notebook, "Work: 2026/a", "word")

    assert notebook.vault.folder("Work: 2026") == ("Work: 2026",)
    assert write(notebook, folder="Work: 2026").id == "Work: 2026/Ideas"


def test_a_link_to_a_file_with_its_suffix_in_capitals_is_written_right(notebook: Notebook) -> None:
    (notebook.vault.root / "Upper.MD").write_text("x")
    put(notebook, "a", "[[Upper.MD]] [[b]] [x](b.md)")
    put(notebook, "b", "")
    assert notebook.surroundings(notebook.read("a", None)).links == ("Upper.MD", "b")
    notebook.move("b", title="c")

    assert texts(notebook)["a"] == "[[Upper.MD]] [[c]] [x](c.md)"


async def test_a_note_tells_when_it_changed_in_local_time_and_utc(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("word")
    os.utime(tmp_path / "notes" / "a.md", (1_782_900_000, 1_782_900_000))
    async with here("notes", tmp_path) as client:
        rows = [(await call(client, tool, **more))["notes"][0] for tool, more in TOLD]
        rows.append(await call(client, "notes_read", id="a"))

    assert {(row["modified"], row["modified_utc"]) for row in rows} == {
        ("2026-07-01T12:00:00+02:00", "2026-07-01T10:00:00Z")
    }


TOLD: tuple[tuple[str, dict[str, str]], ...] = (("notes_list", {}), ("notes_search", {"query": "word"}))
