"""A model's words at a real terminal: Markdown while it streams, Ctrl-C, narrow and simple terminals, hostile text."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.conftest import BIN, Person
from tests.fakes.openai_server import Answer, Cut, Step, openai_server
from tests.terminals import Terminal, terminal

pytestmark = pytest.mark.slow  # starts many processes

REPLY: Final = """# Teas

Green tea is **fresh** and [well described](https://tea.example/green?a=1).

1. sencha
2. bancha

```python
steep = 80
```

| tea | 数量 |
|-----|-----:|
| 玉露 🍵 | 12 |

Enjoy it.
"""
READ: Final = (
    "# Teas Green tea is fresh and well described (https://tea.example/green?a=1). 1 sencha 2 bancha "
    "```python steep = 80 ``` tea 数量 "
)


async def at_terminal(
    person: Person,
    script: tuple[Step, ...],
    use: Callable[[Terminal], None],
    *options: str,
    columns: int = 80,
    rows: int = 24,
    **environ: str,
) -> list[str]:
    """Talks at a terminal to a model that plays the script; returns what the person's messages were, as it got them."""
    person.without_tools()
    async with openai_server(*script) as server:
        told = {
            **person.environ,
            "TERM": "xterm-256color",
            "PROMETHEUS_PROVIDER": "openai-compatible",
            "PROMETHEUS_BASE_URL": server.url,
            "PROMETHEUS_MODEL": "qwen3",
            "PROMETHEUS_RETRIEVAL_GATE": "off",
            **environ,
        }

        def talk() -> None:
            command: list[str | Path] = [BIN / "agent-host", "chat", *options]
            with terminal(command, told, person.folder, columns=columns, rows=rows) as screen:
                use(screen)

        await asyncio.to_thread(talk)
        return [request.body["messages"][-1]["content"] for request in server.requests]


def _is_stopped(pid: int | None) -> bool:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "T"


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def leave(screen: Terminal) -> None:
    screen.see_prompt()
    screen.enter("/quit")
    assert screen.end() == 0
    assert not screen.is_cursor_hidden


async def test_a_reply_is_rendered_once_and_whole(person: Person) -> None:
    def use(screen: Terminal) -> None:
        screen.see_prompt()
        screen.enter("Tell me about tea")
        screen.see("receipt 1 signed")
        assert READ in screen.words
        assert screen.words.count("Enjoy it.") == screen.words.count("玉露") == 1
        assert "thinking" not in screen.text
        assert "writing" not in screen.text
        assert {"green", "default"} < screen.colours() | {"green"}
        leave(screen)

    assert await at_terminal(person, (Answer(REPLY),), use) == ["Tell me about tea"]


async def test_ctrl_c_keeps_what_was_said_and_the_conversation_goes_on(person: Person) -> None:
    def use(screen: Terminal) -> None:
        screen.see_prompt()
        screen.enter("Tell me about tea")
        screen.see("writing …")
        assert screen.is_cursor_hidden
        assert "Green tea is fresh" in screen.words
        screen.type("half a wo")  # typed too early: not shown, and taken away by Ctrl-C
        screen.type("\x03")
        screen.see("Cancelled. qwen3")
        screen.see("receipt 1 signed")
        assert screen.words.count("Green tea is fresh") == 1
        assert "half" not in screen.words.partition("receipt 1 signed")[0]
        screen.enter("/sessions")
        screen.see("(1 turn")
        leave(screen)

    await at_terminal(person, (Cut(Answer(REPLY), 2, "stall"),), use)
    turns = (person.home / "receipts/chains/turns.jsonl").read_text().splitlines()
    assert [json.loads(line)["outcome"] for line in turns] == ["cancelled"]


async def test_what_is_typed_while_a_turn_runs_stands_at_the_next_prompt(person: Person) -> None:
    def use(screen: Terminal) -> None:
        screen.see_prompt()
        screen.enter("hello")
        screen.see("thinking …")
        screen.type("next")
        screen.see("receipt 1 signed")
        screen.wait(lambda: screen.cursor_row == "you > next", "what was typed")
        assert screen.words.count("next") == 1
        screen.type("\x03")
        screen.see_prompt()
        screen.enter("/tools")
        screen.type("soon")  # between a command and the prompt after it
        screen.wait(lambda: screen.cursor_row == "you > soon", "what was typed")
        assert screen.words.count("soon") == 1
        screen.type("\x03")
        leave(screen)

    await at_terminal(person, (Answer("hi"),), use)


async def test_ctrl_z_gives_the_cursor_back_and_the_turn_goes_on_afterwards(person: Person) -> None:
    def use(screen: Terminal) -> None:
        screen.see_prompt()
        screen.enter("Tell me about tea")
        screen.see("writing …")
        screen.type("\x1a")
        screen.wait(lambda: not screen.is_cursor_hidden, "the cursor")
        assert "writing" not in screen.text
        screen.wait(lambda: _is_stopped(screen.child.pid), "the stop")  # one that is continued before stays stopped
        screen.child.kill(signal.SIGCONT)
        screen.see("writing …")
        screen.type("\x03")
        screen.see("receipt 1 signed")
        assert screen.words.count("Green tea is fresh") == 1
        leave(screen)

    await at_terminal(person, (Cut(Answer(REPLY), 2, "stall"),), use)


async def test_nothing_is_lost_when_the_window_changes_in_the_middle_of_a_reply(person: Person) -> None:
    words = " ".join(f"w{number}" for number in range(400))

    def use(screen: Terminal) -> None:
        screen.see_prompt()
        screen.enter("Say much")
        screen.see("w100")
        for columns, rows in ((40, 10), (90, 30), (30, 8)):
            screen.resize(columns, rows)
            screen.see("writing …")
        screen.type("\x03")
        screen.see("receipt 1 signed")
        screen.see_prompt()
        assert "Title" in screen.words  # what was finished before stays above
        assert "w0 w1 w2 w3" in screen.words.partition("Cancelled")[0]
        leave(screen)

    await at_terminal(person, (Cut(Answer(f"# Title\n\n{words}\n\nThe end.\n"), 3, "stall"),), use)


@pytest.mark.parametrize("columns", [20, 40])
async def test_a_narrow_terminal_loses_no_character(person: Person, columns: int) -> None:
    long_word = "ein-sehr-langes-wort-ohne-ende" * 2
    reply = f"玉露は日本の緑茶です。 👍🏽 cafe\u0301 und {long_word}\n\n* 一\n* 二\n\nfin"

    def use(screen: Terminal) -> None:
        screen.see_prompt()
        screen.enter("Wide?")
        screen.see("receipt 1 signed")
        shown = "".join(screen.text.split())
        for part in ("玉露は日本の緑茶です。", long_word, "•一", "•二", "fin"):
            assert part in shown
        screen.enter("/help")
        screen.see("Ctrl-R")
        leave(screen)

    await at_terminal(person, (Answer(reply),), use, columns=columns, rows=16)


async def test_text_of_a_model_cannot_steer_the_terminal(person: Person) -> None:
    reply = (
        "\x1b]0;owned\x07 \x1b[2J gone &#27;[31m &#x9b;2J \x9b5n \u202etxet [x](https://e.example/\u202ea) "
        "`\x1b[8m` <b>html</b>\n\n```sh\n\x1b]52;c;cm0=\x07\n```\n"
    )

    def use(screen: Terminal) -> None:
        screen.see_prompt()
        before = len(screen.raw)
        screen.enter("hello")
        screen.see("receipt 1 signed")
        leave(screen)
        shown = screen.raw[before:]
        for sequence in (b"\x1b]", b"\x1b[2J", b"\x1b[31m ", b"\xc2\x9b", b"\x1b[8m", "\u202e".encode(), b"\x07"):
            assert sequence not in shown
        assert "\\x1b]0;owned\\x07" in screen.words
        assert "<b>html</b>" in screen.words

    await at_terminal(person, (Answer(reply),), use)


async def test_no_color_means_no_colour(person: Person) -> None:
    def use(screen: Terminal) -> None:
        screen.see_prompt()
        screen.enter("Tell me about tea")
        screen.see("receipt 1 signed")
        assert READ in screen.words
        assert screen.colours() == {"default"}
        leave(screen)

    await at_terminal(person, (Answer(REPLY),), use, NO_COLOR="1")


async def test_a_terminal_that_cannot_move_its_cursor_gets_lines_as_they_come(person: Person) -> None:
    def use(screen: Terminal) -> None:
        screen.see("you >")
        screen.enter("Tell me about tea")
        screen.see("receipt 1 signed")
        assert "Green tea is **fresh**" in screen.words
        screen.enter("/quit")
        assert screen.end() == 0
        assert b"\x1b" not in screen.raw

    await at_terminal(person, (Answer(REPLY),), use, TERM="dumb")


async def test_plain_writes_no_escape_code_and_no_prompt(person: Person) -> None:
    def use(screen: Terminal) -> None:
        screen.see("/quit to leave.")
        screen.enter("Tell me about tea")
        screen.see("receipt 1 signed")
        assert "Green tea is **fresh**" in screen.words
        screen.enter("/quit")
        assert screen.end() == 0
        assert b"\x1b" not in screen.raw
        assert "you >" not in screen.text

    await at_terminal(person, (Answer(REPLY),), use, "--plain")


async def test_a_locale_without_unicode_gets_what_looks_like_it(person: Person) -> None:
    def use(screen: Terminal) -> None:
        screen.see("you >")
        screen.enter("Tell me about tea")
        screen.see("receipt 1 signed")
        assert "qwen3 - 12 in / 33 out - no price known" in screen.words
        assert "\\u7389\\u9732" in screen.words
        leave(screen)

    await at_terminal(person, (Answer(REPLY),), use, PYTHONIOENCODING="ascii")


async def test_a_paste_is_one_message_and_so_are_lines_begun_with_alt_enter_or_a_backslash(person: Person) -> None:
    pasted = "\n".join(f"row {number}" for number in range(2_000))

    def use(screen: Terminal) -> None:
        screen.see_prompt()
        screen.type(f"\x1b[200~{pasted}\x1b[201~")
        screen.see("row 1999")
        screen.enter("")
        screen.see("receipt 1 signed")
        screen.see_prompt()
        screen.type("one\\\r")
        screen.see("one >")
        screen.type("two\x1b\r")
        screen.see("two >")
        screen.enter("three")
        screen.see("receipt 2 signed")
        leave(screen)

    assert await at_terminal(person, (Answer("ok"), Answer("ok")), use) == [pasted, "one\ntwo\nthree"]


async def test_what_was_typed_is_there_again_in_the_next_conversation_and_private(person: Person) -> None:
    def first(screen: Terminal) -> None:
        screen.see_prompt()
        screen.enter("What is 玉露?")
        screen.see("receipt 1 signed")
        leave(screen)

    def second(screen: Terminal) -> None:
        screen.see_prompt()
        screen.type("\x1b[A\x1b[A")  # the newest is /quit
        screen.wait(lambda: screen.cursor_row == "you > What is 玉露?", "the message before")
        screen.type("\x03")
        screen.see_prompt()
        screen.type("\x03")
        assert screen.end() == 0

    await at_terminal(person, (Answer("A tea."),), first)
    await at_terminal(person, (), second)
    assert _mode(person.home / "host/history.jsonl") == 0o600


async def test_commands_and_what_they_take_are_completed(person: Person) -> None:
    def use(screen: Terminal) -> None:
        screen.see_prompt()
        screen.enter("hello")
        screen.see("receipt 1 signed")
        screen.see_prompt()
        screen.type("/re")
        screen.see("/resume go on with conversation N")
        screen.type("c")
        screen.wait(lambda: "/resume" not in screen.text and "/receipt" in screen.text, "a shorter menu")
        screen.type("\t")
        screen.wait(lambda: screen.cursor_row.startswith("you > /receipt"), "the command's name")
        screen.type(" ")
        screen.see("1 qwen3 · 12 in")
        screen.type("\t")
        screen.wait(lambda: screen.cursor_row.startswith("you > /receipt 1"), "the receipt's number")
        screen.enter("")
        screen.see("trace hash")
        leave(screen)

    await at_terminal(person, (Answer("hi"),), use)


async def test_another_model_of_the_provider_answers_from_the_next_message_on(person: Person) -> None:
    def use(screen: Terminal) -> None:
        screen.see_prompt()
        screen.enter("/model llama9")
        screen.see("llama9 by openai-compatible answers, no price known.")
        screen.enter("hello")
        screen.see("llama9 · 12 in")
        leave(screen)

    await at_terminal(person, (Answer("hi"),), use)


def test_what_was_typed_before_a_question_waits_and_does_not_answer_it(person: Person) -> None:
    person.without_tools("calendar")
    told = json.loads((person.home / "mcp.json").read_text())
    told["mcpServers"]["calendar"] = {"permissions": "ask"}
    (person.home / "mcp.json").write_text(json.dumps(told))
    environ = {**person.environ, "TERM": "xterm-256color"}
    with terminal([BIN / "agent-host", "chat"], environ, person.folder) as screen:
        screen.see_prompt()
        screen.type("Schedule dentist tomorrow at 10:00\ralways\rhalf")
        screen.see("n(o) or always >")
        screen.enter("n")
        screen.see("the person said no")
        screen.see("you > always")
        screen.wait(lambda: screen.cursor_row == "you > half", "the rest of what was typed")
        screen.type("\x03")
        leave(screen)
    assert not (person.home / "host/permissions.json").exists()
