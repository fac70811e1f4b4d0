import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tools_mcp.errors import InvalidInputError
from tools_mcp.notes.frontmatter import clean_tags, new_header, split, with_tags, with_title

PLAIN = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=80)


def test_a_header_and_its_body_are_told_apart() -> None:
    parts = split("---\ntitle: Ideas\ntags: [a, b]\ncreated: 2026-11-30\n---\n# Hello\n")

    assert (parts.title, parts.tags, parts.created, parts.body) == ("Ideas", ("a", "b"), "2026-11-30", "# Hello\n")


@pytest.mark.parametrize(
    ("header", "title", "tags"),
    [
        ("title: no", "no", ()),
        ("title: 2026", "2026", ()),
        ("title: 'a: b'\ntags: 'one, two #three'", "a: b", ("one", "two", "three")),
        ("tags:\n- '#x'\n- y\n- [nested]\n- ''", "", ("x", "y")),
        ("tags:", "", ()),
        ("title: [not, a, title]\ntags: {a: b}", "", ()),
        ("title: >\n  over\n  lines", "over lines", ()),
        ("", "", ()),
        ("# only a comment\naliases: [x]", "", ()),
    ],
)
def test_title_and_tags_are_read_as_a_person_means_them(header: str, title: str, tags: tuple[str, ...]) -> None:
    parts = split(f"---\n{header}\n---\nbody")

    assert (parts.title, parts.tags, parts.body) == (title, tags, "body")


@pytest.mark.parametrize(
    "text",
    [
        *("", "no header", "---", "---\nunclosed: true\n", "--- \nx", "---\n- a list\n---\n", "---\njust text\n---\n"),
        *(
            "---\n" + "a line of text\n" * 2_000 + "---\n",
            "---\n'\n---\n",
            " ---\na: b\n---\n",
            "text\n---\na: b\n---\n",
        ),
        *("---\n&a [*a]\n---\nx", "---\n? {}\n: x\n---\n", "---\n!!python/object:os.system x\n---\n", "---\nx" * 9000),
    ],
)
def test_what_is_no_header_is_body(text: str) -> None:
    assert (split(text).header, split(text).body) == ("", text)


UNREADABLE = (
    *("title: foo: bar\nstatus: important", "tags:\n\t- a", "created: {{date}}", "{{properties}}", "a: [1"),
    *("# mine\n\ntitle: 'x", "title: x\ntitle2: " + "y" * 16_000, "a: &a [*a, *b]", "{" * 900),
)


@pytest.mark.parametrize("properties", UNREADABLE)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_header_that_cannot_be_read_is_kept_and_never_changed(properties: str, end: str) -> None:
    header = f"---\n{properties}\n---\n".replace("\n", end)
    parts = split(f"{header}body")

    assert (parts.header, parts.body, parts.title, parts.tags) == (header, "body", "", ())
    with pytest.raises(InvalidInputError, match="correct it in the file first"):
        with_tags(header, ["a"])
    with pytest.raises(InvalidInputError, match="correct it in the file first"):
        with_title(header, "x")


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("---\r\ntitle: x\r\n---\r\nbody\r\n")
@example("\ufeff---\ntitle: x\n...\nbody")
def test_a_file_is_always_its_parts(text: str) -> None:
    parts = split(text)

    assert parts.header + parts.body == text


@settings(deadline=None)
@given(PLAIN, st.lists(st.sampled_from(["work", "a/b", "x-y", "日本", "no", "1"]), unique=True), st.text(max_size=40))
@example("1: 12/3/24 ?", [], "---\nlooks: like a header\n---\n")
@example("- # & * ! | > ' \" % @ `", ["no"], "")
@example("null", [], "")
def test_a_new_note_is_read_back_as_it_was_written(title: str, tags: list[str], body: str) -> None:
    parts = split(new_header(title, tags, "2026-11-30T10:00:00+01:00") + body)

    assert parts.title == " ".join(title.split())
    assert (parts.tags, parts.created, parts.body) == (tuple(tags), "2026-11-30T10:00:00+01:00", body)


@pytest.mark.parametrize(
    "header",
    [
        "---\n# mine\ntitle: x\ntags: [old]\naliases:\n- y\n---\n",
        "---\ntags:\n  - old\n  - older\n# mine\ntitle: x\naliases: [y]\n---\n",
        "---\ntitle: x\n# mine\naliases:\n- y\ntags: old, older\n---\n",
        "---\ntitle: x\n# mine\naliases: [y]\n---\n",
    ],
)
def test_new_tags_leave_every_other_line_alone(header: str) -> None:
    changed = with_tags(header, ["new", "no"])
    properties = yaml.safe_load(changed.strip("-\n"))

    assert properties["tags"] == ["new", "no"]
    assert properties["title"] == "x"
    assert properties["aliases"] == ["y"]
    assert "# mine\n" in changed
    assert split(changed).tags == ("new", "no")


def test_tags_can_be_given_to_a_note_without_a_header() -> None:
    assert split(with_tags("", ["a"]) + "body").tags == ("a",)


def test_tags_are_made_what_obsidian_takes() -> None:
    assert clean_tags(["#Work", "two words", "work", "a/b", "x_y-z", "日本", " é! "]) == (
        *("Work", "two-words", "a/b", "x_y-z", "日本", "é"),
    )


@pytest.mark.parametrize("tag", ["", "#", "!!!", "x" * 61, "\ud800"])
def test_a_tag_without_words_is_refused(tag: str) -> None:
    with pytest.raises(InvalidInputError):
        clean_tags([tag])
