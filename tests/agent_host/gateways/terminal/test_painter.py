"""Markdown as rich renders it for a terminal of some width."""

from __future__ import annotations

import io
import re

import pytest
from rich.cells import cell_len

from agent_host.gateways.terminal.painter import Painter

_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def painted(text: str, monkeypatch: pytest.MonkeyPatch, columns: int = 60) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", "20")
    painter = Painter(io.StringIO())
    return _STYLE.sub("", painter.fed(text) + painter.ended())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a [link](https://x.example/?q=1)", "a link (https://x.example/?q=1)\n"),
        ("<https://x.example>", "https://x.example\n"),
        ("[https://good.example](https://bad.example)", "https://good.example (https://bad.example)\n"),
        ("![chart](https://x.example/c.png)", "image: chart (https://x.example/c.png)\n"),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))\n"),
        ("<b>bold</b> <script>x</script>", "<b>bold</b> <script>x</script>\n"),
        ("<div>\n<p>block</p>\n</div>", "<div>\n<p>block</p>\n</div>\n"),
        ("one\ntwo  \nthree", "one\ntwo\nthree\n"),
        ("## Head *ing*", "## Head ing\n"),
        ("9. nine\n10. ten", "9 nine\n10 ten\n"),
        ("```\n[b]x[/b] :smile:\n```", "```\n[b]x[/b] :smile:\n```\n"),
        ("[bold]x[/bold] :smile:", "[bold]x[/bold] :smile:\n"),
        ("[x][1]\n\n[1]: https://x.example", "[x][1]\n\n[1]: https://x.example\n"),
        ("~~gone~~ **\\*** &amp; &lt;", "gone * & <\n"),
    ],
)
def test_what_is_shown_of_markdown(text: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.sub("(?m)^ +", "", painted(text, monkeypatch)) == shown


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[2J",
        "`\x1b]0;t\x07`",
        "```\n\x9b5n\n```",
        "&#27;[2J &#155;x",
        "[a](https://x/\x1b[2J)",
        "![\x1b[2J](https://x/\u202e)",
        "| \x1b[2J |\n|--|\n| \x07 |",
        "# \x1b[2J",
        "```\x1b[2J\nx\n```",
        "> \u202ex \x00 \x7f \x85",
    ],
)
def test_no_control_character_gets_through_any_part_of_it(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = painted(text, monkeypatch)

    assert re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown) == []


@pytest.mark.parametrize("columns", [8, 12, 20, 33, 80])
def test_no_row_is_wider_than_the_terminal_and_no_character_is_cut(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = "| 名前 | 説明 |\n|--|--|\n| 玉露 | 高級な緑茶です |\n"
    text = f"玉露は緑茶です。👍🏽 Donaudampfschifffahrt\n\n* 一二三四五六七八九十\n\n{table}"

    shown = painted(text, monkeypatch, columns)

    assert max(map(cell_len, shown.splitlines())) <= columns
    whole = "".join(shown.split())
    for character in "玉露は緑茶です。Donaudampfschifffahrt一二三四五六七八九十名前説明高級な":
        assert character in whole


@pytest.mark.parametrize("nested", [">>>>>> deepest", "- " * 8 + "deepest", "> 1. > 123456. deepest"])
def test_what_is_nested_deeper_than_the_terminal_is_wide_is_shown(nested: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = painted(nested, monkeypatch, 12)

    assert "".join(re.findall("[a-z]", shown)) == "deepest"


def test_the_unfinished_block_fits_above_the_spinner_however_long_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("LINES", "8")
    painter = Painter(io.StringIO())
    painter.fed("```\n" + "\n".join(f"line {number}" for number in range(5_000)))

    lines = [_STYLE.sub("", line) for line in painter.moving("writing … 3 s · Ctrl-C cancels, and more", 1)]

    assert len(lines) == 6
    assert lines[-2] == "line 4999"
    assert lines[-1].startswith("⠙ writing … 3 s")
    assert len(lines[-1]) < 30


def test_a_table_of_two_columns_is_stacked_where_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    painter = Painter(io.StringIO())

    assert painter.table([("/memory", "what was remembered last")]) == "/memory\n  what was\n  remembered last\n"
