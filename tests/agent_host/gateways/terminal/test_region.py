"""The lines that are painted again: in their own place, with as little as it takes."""

from __future__ import annotations

import io
from typing import Final

import pyte
import pytest

from agent_host.gateways.terminal.region import Region

COLUMNS: Final = 20


def rows(out: io.StringIO) -> list[str]:
    """Returns what a terminal shows of all that was written."""
    screen = pyte.Screen(COLUMNS, 8)
    pyte.Stream(screen).feed(out.getvalue().replace("\n", "\r\n"))
    return [row.rstrip() for row in screen.display if row.strip()]


def test_lines_are_replaced_and_what_stands_above_them_stays() -> None:
    out = io.StringIO()
    region = Region(out)

    region.paint("", ["open 1", "⠋ thinking"])
    region.paint("done\n", ["⠙ thinking"])
    assert rows(out) == ["done", "⠙ thinking"]
    region.paint("more\n", ())
    assert rows(out) == ["done", "more"]
    assert out.getvalue().endswith("\x1b[?2026l")


def test_the_cursor_is_hidden_while_lines_move_and_comes_back_with_the_last_of_them() -> None:
    out = io.StringIO()
    region = Region(out)

    region.paint("", ["a"])
    assert "\x1b[?25l" in out.getvalue()
    region.paint("", ())
    assert out.getvalue().rindex("\x1b[?25h") > out.getvalue().rindex("\x1b[?25l")


@pytest.mark.parametrize("lines", [["same"], []])
def test_nothing_is_written_where_nothing_changed(lines: list[str]) -> None:
    out = io.StringIO()
    region = Region(out)
    region.paint("", lines)
    written = out.getvalue()

    region.paint("", lines)

    assert out.getvalue() == written
