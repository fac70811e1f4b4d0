import contextlib
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tools_mcp.errors import InvalidInputError
from tools_mcp.notes.names import NoteId, explains, file_stem, folder_parts

PIECES = ("..", ".", "/", "\\", "%2e", "%2F", "%5c", "%00", "a", " ", ".md", ".trash/", "C:", "\0", "%25", "con")
WINDOWS_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


@pytest.mark.parametrize(
    ("title", "stem"),
    [
        ("Design meeting", "Design meeting"),
        ("1: 12/3/24 ?", "1- 12-3-24 -"),
        ("CON", "CON_"),
        ("con.fig", "con_.fig"),
        ("COM1 .txt", "COM1_ .txt"),
        ("console", "console"),
        (".", "untitled"),
        ("...", "untitled"),
        ("", "untitled"),
        (".hidden", "hidden"),
        ("ends with dots...", "ends with dots"),
        ("../../etc/passwd", "-..-etc-passwd"),
        ("a\x00b\nc", "a b c"),
        ("50%2F off sale", "50-2F off sale"),
        ("%2e%2E%5c%00", "-2e-2E-5c-00"),
        ("README.md", "README"),
        ("x.MD .md.", "x"),
        (".md", "md"),
        ("[[link]] #tag ^x", "--link-- -tag -x"),
        ("Cafe\u0301", "Caf\u00e9"),
        ("用户身份 🎉", "用户身份 🎉"),
    ],
)
def test_a_title_becomes_a_name_every_system_takes(title: str, stem: str) -> None:
    assert file_stem(title) == stem


def test_long_titles_stay_apart() -> None:
    one, other = file_stem("x" * 300), file_stem("x" * 299 + "y")

    assert one != other
    assert len(one.encode()) == len(other.encode()) == 120


@settings(deadline=None)
@given(st.text(max_size=300))
@example("用" * 300)
@example("NUL" + "." * 200)
@example("\ud83d")
@example("a" * 119 + ". b")
def test_no_title_makes_a_dangerous_name(title: str) -> None:
    stem = file_stem(title)

    assert file_stem(title) == stem
    assert 0 < len(stem.encode()) <= 120
    assert not re.search(r'[<>:"/\\|?*\x00-\x1f\x7f]', stem)
    assert stem == stem.strip()
    assert not stem.startswith(".")
    assert not stem.endswith(".")
    assert not WINDOWS_DEVICE.fullmatch(stem)
    assert str(NoteId.read(stem)) == stem
    assert NoteId.read(stem) == NoteId((), f"{stem}.md")
    assert explains(title, stem)


def nowhere(_: tuple[str, ...]) -> bool:
    return False


@settings(deadline=None)
@given(text=st.text(max_size=40) | st.lists(st.sampled_from(PIECES), max_size=9).map("".join), is_there=st.booleans())
@example(text="a/%2e%2e/%2e%2e/x", is_there=True)
@example(text="..%2f..%2fx", is_there=True)
@example(text="%5c..%5c..%5cx", is_there=True)
def test_every_place_is_inside_the_vault_or_refused(text: str, is_there: bool) -> None:
    vault = Path("/vault")
    places: list[tuple[str, ...]] = []
    with contextlib.suppress(InvalidInputError):
        places.append(folder_parts(text, lambda _: is_there))
    with contextlib.suppress(InvalidInputError):
        place = NoteId.read(text)
        assert NoteId.read(str(place)) == place
        assert NoteId.read("/".join((*place.folder, place.file))) == place
        places.append((*place.folder[place.is_trashed :], place.file))
    for parts in places:
        read_by_others = "/".join(parts).replace("\\", "/")
        for path in (read_by_others, unquote(read_by_others).replace("\\", "/")):
            assert Path(f"{vault}/{path}").resolve().is_relative_to(vault)
            assert not path.startswith("/")
        assert not any(part.startswith(".") or "\0" in unquote(part) or "/" in part for part in parts)


OUTSIDE = [
    *("..", "../x", "a/../../x", "/etc/passwd", "//server/share", "a//b", "./a", "a/./b", ".Trash/x", "a/.obsidian"),
    *(".trash/../x", ".trash/", ".trash//x", ".obsidian/x", ".prometheus/move", ".trash/.prometheus/x"),
    *("%2e%2e/x", "a/%2e%2e%2fx", "%2fetc/passwd", "..%5cx", "a%5c..%5c..%5cx", "a%00", "a\\..\\b", "\\\\server"),
    *("a\x00b", "a\nb", "a/ ../b", "x/" * 500 + "y", "y" * 256, "é" * 128, " /x", "\ud800", "\udcff", "", " "),
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_what_leads_out_of_the_vault_is_refused(path: str) -> None:
    with pytest.raises(InvalidInputError, match=r"^id .* is no place inside the notes folder"):
        NoteId.read(path)
    if path.strip() and path != " /x":  # a folder's outer spaces are dropped first, and then it is absolute
        folder = path if path != ".trash/" else ".trash"
        with pytest.raises(InvalidInputError, match=r"^folder .* is no place inside the notes folder"):
            folder_parts(folder, nowhere)


@pytest.mark.parametrize("path", ["CON", "nul.txt", "a/com1/b", "a/C:/x", "LPT\u00b9", "aux .md", "C:/x", "c:x"])
def test_what_is_special_to_windows_is_refused_there_and_in_every_new_folder(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert NoteId.read(path).folder == tuple(path.split("/")[:-1])
    with pytest.raises(InvalidInputError, match="a device or drive to Windows; send another name"):
        folder_parts(path, nowhere)

    monkeypatch.setattr("tools_mcp.notes.names._IS_WINDOWS", True)
    for call in (lambda: NoteId.read(path), lambda: folder_parts(path, lambda _: True)):
        with pytest.raises(InvalidInputError, match="no place inside"):
            call()


@pytest.mark.parametrize(
    ("folder", "parts"),
    [(None, ()), ("", ()), ("work", ("work",)), (" work/ideas/ ", ("work", "ideas")), ("Work: 2026", ("Work- 2026",))],
)
def test_a_new_folder_gets_a_safe_name(folder: str | None, parts: tuple[str, ...]) -> None:
    assert folder_parts(folder, nowhere) == parts


def test_a_folder_that_is_there_keeps_its_name() -> None:
    there = {("Work: 2026",), ("Work: 2026", "con")}

    assert folder_parts("Work: 2026/con/new?", lambda parts: parts in there) == ("Work: 2026", "con", "new-")


def test_only_an_id_may_be_in_the_trash() -> None:
    place = NoteId.read(".trash/work/a")
    assert (place.folder, place.file, place.is_trashed) == ((".trash", "work"), "a.md", True)
    with pytest.raises(InvalidInputError):
        folder_parts(".trash/x", nowhere)


@pytest.mark.parametrize(
    ("file", "note_id"),
    [
        ("Ideas.md", "Ideas"),
        ("Upper.MD", "Upper.MD"),
        ("Upper.MD.md", "Upper.MD.md"),
        ("x.md.md", "x.md.md"),
        ("50%2foff.md", "50%2foff"),
        ("A: thing.md", "A: thing"),
        ("Con.md", "Con"),
        ("y" * 252 + ".md", "y" * 252),
    ],
)
def test_every_file_has_an_id_of_its_own(file: str, note_id: str) -> None:
    place = NoteId.read(f"a/{file}")

    assert (place.file, str(place), place.stem) == (file, f"a/{note_id}", file[:-3])
    assert NoteId.read(f"a/{note_id}") == place


@pytest.mark.parametrize(
    ("title", "stem", "does"),
    [
        ("A: b", "A- b", True),
        ("A: b", "a- B 2", True),
        ("A: b", "A: b", True),
        ("Chapter 2", "Chapter 2", True),
        ("Old", "Plans", False),
        ("Plan", "Plan 2 b", False),
    ],
)
def test_a_title_explains_its_file_or_not(title: str, stem: str, does: bool) -> None:
    assert explains(title, stem) is does
