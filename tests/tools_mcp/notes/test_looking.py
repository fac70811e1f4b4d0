"""What is seen of a note: its section, its links and backlinks, its tags, and changes made by other programs."""

import os
from pathlib import Path

import pytest

from tests.tools_mcp.notes.test_moving import put
from tests.tools_mcp.notes.test_notebook import notebook, write
from tools_mcp.errors import ConflictError, NotFoundError
from tools_mcp.notes.index import Filter
from tools_mcp.notes.looking import MOST_SOURCES, section_of
from tools_mcp.notes.model import NoteAnswer
from tools_mcp.notes.notebook import Notebook
from tools_mcp.notes.wording import answer_text, bounded_answer

__all__ = ["notebook"]


def found(notebook: Notebook, query: str, chosen: Filter | None = None) -> list[str]:
    return sorted(match.listed.id for match in notebook.search(query, chosen or Filter(), 50, 0)[0])


def test_links_and_backlinks_are_told_by_id(notebook: Notebook) -> None:
    put(notebook, "work/Ideas", "---\ntitle: Big ideas\naliases: [Brainstorm]\n---\n[[Plan]] [[nothing]] `[[Code]]`")
    put(notebook, "Plan", "to [[Big ideas]]")
    put(notebook, "a", "to [[Brainstorm|x]] and [[ideas]]")
    put(notebook, "b", "![[work/Ideas#Heading]]")
    put(notebook, "c", "[text](work/Ideas.md) [[Ideas and more]]")
    put(notebook, "no", "```\n[[Ideas]]\n``` Ideas")
    around = notebook.surroundings(notebook.read("work/Ideas", None))

    assert (around.links, around.missing) == (("Plan",), ("nothing",))
    assert around.backlinks == ("Plan", "a", "b", "c")
    assert not around.has_more


def test_a_link_to_another_note_of_the_same_name_is_no_backlink(notebook: Notebook) -> None:
    put(notebook, "x/Ideas", "")
    put(notebook, "y/Ideas", "")
    put(notebook, "x/a", "[[Ideas]]")

    assert notebook.surroundings(notebook.read("x/Ideas", None)).backlinks == ("x/a",)
    assert notebook.surroundings(notebook.read("y/Ideas", None)).backlinks == ()


def test_a_note_that_everything_links_to_says_that_there_are_more(notebook: Notebook) -> None:
    put(notebook, "hub", "")
    for number in range(MOST_SOURCES + 1):
        put(notebook, f"n{number}", "[[hub]]")
    around = notebook.surroundings(notebook.read("hub", None))

    assert around.has_more
    assert len(around.backlinks) == MOST_SOURCES


def test_an_alias_finds_a_note_when_no_title_does(notebook: Notebook) -> None:
    put(notebook, "one", "---\naliases:\n  - The Plan\n---\n")
    put(notebook, "two", "---\nalias: Other\n---\n")
    assert notebook.read(None, "the plan").id == "one"
    assert notebook.read(None, "OTHER").id == "two"
    assert found(notebook, "plan") == ["one"]

    put(notebook, "three", "---\naliases: the plan\n---\n")
    with pytest.raises(ConflictError, match="'one', 'three'"):
        notebook.read(None, "the plan")
    put(notebook, "The Plan", "")
    assert notebook.read(None, "the plan").id == "The Plan"


def test_a_section_is_read_alone_and_a_missing_one_is_told(notebook: Notebook) -> None:
    put(notebook, "a", "# One\nx\n# Two\ny\n")
    note = notebook.read("a", None)

    assert section_of(note, "two") == "# Two\ny\n"
    with pytest.raises(NotFoundError, match="no heading 'three'; it has 'One', 'Two'"):
        section_of(note, "three")
    put(notebook, "a", "no heading")
    with pytest.raises(NotFoundError, match="it has no headings"):
        section_of(notebook.read("a", None), "One")


def test_tags_in_the_text_count_like_those_in_the_front_matter(notebook: Notebook) -> None:
    put(notebook, "a", "---\ntags: [work]\n---\nword #project/prometheus and #Work\n`#code`")
    put(notebook, "b", "word\n```\n#work\n```\n")

    assert notebook.read("a", None).all_tags == ("work", "project/prometheus")
    assert found(notebook, "word", Filter(tags=("WORK",))) == ["a"]
    assert found(notebook, "word", Filter(tags=("project",))) == ["a"]
    assert found(notebook, "word", Filter(tags=("project/prom",))) == []
    assert found(notebook, "word", Filter(tags=("code",))) == []


def test_a_change_is_seen_although_a_program_set_the_old_time_again(notebook: Notebook) -> None:
    path = put(notebook, "a", "apples")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert found(notebook, "apples") == ["a"]

    path.write_text("grapes")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert found(notebook, "grapes") == ["a"]


def test_a_touched_file_is_not_indexed_again(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(notebook, "a", "apples")
    assert found(notebook, "apples") == ["a"]
    os.utime(path, (1_800_000_000, 1_800_000_000))
    monkeypatch.setattr("tools_mcp.notes.index.indexed", lambda _: pytest.fail("it was indexed again"))

    assert [listed.modified_at_ms for listed in notebook.newest(Filter(), 10, None)] == [1_800_000_000_000]


def test_an_index_of_an_older_version_is_built_anew(notebook: Notebook) -> None:
    put(notebook, "a", "apples")
    assert found(notebook, "apples") == ["a"]
    notebook.index._open().execute("PRAGMA user_version = 1")
    notebook.index.close()

    assert found(notebook, "apples") == ["a"]


def test_files_that_vanish_while_the_folder_is_read_are_passed_over(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    path: Path = put(notebook, "a", "apples")
    write(notebook)
    real = os.scandir

    def scandir(folder: Path) -> object:
        entries = real(folder)
        path.unlink(missing_ok=True)
        return entries

    monkeypatch.setattr("os.scandir", scandir)
    assert [one.id for one in notebook.newest(Filter(), 10, None)] == ["Ideas"]


def test_a_folder_that_vanishes_while_the_vault_is_read_is_passed_over(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(notebook, "work/a", "apples")
    put(notebook, "b", "apples")
    real = os.scandir

    def scandir(folder: str) -> object:
        if folder.endswith("work"):
            raise FileNotFoundError(2, "No such file or directory")
        return real(folder)

    monkeypatch.setattr("os.scandir", scandir)
    assert [one.id for one in notebook.newest(Filter(), 10, None)] == ["b"]


def test_an_answer_names_as_many_notes_as_fit() -> None:
    left = [f"{number} {'用' * 20}" for number in range(2_000)]
    model = NoteAnswer(
        status="moved", id="a", title="a", tags=left, content_hash="0" * 64, size_bytes=1, links_left=left
    )

    assert len(bounded_answer(model).model_dump_json().encode()) < 5_000
    assert f" and {2_000 - len(bounded_answer(model).links_left)} more." in answer_text(model)
    assert len(answer_text(model).encode()) < 1_000
