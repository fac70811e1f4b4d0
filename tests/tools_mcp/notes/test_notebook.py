from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tools_mcp.errors import ConflictError, InvalidInputError, NotFoundError, StoreError
from tools_mcp.locking import FolderLock
from tools_mcp.notes.frontmatter import clean_tags
from tools_mcp.notes.index import Filter, NoteIndex
from tools_mcp.notes.model import NoteAnswer
from tools_mcp.notes.moving import Mover
from tools_mcp.notes.notebook import Notebook, WriteFields
from tools_mcp.notes.requests import RequestLog
from tools_mcp.notes.vault import Vault


@pytest.fixture
def notebook(tmp_path: Path) -> Notebook:
    root, state = tmp_path / "vault", tmp_path / "state"
    root.mkdir()
    state.mkdir()
    vault = Vault(root)
    index = NoteIndex(state / "index.sqlite", vault)
    return Notebook(
        vault=vault,
        index=index,
        lock=FolderLock(state / "lock", "notes"),
        requests=RequestLog(state / "requests.sqlite", now_ms=lambda: 1_700_000_000_000),
        mover=Mover(vault, index, state / "move.json"),
        now=lambda: datetime(2026, 11, 30, 12, tzinfo=UTC),
    )


def write(
    notebook: Notebook, title: str = "Ideas", body: str = "one", key: str | None = None, **more: Any
) -> NoteAnswer:
    return notebook.write(WriteFields(title, body, **more), key)


def edit(notebook: Notebook, find: str, replace: str, **more: Any) -> NoteAnswer:
    options = {"expected_hash": None, "key": None, **more}
    count = options.pop("count", 1)
    return notebook.edit("Ideas", find, replace, count, **options)


def body(notebook: Notebook, note_id: str = "Ideas") -> str:
    return notebook.vault.read(note_id).body


def test_a_note_is_a_markdown_file_with_front_matter(notebook: Notebook) -> None:
    made = write(notebook, title="1: 12/3/24 ?", body="# Hello\n", tags=("#work",), folder="work/ideas")

    assert (made.status, made.id, made.title) == ("created", "work/ideas/1- 12-3-24 -", "1: 12/3/24 ?")
    assert (notebook.vault.root / f"{made.id}.md").read_text() == (
        "---\ntitle: '1: 12/3/24 ?'\ncreated: '2026-11-30T12:00:00+00:00'\ntags:\n- work\n---\n# Hello\n"
    )
    assert notebook.read(None, "1: 12/3/24 ?").content_hash == made.content_hash


@pytest.mark.parametrize("text", ["", "---\nlooks: like a header\n---\n", "a\r\nb", "\x00", "x" * 100_000])
def test_a_body_comes_back_as_it_was_sent(notebook: Notebook, text: str) -> None:
    write(notebook, body=text)

    assert body(notebook) == text


def test_create_refuses_a_title_that_is_taken_unless_the_text_is_the_same(notebook: Notebook) -> None:
    write(notebook)

    assert write(notebook, title="IDEAS").status == "exists"
    with pytest.raises(ConflictError, match="send mode append or replace"):
        write(notebook, title="ideas", body="two")
    assert write(notebook, body="two", folder="elsewhere").status == "created"


def test_append_adds_a_line_and_replace_takes_the_place(notebook: Notebook) -> None:
    write(notebook)

    assert write(notebook, body="two\n", mode="append").status == "appended"
    assert write(notebook, body="three", mode="append").status == "appended"
    assert body(notebook) == "one\ntwo\nthree"
    assert write(notebook, body="four", mode="replace").status == "replaced"
    assert body(notebook) == "four"


@pytest.mark.parametrize("mode", ["append", "replace"])
def test_append_and_replace_create_what_is_not_there(notebook: Notebook, mode: Any) -> None:
    assert write(notebook, mode=mode, folder="work").status == "created"
    assert body(notebook, "work/Ideas") == "one"


def test_append_finds_the_note_wherever_it_is_and_asks_when_there_are_two(notebook: Notebook) -> None:
    write(notebook, folder="work")
    assert write(notebook, body="two", mode="append").id == "work/Ideas"

    write(notebook, folder="home")
    with pytest.raises(ConflictError, match=r"send the folder of the one you mean.*'home/Ideas', 'work/Ideas'"):
        write(notebook, body="three", mode="append")
    assert write(notebook, body="three", mode="append", folder="home").id == "home/Ideas"
    with pytest.raises(ConflictError, match="2 notes have the title"):
        notebook.read(None, "ideas")


def test_what_another_program_wrote_is_kept(notebook: Notebook) -> None:
    path = notebook.vault.root / "Ideas.md"
    path.write_text("---\n# my comment\naliases: [x]\n---\nfrom Obsidian\n")
    write(notebook, body="ours", mode="append", tags=("new",))

    assert path.read_text() == "---\n# my comment\naliases: [x]\ntags:\n- new\n---\nfrom Obsidian\nours"


@pytest.mark.parametrize("header", ["title: foo: bar\nstatus: important", "created: {{date}}", f"a: {'b' * 20_000}"])
def test_front_matter_that_cannot_be_read_outlives_every_write(notebook: Notebook, header: str) -> None:
    path = notebook.vault.root / "Ideas.md"
    path.write_text(f"---\n{header}\n---\nBody")

    assert write(notebook, body="new body", mode="replace").status == "replaced"
    write(notebook, body="more", mode="append")
    edit(notebook, "more", "less")
    with pytest.raises(InvalidInputError, match="correct it in the file first"):
        write(notebook, body="more", mode="append", tags=("x",))
    assert path.read_text() == f"---\n{header}\n---\nnew body\nless"
    assert notebook.move("Ideas", title="Plans").id == "Plans"
    with pytest.raises(InvalidInputError, match="correct it in the file first"):
        notebook.move("Plans", title="A: b")


def test_a_change_takes_the_line_ends_of_the_note(notebook: Notebook) -> None:
    path = notebook.vault.root / "Ideas.md"
    path.write_bytes(b"---\r\nfoo: 1\r\n---\r\nline1\r\nline2\r\nend")
    assert edit(notebook, "line1\nline2", "one\ntwo").replacements == 1
    write(notebook, body="three\nfour", mode="append", tags=("x",))
    assert path.read_bytes() == b"---\r\nfoo: 1\r\ntags:\r\n- x\r\n---\r\none\r\ntwo\r\nend\r\nthree\r\nfour"

    path.write_bytes(b"a\nb\n")
    edit(notebook, "a\r\nb", "c\r\nd")
    assert path.read_bytes() == b"c\nd\n"


def test_mixed_line_ends_are_taken_as_they_are(notebook: Notebook) -> None:
    path = notebook.vault.root / "Ideas.md"
    path.write_bytes(b"a\r\nb\nc")
    with pytest.raises(InvalidInputError, match="is 0 times"):
        edit(notebook, "a\nb", "x")
    edit(notebook, "a\r\nb", "x\ny")
    write(notebook, body="d\r\ne", mode="append")

    assert path.read_bytes() == b"x\ny\nc\nd\ne"


def test_an_addition_adds_its_tags_and_a_replacement_replaces_them(notebook: Notebook) -> None:
    write(notebook, tags=("one", "two words"))

    assert write(notebook, body="", mode="append", tags=("Two words", "three")).tags == ["one", "two-words", "three"]
    assert body(notebook) == "one"
    assert write(notebook, body="two", mode="replace").tags == ["one", "two-words", "three"]
    assert write(notebook, body="two", mode="replace", tags=("four",)).tags == ["four"]


def test_create_tells_that_tags_would_be_new(notebook: Notebook) -> None:
    write(notebook, body="text #here", tags=("one",))

    assert write(notebook, body="text #here", tags=("ONE", "here")).status == "exists"
    with pytest.raises(ConflictError, match="not tagged 'two, three'; send mode append with an empty body"):
        write(notebook, body="text #here", tags=("one", "two", "three"))
    assert write(notebook, body="", mode="append", tags=("two", "three")).tags == ["one", "two", "three", "here"]


def test_a_tag_with_a_space_is_found_however_it_is_written(notebook: Notebook) -> None:
    (notebook.vault.root / "a.md").write_text("---\ntags: [project x, '#my tag']\n---\nword")
    notebook.index.refresh()

    def tagged(*tags: str) -> list[str]:
        return [one.id for one in notebook.newest(Filter(tags=clean_tags(tags)), 10, None)]

    assert tagged("project x") == tagged("project-x") == tagged("#My tag", "project x") == ["a"]
    assert tagged("x") == tagged("project") == []


def test_the_answer_that_a_note_exists_is_the_same_for_the_same_key(notebook: Notebook) -> None:
    write(notebook)
    told = write(notebook, key="k")
    write(notebook, body="two", mode="append")

    assert (told.status, write(notebook, key="k")) == ("exists", told)


def test_an_edit_counts_before_it_replaces(notebook: Notebook) -> None:
    write(notebook, body="a b a")

    for count in (1, 3):
        with pytest.raises(InvalidInputError, match=f"is 2 times in 'Ideas', not {count}"):
            edit(notebook, "a", "c", count=count)
    assert body(notebook) == "a b a"
    assert edit(notebook, "a", "c", count=2).replacements == 2
    assert body(notebook) == "c b c"
    with pytest.raises(InvalidInputError, match="is 0 times"):
        edit(notebook, "title", "x")


def test_a_stale_hash_changes_nothing(notebook: Notebook) -> None:
    first = write(notebook)
    path = notebook.vault.root / "Ideas.md"
    path.write_text(path.read_text() + " and more")

    with pytest.raises(ConflictError, match="changed since it was read"):
        edit(notebook, "one", "two", expected_hash=first.content_hash)
    with pytest.raises(ConflictError, match="changed since it was read"):
        write(notebook, body="two", mode="replace", expected_hash=first.content_hash)
    now = notebook.vault.read("Ideas").content_hash
    assert edit(notebook, "one", "two", expected_hash=now.upper()).status == "edited"
    with pytest.raises(NotFoundError, match="leave expected_hash out"):
        write(notebook, title="new", mode="replace", expected_hash=now)


def test_the_same_key_writes_once(notebook: Notebook) -> None:
    first = write(notebook, body="two", mode="append", key="k1")

    assert write(notebook, body="two", mode="append", key="k1") == first
    assert body(notebook) == "two"
    write(notebook, body="two", mode="append", key="k2")
    assert body(notebook) == "two\ntwo"
    assert edit(notebook, "two\ntwo", "three", key="k3") == edit(notebook, "two\ntwo", "three", key="k3")
    with pytest.raises(ConflictError, match="used for another write"):
        write(notebook, body="other", mode="append", key="k1")


def test_a_retry_after_a_deletion_does_not_write_again(notebook: Notebook) -> None:
    first = write(notebook, key="k1")
    notebook.delete("Ideas")

    assert write(notebook, key="k1") == first
    with pytest.raises(NotFoundError):
        body(notebook)


@pytest.mark.parametrize(("died_in", "method"), [(Vault, "write"), (RequestLog, "done")])
def test_a_process_that_died_in_a_write_is_made_good_by_the_retry(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch, died_in: type, method: str
) -> None:
    class DeathError(Exception):
        pass

    def die(*_: object) -> None:
        raise DeathError

    write(notebook)
    with monkeypatch.context() as patched:
        patched.setattr(died_in, method, die)
        with pytest.raises(DeathError):
            write(notebook, body="two", mode="append", key="k1")

    assert write(notebook, body="two", mode="append", key="k1").status == "appended"
    assert body(notebook) == "one\ntwo"


def test_a_write_that_failed_may_be_tried_again_with_its_key(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("tools_mcp.notes.vault.secure_write", no_space)
        with pytest.raises(StoreError):
            write(notebook, key="k1")

    assert write(notebook, key="k1").status == "created"
    assert body(notebook) == "one"


@pytest.mark.parametrize("key", [None, "k1"])
def test_a_state_folder_that_went_away_is_told_in_a_sentence(notebook: Notebook, key: str | None) -> None:
    notebook.index.refresh()
    for path in notebook.lock.path.parent.iterdir():
        path.unlink()
    notebook.lock.path.parent.rmdir()

    with pytest.raises(StoreError, match="The notes folder cannot be written"):
        write(notebook, key=key)


def test_a_damaged_record_of_keys_stops_only_writes_with_a_key(notebook: Notebook) -> None:
    notebook.requests.path.write_bytes(b"no database " * 100)

    with pytest.raises(StoreError, match="send the call without a key"):
        write(notebook, key="k1")
    assert write(notebook).status == "created"


def test_search_wants_all_words_and_falls_back_to_some(notebook: Notebook) -> None:
    write(notebook, title="Launch", body="The launch is on Friday", tags=("work",))
    write(notebook, title="Dinner", body="Friday at eight")

    matches, matched = notebook.search("launch friday", Filter(), 10, 0)
    assert ([match.listed.id for match in matches], matched) == (["Launch"], "all")
    assert matches[0].snippet == "The <<launch>> is on <<Friday>>"

    matches, matched = notebook.search("what about the dinner on sunday", Filter(), 10, 0)
    assert ([match.listed.id for match in matches], matched) == (["Dinner"], "any")
    assert notebook.search("capital of France", Filter(), 10, 0) == ([], None)
    assert notebook.search("🎉 *", Filter(), 10, 0) == ([], None)
    assert notebook.search("launch", Filter(tags=("home",)), 10, 0) == ([], None)


def test_an_edit_in_another_program_is_found_at_once(notebook: Notebook) -> None:
    write(notebook)
    (notebook.vault.root / "Ideas.md").write_text("completely different")

    assert [match.listed.id for match in notebook.search("different", Filter(), 10, 0)[0]] == ["Ideas"]
    assert notebook.search("one", Filter(), 10, 0) == ([], None)


def test_the_deleted_note_is_gone_from_search_and_list(notebook: Notebook) -> None:
    write(notebook)
    assert notebook.delete("Ideas").status == "deleted"

    assert notebook.search("one", Filter(), 10, 0) == ([], None)
    assert notebook.newest(Filter(), 10, None) == []
    assert (notebook.vault.root / ".trash" / "Ideas.md").read_text().endswith("one")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"title": " "}, "title is empty"),
        ({"title": "x" * 301}, "301 characters"),
        ({"body": "\ud83d"}, "body holds half"),
        ({"folder": "../up"}, "no place inside"),
        ({"tags": ("!",)}, "no letter or digit"),
    ],
)
def test_what_cannot_be_written_leaves_nothing(notebook: Notebook, fields: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInputError, match=why):
        write(notebook, **fields)
    assert list(notebook.vault.root.iterdir()) == []


def test_neither_id_nor_title_is_an_error(notebook: Notebook) -> None:
    with pytest.raises(InvalidInputError, match="send one of them"):
        notebook.read(None, None)
    with pytest.raises(NotFoundError, match="look for it with notes_search"):
        notebook.read(None, "nothing")
