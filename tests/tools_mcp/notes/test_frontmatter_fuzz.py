"""Files of other programs, made of the pieces that front matter is made of: read whole, changed only where asked."""

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tools_mcp.errors import InvalidInputError
from tools_mcp.notes.frontmatter import split, with_tags, with_title

PIECES = (
    *(
        "---",
        "...",
        "\n",
        "\r\n",
        " ",
        "  ",
        "- ",
        "-",
        ": ",
        ":",
        "#",
        "# note",
        "title",
        "tags",
        "aliases",
        "created",
    ),
    *("[", "]", "{", "}", ",", "'", '"', "&a ", "*a", "!!python/object:os.system ", "!x ", "|", ">", "?", "%YAML 1.2"),
    *(
        "a",
        "no",
        "2026-11-30",
        "1: 2",
        "日本",
        "🎉",
        "\t",
        "\x00",
        "\x85",
        "\u2028",
        "\ufeff",
        "<<",
        "~",
        "`",
        "@",
        "\\",
    ),
)
FREE = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
KEYS = st.sampled_from(("title", "tags", "tag", "aliases", "created", "x", "cssclasses"))
VALUES = st.sampled_from(
    (
        "",
        " a",
        " [a, b]",
        " 'it''s'",
        ' "q"',
        " no",
        "\n  - a\n  - b",
        "\n- a",
        " >\n  one\n  two",
        " {a: b}",
        " &m a",
        " # c",
    )
)
PROPERTIES = st.lists(st.tuples(KEYS, VALUES).map(lambda pair: f"{pair[0]}:{pair[1]}"), max_size=6).map("\n".join)
FILES = (
    FREE
    | FREE.map(lambda text: f"---\n{text}\n---\nbody\n")
    | PROPERTIES.map(lambda text: f"---\n{text}\n---\nbody\n")
    | PROPERTIES.map(lambda text: f"\ufeff---\n{text}\n---\nbody".replace("\n", "\r\n"))
)
TITLES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=20).map(
    lambda text: " ".join(text.split()) or "x"
)
calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def a_file_survives(text: str, title: str) -> None:
    """A file is its parts, and a change keeps every other property and the body, or is refused."""
    parts = split(text)
    assert parts.header + parts.body == text
    values: dict[str, str | list[str]] = {"title": title, "tags": ["a", "no"]}
    for name, value in values.items():
        try:
            header = with_title(parts.header, title) if name == "title" else with_tags(parts.header, ["a", "no"])
        except InvalidInputError:
            continue
        after = split(header + parts.body)
        assert after.body == parts.body
        assert properties(after.header) == properties(parts.header) | {name: value}
        assert (after.title if name == "title" else list(after.tags)) == value


def properties(header: str) -> dict[str, object]:
    """What a header says, read by YAML itself."""
    lines = header.removeprefix("\ufeff").splitlines(keepends=True)[1:-1]
    value = yaml.load("".join(lines), Loader=yaml.BaseLoader) if "".join(lines).strip() else {}  # noqa: S506
    return dict(value) if isinstance(value, dict) else {}


@calm
@given(FILES, TITLES)
@example("---\ntags: [\n  a\n]\n---\nbody", "x")
@example("---\ntitle: |\n  two\n  lines\nx: y\n---\n", "x")
@example("---\ntitle:\n  - a\n# c\nx: y\n---\n", "- # x")
@example("---\n[1: 2\n---\nbody\n", "x")
@example("---\nx: {\ntitle: a}\n---\n", "x")
def test_a_file_of_another_program_survives_a_change(text: str, title: str) -> None:
    a_file_survives(text, title)


@pytest.mark.fuzz
@pytest.mark.timeout(600)
@settings(calm, max_examples=3_000)
@given(FILES, TITLES)
def test_very_many_files_survive_a_change(text: str, title: str) -> None:
    a_file_survives(text, title)
