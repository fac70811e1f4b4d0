"""Keys at the prompt, over the pipe that prompt_toolkit offers in a keyboard's place."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from agent_host.gateways.readers import PromptInterruptedError
from agent_host.gateways.terminal.prompt import PromptReader, read_answer


@contextmanager
def keyboard() -> Iterator[PipeInput]:
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        yield keys


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("hello\r", "hello"),
        ("one\\\rtwo\r", "one\ntwo"),
        ("one\x1b\rtwo\r", "one\ntwo"),
        ("a\\b\r", "a\\b"),
        ("\x1b[200~x\ny\\\r\nz\x1b[201~\r", "x\ny\\\nz"),
        ("gone\x03kept\r", "kept"),
        ("\x12\x03kept\r", "kept"),
        ("\x12sought\x03kept\r", "kept"),
        ("玉露 👩\r", "玉露 👩"),
    ],
)
async def test_what_is_typed_becomes_one_message(typed: str, message: str) -> None:
    with keyboard() as keys:
        keys.send_text(typed)

        assert await PromptReader("you > ", lambda: None).read() == message


async def test_ctrl_c_at_an_empty_prompt_and_ctrl_d_end_it() -> None:
    with keyboard() as keys:
        reader = PromptReader("you > ", lambda: None)
        keys.send_text("gone\x03\x03")
        with pytest.raises(PromptInterruptedError):
            await reader.read()
        keys.send_text("\x04")
        assert await reader.read() is None


@pytest.mark.parametrize(("typed", "answer"), [("y\r", "y"), ("\r", ""), ("\x03", None), ("\x04", None)])
async def test_a_question_takes_what_is_typed_once_it_stands_there(typed: str, answer: str | None) -> None:
    with keyboard() as keys:
        asyncio.get_running_loop().call_soon(keys.send_text, typed)

        assert await read_answer("yes? ") == answer


async def test_what_was_typed_before_a_question_does_not_answer_it_and_is_the_next_message() -> None:
    with keyboard() as keys:
        keys.send_text("yes\ral")
        asyncio.get_running_loop().call_soon(keys.send_text, "no\rways\r")

        assert await read_answer("yes? ") == "no"
        reader = PromptReader("you > ", lambda: None)
        assert [await reader.read(), await reader.read()] == ["yes", "always"]


async def test_what_takes_time_begins_once_and_behind_the_first_prompt() -> None:
    begun: list[str] = []
    with keyboard() as keys:
        reader = PromptReader("you > ", lambda: begun.append("begun"))
        await asyncio.sleep(0)
        assert begun == []
        for text in ("one", "two"):
            keys.send_text(f"{text}\r")
            await reader.read()

    assert begun == ["begun"]
