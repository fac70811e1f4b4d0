"""Random Markdown in random pieces, at any width: each word of it can be read in the end."""

from __future__ import annotations

import io
import random
import re
from typing import Final

import pytest

from agent_host.gateways.terminal.painter import Painter

FRAGMENTS: Final = (
    *("# {}\n", "{} {}\n", "\n", "\n\n", "- {}\n", "  - {}\n", "1. {}\n", "   {}\n", "```py\n", "```\n", "~~~\n"),
    *(
        "> {}\n",
        ">> {}\n",
        "| {} | {} |\n|--|--|\n| {} | {} |\n\n",
        "**{}** ",
        "*{}",
        "`{}` ",
        "`{}",
        "[{}](http://{}.x) ",
    ),
    *("[{}](http://{}.x) ", "[{}\n", "]("),
    *("![{}](http://{}.y) ", "<{}> ", "&amp;{} ", "***\n", "{}\n===\n", "{}\n---\n", "    {}\n", "[{}]: http://{}.z\n"),
    *(
        "<div>{}\n",
        "~~{}~~ ",
        "\\*{}\\* ",
        "{}  \n",
        "* [ ] {}\n",
        "<http://{}.w> ",
        "{}|{}\n",
        "\t{}\n",
        "[{}\n",
        "](",
    ),
)


def _random_text(chance: random.Random) -> tuple[str, list[str]]:
    words: list[str] = []

    def word() -> str:
        words.append(f"w{len(words)}q")
        return words[-1]

    chosen = [chance.choice(FRAGMENTS) for _ in range(chance.randrange(1, 25))]
    return "".join(one.format(*(word() for _ in range(one.count("{}")))) for one in chosen), words


def lost(seed: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], str]:
    chance = random.Random(seed)  # noqa: S311 - what to try, not a secret
    text, words = _random_text(chance)
    monkeypatch.setenv("COLUMNS", str(chance.choice((8, 20, 60, 100))))
    monkeypatch.setenv("LINES", "20")
    painter, shown, start = Painter(io.StringIO()), "", 0
    while start < len(text):
        end = start + chance.randrange(1, 15)
        shown += painter.fed(text[start:end])
        painter.moving("writing", 1)
        start = end
    shown += painter.ended()
    read = "".join(re.sub(r"\x1b\[[0-9;]*m|▌", "", shown).split())
    return [word for word in words if word not in read], text


@pytest.mark.parametrize("seed", range(40))
def test_no_word_is_lost(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    words, text = lost(seed, monkeypatch)

    assert words == [], text


@pytest.mark.fuzz
def test_no_word_is_lost_in_many_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [(seed, words) for seed in range(2_000) if (words := lost(seed, monkeypatch)[0])] == []
