import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tools_mcp.errors import InvalidInputError
from tools_mcp.notes.names import file_stem, folder_parts, id_parts

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
    assert id_parts(stem) == (stem.removesuffix(".md"),)


@settings(deadline=None)
@given(st.text(max_size=40))
def test_every_folder_is_inside_the_vault_or_refused(text: str) -> None:
    vault = Path("/vault")
    try:
        parts = folder_parts(text)
    except InvalidInputError:
        return
    assert vault.joinpath(*parts).resolve().is_relative_to(vault)
    assert all(not part.startswith(".") for part in parts)


OUTSIDE = [
    *("..", "../x", "a/../../x", "/etc/passwd", "//server/share", "a//b", "./a", "a/./b", ".Trash/x", "a/.obsidian"),
    *(".trash/../x", ".trash/", ".trash//x", ".obsidian/x", ".prometheus/move", ".trash/.prometheus/x"),
    *("CON", "nul.txt", "a/com1/b", "a/C:/x", "LPT\u00b9", "aux .md"),
    *("%2e%2e/x", "a%2fb", "a%2Fb", "..%5cx", "a%00", "a\\..\\b", "\\\\server", "C:/x", "c:x", "a\x00b", "a\nb"),
    *("a/ ../b", "x/" * 8 + "y", "y" * 241, " /x", "\ud800"),
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_what_leads_out_of_the_vault_is_refused(path: str) -> None:
    for read, what in ((id_parts, "id"), (folder_parts, "folder")):
        if read is folder_parts and path == " /x":
            continue  # a folder's outer spaces are dropped first, and then it is absolute
        if read is folder_parts and path == ".trash/":
            path = ".trash"
        with pytest.raises(InvalidInputError, match=f"^{what} .* is no place inside the notes folder"):
            read(path)


@pytest.mark.parametrize(
    ("folder", "parts"),
    [(None, ()), ("", ()), ("work", ("work",)), (" work/ideas/ ", ("work", "ideas")), ("Work: 2026", ("Work- 2026",))],
)
def test_a_folder_is_named_the_way_it_is_on_disk(folder: str | None, parts: tuple[str, ...]) -> None:
    assert folder_parts(folder) == parts


def test_only_an_id_may_be_in_the_trash() -> None:
    assert id_parts(".trash/work/a") == (".trash", "work", "a")
    with pytest.raises(InvalidInputError):
        folder_parts(".trash/x")


def test_an_id_may_be_written_with_its_suffix() -> None:
    assert id_parts("work/Ideas.md") == id_parts("work/Ideas") == ("work", "Ideas")
