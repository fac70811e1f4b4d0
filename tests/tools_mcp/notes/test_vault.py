import hashlib
import os
from pathlib import Path

import pytest

from tools_mcp.errors import ConflictError, InvalidInputError, NotFoundError, StoreError
from tools_mcp.notes.vault import MOST_BYTES, Vault


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    root = tmp_path / "vault"
    root.mkdir()
    return Vault(root)


def test_a_note_is_on_disk_as_it_was_written(vault: Vault) -> None:
    text = "---\ntitle: x\n---\n— ★ 🎉 中文\r\nno newline at the end"
    digest = vault.write("work/Ideas", text, None)
    note = vault.read("work/Ideas")

    assert (vault.root / "work" / "Ideas.md").read_bytes() == text.encode()
    assert (note.header + note.body, note.content_hash) == (text, digest)
    assert (note.id, note.folder, note.title) == ("work/Ideas", "work", "x")
    assert (vault.root / "work" / "Ideas.md").stat().st_mode & 0o077 == 0


def test_a_note_without_a_title_is_called_like_its_file(vault: Vault) -> None:
    (vault.root / "From Obsidian.md").write_text("plain")

    assert vault.read("From Obsidian").title == "From Obsidian"


def test_a_write_needs_the_hash_of_what_is_there(vault: Vault) -> None:
    first = vault.write("a", "one", None)

    for wrong in (None, hashlib.sha256(b"other").hexdigest()):
        with pytest.raises(ConflictError, match="changed meanwhile"):
            vault.write("a", "two", wrong)
    vault.write("a", "two", first)
    assert vault.read("a").body == "two"
    with pytest.raises(ConflictError):
        vault.write("b", "new", first)


def test_an_edit_by_hand_while_the_disk_works_is_kept(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    first, real = vault.write("a", "one", None), os.fsync

    def slow(descriptor: int) -> None:
        (vault.root / "a.md").write_text("one, and more by hand")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    with pytest.raises(ConflictError, match="changed meanwhile"):
        vault.write("a", "one\ntwo", first)

    assert vault.read("a").body == "one, and more by hand"
    assert [entry.name for entry in vault.root.iterdir()] == ["a.md"]


def test_what_killed_writers_left_is_removed_from_every_folder_of_ours(vault: Vault) -> None:
    left = [f"{folder}.a.md.abcd1234.tmp" for folder in ("", "work/", ".trash/work/", ".prometheus/", ".obsidian/")]
    for name in (*left, "work/.b.md.abcd1234.tmp", "work/a.md"):
        (vault.root / name).parent.mkdir(parents=True, exist_ok=True)
        (vault.root / name).write_text("half a no")
        os.utime(vault.root / name, (1_000, 1_000))
    os.utime(vault.root / "work/.b.md.abcd1234.tmp", (3_000, 3_000))

    assert vault.tidy(2_000) == 4
    assert {str(path.relative_to(vault.root)) for path in vault.root.rglob("*") if path.is_file()} == {
        *(".obsidian/.a.md.abcd1234.tmp", "work/.b.md.abcd1234.tmp", "work/a.md"),
    }


def test_what_is_missing_is_not_found(vault: Vault) -> None:
    with pytest.raises(NotFoundError, match="'nope'"):
        vault.read("nope")
    (vault.root / "folder.md").mkdir()
    with pytest.raises(NotFoundError):
        vault.read("folder")


def test_links_out_of_the_vault_are_neither_read_nor_written_nor_listed(vault: Vault, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    (vault.root / "way").symlink_to(outside)
    (vault.root / "secret.md").symlink_to(outside / "secret.md")

    for note_id in ("way/secret", "secret"):
        with pytest.raises(InvalidInputError, match="leads through a link"):
            vault.read(note_id)
        with pytest.raises(InvalidInputError, match="leads through a link"):
            vault.write(note_id, "changed", hashlib.sha256(b"secret").hexdigest())
    assert (outside / "secret.md").read_text() == "secret"
    assert vault.files().notes == {}


def test_hidden_places_and_other_files_are_no_notes(vault: Vault) -> None:
    for name in (".obsidian/x.md", ".trash/x.md", "a/.hidden.md", "a/picture.png", "a/good.md", "top.md", "a/b\\c.md"):
        (vault.root / name).parent.mkdir(parents=True, exist_ok=True)
        (vault.root / name).write_text("x")

    assert sorted(note_id for note_id in vault.files().notes) == ["a/good", "top"]


def test_a_deleted_note_is_kept_in_the_trash(vault: Vault) -> None:
    for text in ("one", "two"):
        vault.write("work/a", text, None)
        vault.move("work/a", vault.trash_id("work/a"))

    assert {note_id: vault.read(note_id).body for note_id in vault.trashed().notes} == {
        ".trash/work/a": "one",
        ".trash/work/a 2": "two",
    }
    assert vault.files().notes == {}


def test_a_new_id_avoids_names_that_differ_in_case_only(vault: Vault) -> None:
    vault.write("work/Ideas", "x", None)

    assert vault.new_id(("work",), "ideas") == "work/ideas 2"
    assert vault.new_id((), "ideas") == "ideas"
    assert vault.new_id(("new", "folder"), "CON") == "new/folder/CON_"


def test_a_note_that_is_no_text_or_too_large_is_refused(vault: Vault) -> None:
    (vault.root / "latin.md").write_bytes(b"caf\xe9")
    (vault.root / "large.md").write_bytes(b"x" * (MOST_BYTES + 1))

    with pytest.raises(InvalidInputError, match="not UTF-8"):
        vault.read("latin")
    with pytest.raises(InvalidInputError, match="more than 1000000 bytes"):
        vault.read("large")
    with pytest.raises(InvalidInputError, match="keep it under"):
        vault.write("new", "x" * (MOST_BYTES + 1), None)


def test_a_full_disk_leaves_the_old_note(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    digest = vault.write("a", "old", None)
    monkeypatch.setattr("tools_mcp.notes.vault.secure_write", no_space)

    with pytest.raises(StoreError, match="no space left on device; nothing was changed"):
        vault.write("a", "new", digest)
    assert vault.read("a").body == "old"
