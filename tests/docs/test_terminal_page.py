"""docs/how-to/terminal.md says what the program does: the table of commands and the options."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from agent_host.gateways.commands.table import COMMANDS
from tests.e2e.conftest import BIN

PAGE = (Path(__file__).parents[2] / "docs/how-to/terminal.md").read_text()


def test_the_table_of_commands_is_the_one_of_the_program() -> None:
    rows = re.findall(r"^\| `(/[^`]*)` \| (.*) \|$", PAGE, flags=re.MULTILINE)

    assert [(usage.replace("\\|", "|"), does) for usage, does in rows] == [(one.usage, one.help) for one in COMMANDS]


@pytest.mark.parametrize("command", ["chat", "ask", ""])
def test_every_option_named_is_one(command: str) -> None:
    lines = re.findall(rf"^.*agent-host {command}.*$" if command else r"^agent-host --.*$", PAGE, flags=re.MULTILINE)
    named = {option for line in lines for option in re.findall(r"(?<=\s)--?[a-z][a-z-]*", line.split("#")[0])}
    words = [str(BIN / "agent-host"), *([command] if command else []), "--help"]

    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout

    assert named
    assert [option for option in named if option not in shown] == []
