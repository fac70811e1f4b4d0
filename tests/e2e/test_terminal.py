"""A person at a real terminal (a pseudo-terminal): prompt, streaming, Ctrl-C."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pexpect
import pytest

from tests.e2e.conftest import BIN, SLOW_SERVER, Person

pytestmark = pytest.mark.slow  # starts many processes

PROMPT = "you >"
RECEIPT = re.compile(r"receipt (\d+) signed")


@contextmanager
def terminal(person: Person) -> Iterator[pexpect.spawn[str]]:
    child = pexpect.spawn(
        str(BIN / "agent-host"),
        ["chat"],
        cwd=str(person.folder),
        env={**person.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"},  # nobody answers cursor questions here
        encoding="utf-8",
        timeout=30,
        dimensions=(40, 100),
    )
    try:
        yield child
    finally:
        child.close(force=True)


def leave(child: pexpect.spawn[str]) -> int | None:
    child.sendline("/quit")
    child.expect(pexpect.EOF)
    child.wait()
    return child.exitstatus


def test_the_first_screen_says_that_this_is_no_language_model_and_how_to_plug_one_in(person: Person) -> None:
    person.without_tools()
    with terminal(person) as child:
        child.expect(PROMPT)
        screen = child.before or ""

        assert "language model" in screen
        assert "PROMETHEUS_PROVIDER" in screen
        assert leave(child) == 0


def test_a_turn_shows_its_tools_its_reply_and_its_receipt(person: Person) -> None:
    with terminal(person) as child:
        child.expect(PROMPT)
        child.sendline("Remember that the design team prefers morning meetings.")
        child.expect("memory_remember ok")
        child.expect(RECEIPT)
        child.expect(PROMPT)
        child.sendline("What do you know about the design team?")
        child.expect("morning meetings")
        child.expect(RECEIPT)

        assert leave(child) == 0


def test_slash_commands_answer_without_a_turn(person: Person) -> None:
    with terminal(person) as child:
        child.expect(PROMPT)
        child.sendline("/nonsense")
        child.expect("There is no command /nonsense; /help lists them.")
        child.sendline("/tools")
        child.expect("memory_search")

        assert leave(child) == 0
    assert not (person.home / "receipts/chains/turns.jsonl").read_bytes()


def test_ctrl_c_takes_away_what_was_typed_and_leaves_at_an_empty_prompt(person: Person) -> None:
    person.without_tools()
    with terminal(person) as child:
        child.expect(PROMPT)
        child.send("half a thought")
        child.expect("thought")
        child.sendcontrol("c")
        child.sendcontrol("c")
        child.expect(pexpect.EOF)
        child.wait()

        assert child.exitstatus == 0


def test_ctrl_d_leaves(person: Person) -> None:
    person.without_tools()
    with terminal(person) as child:
        child.expect(PROMPT)
        child.sendeof()
        child.expect(pexpect.EOF)
        child.wait()

        assert child.exitstatus == 0


def test_ctrl_c_cancels_a_hanging_tool_call_and_the_turn_is_receipted_as_cancelled(person: Person) -> None:
    script = person.folder / "slow.py"
    script.write_text(SLOW_SERVER)
    person.home.mkdir()
    servers = {"search": {"command": str(BIN / "python"), "args": [str(script)]}}
    (person.home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))

    with terminal(person) as child:
        child.expect(PROMPT)
        child.sendline("Search the web for slow things")
        child.expect("search is to run search_web")
        child.expect("always >")
        child.sendline("y")
        child.expect("search_web …")
        child.sendcontrol("c")
        child.expect(RECEIPT)
        child.expect(PROMPT)
        child.sendline("What is 2 + 3?")
        child.expect("5")
        child.expect(RECEIPT)

        assert leave(child) == 0
    turns = (person.home / "receipts/chains/turns.jsonl").read_text().splitlines()
    assert [json.loads(line)["outcome"] for line in turns] == ["cancelled", "replied"]
    assert [(row["tool"], row["status"]) for row in json.loads(turns[0])["tools"]] == [("search_web", "error")]
