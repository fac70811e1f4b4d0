from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from agent_host.gateways.terminal.history import LONGEST, MOST_ENTRIES, HistoryFile


def test_what_was_typed_is_kept_privately_in_order_and_with_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    for text in ("one", "two\nlines \ud83d", "玉露"):
        HistoryFile(path).add(text)

    assert HistoryFile(path).entries() == ["one", "two\nlines \ud83d", "玉露"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert next(iter(HistoryFile(path).for_prompt().load_history_strings())) == "玉露"


@pytest.mark.parametrize("text", ["", "  ", " with a space before it", "x" * (LONGEST + 1)])
def test_what_is_not_to_be_kept_is_not(tmp_path: Path, text: str) -> None:
    HistoryFile(tmp_path / "h").add(text)

    assert HistoryFile(tmp_path / "h").entries() == []


def test_a_damaged_line_costs_itself_and_a_long_file_its_oldest_lines(tmp_path: Path) -> None:
    path = tmp_path / "h"
    lines = [json.dumps(f"entry {number}") for number in range(MOST_ENTRIES + 10)]
    path.write_text("\n".join([*lines, '"torn', "17", '"last"']) + "\n")

    kept = HistoryFile(path).entries()

    assert (kept[0], kept[-1], len(kept)) == ("entry 13", "last", MOST_ENTRIES - 2)
    assert path.read_bytes().count(b"\n") == MOST_ENTRIES


def test_a_disk_that_refuses_costs_the_history_only(tmp_path: Path) -> None:
    history = HistoryFile(tmp_path / "no such folder" / "h")
    history.add("hello")

    assert history.entries() == []
