import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tools_mcp.errors import StoreBusyError
from tools_mcp.notes.index import Filter, NoteIndex
from tools_mcp.notes.vault import Vault

EVERYTHING = Filter()
LATER = 10**19  # every file is old by then, so the index trusts its stamp


@pytest.fixture
def index(tmp_path: Path) -> NoteIndex:
    root = tmp_path / "vault"
    root.mkdir()
    return NoteIndex(tmp_path / "index.sqlite", Vault(root), now_ns=lambda: LATER)


def put(index: NoteIndex, name: str, text: str) -> Path:
    path = index.vault.root / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def found(index: NoteIndex, query: str, chosen: Filter = EVERYTHING) -> list[str]:
    index.refresh()
    return [listed.id for listed in index.search(query, chosen, 50, 0)]


def test_files_are_found_changed_and_forgotten(index: NoteIndex) -> None:
    path = put(index, "a", "apples")
    assert found(index, '"apples"') == ["a"]

    path.write_text("pears and more")
    assert (found(index, '"apples"'), found(index, '"pears"')) == ([], ["a"])

    path.unlink()
    assert found(index, '"pears"') == []
    assert index.refresh() == 0


def test_a_change_of_the_same_size_and_time_is_seen_while_the_file_is_fresh(index: NoteIndex) -> None:
    fresh = NoteIndex(index.path, index.vault, now_ns=lambda: 0)
    path = put(index, "a", "apples")
    facts = path.stat()
    assert found(fresh, '"apples"') == ["a"]

    path.write_text("grapes")
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert found(fresh, '"grapes"') == ["a"]


def test_an_edited_note_stays_in_the_index_with_its_new_tags(index: NoteIndex) -> None:
    put(index, "a", "---\ntags: [old]\n---\napples")
    index.refresh()
    put(index, "a", "---\ntags: [new]\n---\napples")

    assert found(index, '"apples"', Filter(tags=("NEW",))) == ["a"]
    assert found(index, '"apples"', Filter(tags=("old",))) == []


def test_title_matches_come_before_body_matches(index: NoteIndex) -> None:
    put(index, "one", "launch " * 3 + "and many other words here")
    put(index, "two", "---\ntitle: Launch\n---\nsomething else")

    assert found(index, '"launch"') == ["two", "one"]


def test_filters_hold_for_folders_below_and_for_all_tags(index: NoteIndex) -> None:
    put(index, "work/a", "---\ntags: [x, y]\n---\nword")
    put(index, "work/deep/b", "---\ntags: [x]\n---\nword")
    put(index, "workshop/c", "word")
    put(index, "d", "word")

    assert sorted(found(index, '"word"', Filter("work"))) == ["work/a", "work/deep/b"]
    assert found(index, '"word"', Filter("work", ("x", "y"))) == ["work/a"]
    assert {one.id for one in index.newest(Filter("work"), 10, None)} == {"work/a", "work/deep/b"}
    assert index.newest(Filter("wor_"), 10, None) == []


def test_the_newest_come_first_and_pages_meet(index: NoteIndex) -> None:
    for number in range(10):
        path = put(index, f"n{number}", "x")
        os.utime(path, (1_700_000_000 + number // 2, 1_700_000_000 + number // 2))
    index.refresh()
    seen: list[str] = []
    after = None
    while page := index.newest(EVERYTHING, 3, after):
        seen += [one.id for one in page]
        after = (page[-1].modified_at_ms, page[-1].id)

    assert seen == ["n8", "n9", "n6", "n7", "n4", "n5", "n2", "n3", "n0", "n1"]


def test_titles_are_looked_up_as_a_person_would_write_them(index: NoteIndex) -> None:
    put(index, "a/x", "---\ntitle: 'Design  Meeting'\n---\n")
    put(index, "b/y", "---\ntitle: design meeting\n---\n")
    index.refresh()

    assert index.titled("DESIGN meeting", None) == ["a/x", "b/y"]
    assert index.titled("design meeting", "b") == ["b/y"]
    assert index.titled("design", None) == []


def test_a_note_that_cannot_be_read_is_listed_by_its_name(index: NoteIndex) -> None:
    put(index, "bad", "").write_bytes(b"\xff\xfe")
    put(index, "good", "word")

    assert index.refresh() == 2
    assert index.titled("bad", None) == ["bad"]


@pytest.mark.parametrize("damage", [b"this is no database, not at all " * 40, b""])
def test_a_damaged_index_is_built_anew(index: NoteIndex, damage: bytes) -> None:
    put(index, "a", "apples")
    index.refresh()
    index.path.write_bytes(damage)

    assert found(index, '"apples"') == ["a"]


def test_a_deleted_index_loses_nothing(index: NoteIndex) -> None:
    put(index, "a", "apples")
    index.refresh()
    index.path.unlink()

    assert found(index, '"apples"') == ["a"]


def test_two_indexes_on_one_file_agree(index: NoteIndex) -> None:
    other = NoteIndex(index.path, index.vault, now_ns=lambda: LATER)
    put(index, "a", "apples")

    assert found(index, '"apples"') == found(other, '"apples"') == ["a"]


class Disk(sqlite3.Connection):
    """A connection to a file that cannot be written."""

    code = sqlite3.SQLITE_FULL

    def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
        """Fail at the first statement that would write."""
        if sql.startswith(("BEGIN", "INSERT", "CREATE", "DELETE")):
            error = sqlite3.OperationalError("no")
            error.sqlite_errorcode = self.code
            raise error
        return super().execute(sql, *rest)


@pytest.mark.parametrize(
    "code",
    [
        *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR),
        sqlite3.SQLITE_IOERR_WRITE,
    ],
)
def test_an_index_that_cannot_be_written_is_kept_in_memory(
    index: NoteIndex, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    put(index, "a", "apples")
    index.refresh()
    index.close()
    real: Any = sqlite3.connect

    def connect(place: str, **options: Any) -> Any:
        return real(place, **options, **({} if place == ":memory:" else {"factory": Disk}))

    monkeypatch.setattr(Disk, "code", code)
    monkeypatch.setattr(sqlite3, "connect", connect)
    assert found(index, '"apples"') == ["a"]
    put(index, "b", "apples too")
    assert found(index, '"apples"') == ["a", "b"]


def test_an_index_that_is_busy_says_so(index: NoteIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    index.refresh()
    put(index, "a", "apples")
    real: Any = sqlite3.connect
    index.close()
    monkeypatch.setattr(Disk, "code", sqlite3.SQLITE_BUSY)
    monkeypatch.setattr(sqlite3, "connect", lambda place, **options: real(place, **options, factory=Disk))

    with pytest.raises(StoreBusyError, match="busy; try again"):
        index.refresh()


def test_a_folder_without_room_for_the_index_file_is_read_all_the_same(index: NoteIndex) -> None:
    put(index, "a", "apples")
    homeless = NoteIndex(index.path / "nowhere" / "index.sqlite", index.vault)

    assert found(homeless, '"apples"') == ["a"]
