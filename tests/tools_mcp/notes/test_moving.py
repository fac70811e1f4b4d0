"""Moving, renaming and deleting notes: links keep their meaning, and nothing is lost when a process dies."""

from pathlib import Path
from typing import Any

import pytest

from tests.tools_mcp.notes.test_notebook import notebook, write
from tools_mcp.errors import ConflictError, InvalidInputError, NotFoundError, StoreError
from tools_mcp.notes.index import Filter
from tools_mcp.notes.notebook import Notebook
from tools_mcp.notes.vault import Vault

__all__ = ["notebook"]


def texts(notebook: Notebook) -> dict[str, str]:
    """The bodies of all notes by id."""
    return {note_id: notebook.vault.read(note_id).body for note_id in notebook.vault.files().notes}


def put(notebook: Notebook, note_id: str, text: str) -> Path:
    """Write a note as another program would."""
    path = notebook.vault.root / f"{note_id}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_renamed_note_keeps_its_links_and_its_text(notebook: Notebook) -> None:
    write(notebook, title="Ideas", body="see [[Plan]] and [[Ideas#One]]")
    write(notebook, title="Plan", body="from [[Ideas|the ideas]], `[[Ideas]]`", folder="work")
    done = notebook.move("Ideas", folder="work/old", title="Thoughts: 2026")

    assert (done.status, done.id, done.title) == ("moved", "work/old/Thoughts- 2026", "Thoughts: 2026")
    assert done.links_updated == 2
    assert texts(notebook) == {
        "work/Plan": "from [[Thoughts- 2026|the ideas]], `[[Ideas]]`",
        "work/old/Thoughts- 2026": "see [[Plan]] and [[Thoughts- 2026#One]]",
    }
    assert notebook.read(None, "thoughts: 2026").content_hash == done.content_hash
    assert done.id in [match.listed.id for match in notebook.search("thoughts", Filter(), 10, 0)[0]]


def test_what_it_says_takes_a_move_back(notebook: Notebook) -> None:
    write(notebook, folder="work")
    put(notebook, "other", "[[work/Ideas]]")
    done = notebook.move("work/Ideas", folder="", title="Plans")
    assert done.undo == "notes_move with id Plans, folder work and title Ideas"

    notebook.move("Plans", folder="work", title="Ideas")
    assert texts(notebook) == {"work/Ideas": "one", "other": "[[Ideas]]"}


def test_a_note_of_another_program_keeps_its_front_matter_byte_for_byte(notebook: Notebook) -> None:
    path = put(notebook, "Old", "---\r\n# mine\r\nfoo: {a: 1}\r\n---\r\nbody\r\n")
    before = path.read_bytes()
    done = notebook.move("Old", title="New", folder="x")

    assert (notebook.vault.root / "x" / "New.md").read_bytes() == before
    assert done.id == "x/New"


def test_a_title_in_the_front_matter_changes_alone(notebook: Notebook) -> None:
    put(notebook, "file", "---\naliases: [x]  # names\ntitle: Old\nfoo: 'bar'\n---\nbody")
    notebook.move("file", title="New")

    assert (notebook.vault.root / "New.md").read_text() == (
        "---\naliases: [x]  # names\ntitle: New\nfoo: 'bar'\n---\nbody"
    )


@pytest.mark.parametrize("header", ["title: &a Old\nother: *a", "{title: Old}", "? title\n: Old"])
def test_front_matter_that_only_a_person_should_change_is_refused(notebook: Notebook, header: str) -> None:
    path = put(notebook, "file", f"---\n{header}\n---\nbody")

    with pytest.raises(InvalidInputError, match="only a person should change"):
        notebook.move("file", title="New")
    assert path.read_text() == f"---\n{header}\n---\nbody"


def test_letter_case_alone_can_be_changed(notebook: Notebook) -> None:
    write(notebook)
    put(notebook, "other", "[[Ideas]]")

    assert notebook.move("Ideas", title="IDEAS").id == "IDEAS"
    assert sorted(texts(notebook)) == ["IDEAS", "other"]


def test_a_move_to_where_it_is_changes_nothing(notebook: Notebook) -> None:
    made = write(notebook)
    done = notebook.move("Ideas", folder="/", title="Ideas")

    assert (done.status, done.content_hash) == ("unchanged", made.content_hash)


@pytest.mark.parametrize(
    ("arguments", "error", "why"),
    [
        ({}, InvalidInputError, "Neither folder nor title"),
        ({"title": " "}, InvalidInputError, "title is empty"),
        ({"folder": "../up"}, InvalidInputError, "no place inside"),
        ({"folder": "work"}, ConflictError, "id 'work/Ideas'; send another"),
        ({"title": "x", "expected_hash": "0" * 64}, ConflictError, "changed since it was read"),
    ],
)
def test_a_move_that_cannot_be_made_changes_nothing(
    notebook: Notebook, arguments: dict[str, Any], error: type[Exception], why: str
) -> None:
    write(notebook)
    write(notebook, folder="work", body="two")
    with pytest.raises(error, match=why):
        notebook.move("Ideas", **arguments)

    assert texts(notebook) == {"Ideas": "one", "work/Ideas": "two"}


def test_a_file_of_the_same_name_is_never_overwritten(notebook: Notebook) -> None:
    write(notebook)
    put(notebook, "work/Ideas", "---\ntitle: Something else\n---\ntheirs")

    assert notebook.move("Ideas", folder="work").id == "work/Ideas 2"
    assert texts(notebook) == {"work/Ideas": "theirs", "work/Ideas 2": "one"}


def test_the_same_key_moves_and_deletes_once(notebook: Notebook) -> None:
    write(notebook)
    moved = notebook.move("Ideas", title="Plans", key="k1")
    write(notebook, body="a new one")

    assert notebook.move("Ideas", title="Plans", key="k1") == moved
    deleted = notebook.delete("Plans", key="k2")
    write(notebook, title="Plans", body="a new one")
    assert notebook.delete("Plans", key="k2") == deleted
    assert texts(notebook) == {"Ideas": "a new one", "Plans": "a new one"}


class DeathError(Exception):
    """Stands for a process that is killed."""


@pytest.mark.parametrize("died_at", range(4))
def test_a_move_of_a_process_that_died_is_finished_by_the_next_write(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch, died_at: int
) -> None:
    write(notebook)
    for number in range(2):
        put(notebook, f"source {number}", "[[Ideas]]")
    calls: list[str] = []
    real_write, real_move = Vault.write, Vault.move

    def dying(name: str, real: Any) -> Any:
        def call(*arguments: Any) -> Any:
            calls.append(name)
            if len(calls) == died_at + 1:
                raise DeathError
            return real(*arguments)

        return call

    with monkeypatch.context() as patched:
        patched.setattr(Vault, "move", dying("move", real_move))
        patched.setattr(Vault, "write", dying("write", real_write))
        with pytest.raises(DeathError):
            notebook.move("Ideas", title="Plans", key="k")
    write(notebook, title="Another")

    assert notebook.move("Ideas", title="Plans", key="k").id == "Plans"
    assert texts(notebook) == {"Plans": "one", "Another": "one", "source 0": "[[Plans]]", "source 1": "[[Plans]]"}
    assert not notebook.mover.journal.exists()


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"edits": [{}]}', b"\xff", b'{"edits": 1}'])
def test_a_damaged_plan_is_thrown_away(notebook: Notebook, damage: bytes) -> None:
    notebook.mover.journal.write_bytes(damage)

    assert write(notebook).status == "created"
    assert not notebook.mover.journal.exists()


def test_a_note_that_changed_meanwhile_is_left_and_named(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    write(notebook)
    path = put(notebook, "other", "[[Ideas]]")
    real = Vault.move

    def moved_while_somebody_writes(*arguments: Any) -> None:
        path.write_text("[[Ideas]] and more")
        real(*arguments)

    monkeypatch.setattr(Vault, "move", moved_while_somebody_writes)
    done = notebook.move("Ideas", title="Plans")

    assert done.links_left == ["other"]
    assert path.read_text() == "[[Ideas]] and more"


def no_space(*_: object) -> None:
    """Stands for a disk that is full."""
    raise OSError(28, "No space left on device")


def test_a_full_disk_stops_the_links_of_a_move_and_they_are_finished_later(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(notebook, "Ideas", "one")
    put(notebook, "other", "[[Ideas]]")
    with monkeypatch.context() as patched:
        patched.setattr("tools_mcp.notes.vault.secure_write", no_space)
        done = notebook.move("Ideas", title="Plans", key="k")
    assert (done.id, done.links_updated, done.links_left) == ("Plans", 0, ["other"])
    assert texts(notebook) == {"Plans": "one", "other": "[[Ideas]]"}
    write(notebook, title="Another")

    assert texts(notebook) == {"Plans": "one", "Another": "one", "other": "[[Plans]]"}
    assert not notebook.mover.journal.exists()
    assert notebook.move("Ideas", title="Plans", key="k") == done


@pytest.mark.parametrize("where", ["vault", "moving"])
def test_a_full_disk_that_stops_a_move_leaves_the_note_where_it_was(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    write(notebook)
    put(notebook, "other", "[[Ideas]]")
    with monkeypatch.context() as patched:
        patched.setattr(f"tools_mcp.notes.{where}.secure_write", no_space)
        with pytest.raises(StoreError, match="no space left on device; nothing was changed"):
            notebook.move("Ideas", title="Plans")
    write(notebook, title="Another")

    assert texts(notebook) == {"Ideas": "one", "Another": "one", "other": "[[Ideas]]"}


def test_links_that_can_never_be_finished_stop_nothing(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    for note_id in ("Ideas", "Plans"):
        put(notebook, note_id, "one")
        put(notebook, f"to {note_id}", f"[[{note_id}]]")
    real = Vault.write

    def refusing(vault: Vault, note_id: str, *rest: Any) -> str:
        if note_id == "to Ideas":
            raise StoreError("The notes folder cannot be written: permission denied; nothing was changed.")
        return real(vault, note_id, *rest)

    monkeypatch.setattr(Vault, "write", refusing)
    assert notebook.move("Ideas", title="A").links_left == ["to Ideas"]
    assert notebook.mover.journal.exists()
    assert write(notebook, title="Another").status == "created"
    assert notebook.move("Plans", title="B").links_updated == 1
    assert texts(notebook) == {"A": "one", "B": "one", "Another": "one", "to Ideas": "[[Ideas]]", "to Plans": "[[B]]"}


@pytest.mark.parametrize(
    "arguments",
    [
        {"title": "x" * 10, "folder": "a/b/../c"},
        {"folder": "link"},
        {"folder": "file/x"},
        {"folder": "link/deeper"},
    ],
)
def test_a_refused_move_leaves_no_plan_that_blocks_other_writes(notebook: Notebook, arguments: dict[str, Any]) -> None:
    put(notebook, "Ref", "one")
    (notebook.vault.root / "file").write_text("no folder")
    (notebook.vault.root / "link").symlink_to(notebook.vault.root.parent)
    before = sorted(notebook.vault.root.rglob("*"))
    with pytest.raises(InvalidInputError):
        notebook.move("Ref", **arguments)

    assert sorted(notebook.vault.root.rglob("*")) == before
    assert not notebook.mover.journal.exists()
    assert write(notebook).status == "created"


def test_a_place_that_is_taken_at_the_last_moment_leaves_no_plan(notebook: Notebook) -> None:
    put(notebook, "Ref", "one")
    plan = notebook.mover.plan(notebook.vault.read("Ref"), "New", "", "New")
    put(notebook, "New", "theirs")
    with pytest.raises(ConflictError, match="is there already"):
        notebook.mover.carry_out(plan)

    assert texts(notebook) == {"Ref": "one", "New": "theirs"}
    assert not notebook.mover.journal.exists()


def test_a_note_that_changes_while_it_is_renamed_stays_where_it_was(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(notebook)
    real = Vault.move

    def moved_while_somebody_writes(vault: Vault, old: str, new: str) -> None:
        if old == "Ideas":
            (vault.root / "Ideas.md").write_text("by hand")
        real(vault, old, new)

    monkeypatch.setattr(Vault, "move", moved_while_somebody_writes)
    with pytest.raises(ConflictError, match="changed meanwhile"):
        notebook.move("Ideas", title="Plans")
    assert texts(notebook) == {"Ideas": "by hand"}
    assert not notebook.mover.journal.exists()


def test_a_linking_note_with_a_long_name_is_written_anew(notebook: Notebook) -> None:
    put(notebook, "X", "one")
    put(notebook, "y" * 240, "[[X]]")

    assert notebook.move("X", title="Y").links_updated == 1
    assert texts(notebook)["y" * 240] == "[[Y]]"


def test_a_linking_note_that_would_get_too_large_is_left_and_not_counted(notebook: Notebook) -> None:
    put(notebook, "X", "one")
    put(notebook, "big", "[[X]]" * 2_000 + "word " * 196_000)
    put(notebook, "small", "[[X]]")
    done = notebook.move("X", title="A longer name")

    assert (done.links_updated, done.links_left) == (1, ["big"])
    put(notebook, "self", "[[self]]" * 2_000 + "word " * 195_000)
    with pytest.raises(InvalidInputError, match="would have over 1000000 bytes"):
        notebook.move("self", title="A longer name of it")


def test_links_in_the_front_matter_move_and_count(notebook: Notebook) -> None:
    write(notebook, title="Target")
    path = put(notebook, "child", "---\nup: '[[Target]]'  # above\nsee: [[Target]]\nplain: Target\n---\nbody")
    assert notebook.surroundings(notebook.read("Target", None)).backlinks == ("child",)
    assert notebook.surroundings(notebook.read("child", None)).links == ("Target",)

    done = notebook.move("Target", title="Anna's plan")
    assert (done.links_updated, done.links_left) == (2, [])
    assert path.read_text() == ("---\nup: '[[Anna''s plan]]'  # above\nsee: [[Anna's plan]]\nplain: Target\n---\nbody")


def test_front_matter_whose_links_cannot_be_written_is_left_and_named(notebook: Notebook) -> None:
    put(notebook, "Target", "")
    put(notebook, "kept", "---\n{{broken}}: [[Target]]\n---\n[[Target]]")
    path = put(notebook, "child", "---\nup: [[Target]]\n---\n[[Target]]")
    done = notebook.move("Target", title="50% 'off', all")

    assert "child" in done.links_left
    assert path.read_text() == "---\nup: [[Target]]\n---\n[[50% 'off', all]]"


def test_a_deleted_note_comes_back_to_its_folder_with_its_links(notebook: Notebook) -> None:
    write(notebook, folder="work")
    put(notebook, "other", "[[Ideas]]")
    deleted = notebook.delete("work/Ideas")
    assert deleted.undo == "notes_move with id .trash/work/Ideas"
    assert notebook.surroundings(notebook.read("other", None)).missing == ("Ideas",)
    assert [one.id for one in notebook.trashed(10, None)] == [".trash/work/Ideas"]

    back = notebook.move(".trash/work/Ideas")
    assert (back.status, back.id) == ("restored", "work/Ideas")
    assert notebook.surroundings(notebook.read("other", None)).links == ("work/Ideas",)
    assert notebook.trashed(10, None) == []


def test_two_deleted_notes_of_one_name_both_come_back(notebook: Notebook) -> None:
    for text in ("one", "two"):
        write(notebook, body=text)
        notebook.delete("Ideas")

    assert notebook.move(".trash/Ideas").id == "Ideas"
    with pytest.raises(ConflictError, match="send another folder or title"):
        notebook.move(".trash/Ideas 2")
    assert notebook.move(".trash/Ideas 2", folder="again").id == "again/Ideas"


def test_what_is_in_the_trash_can_be_read_and_nothing_else(notebook: Notebook) -> None:
    write(notebook)
    notebook.delete("Ideas")

    assert notebook.read(".trash/Ideas", None).body == "one"
    with pytest.raises(InvalidInputError, match="in the trash already"):
        notebook.delete(".trash/Ideas")
    with pytest.raises(InvalidInputError, match="bring it back with notes_move"):
        notebook.edit(".trash/Ideas", "one", "two", 1, expected_hash=None, key=None)
    with pytest.raises(NotFoundError):
        notebook.move(".trash/nothing")


def test_the_trash_comes_in_pages_that_meet(notebook: Notebook) -> None:
    for number in range(5):
        write(notebook, title=f"note {number}")
        notebook.delete(f"note {number}")
    first = notebook.trashed(2, None)
    rest = notebook.trashed(9, (first[-1].modified_at_ms, first[-1].id))

    assert len({one.id for one in [*first, *rest]}) == len(first) + len(rest) == 5
