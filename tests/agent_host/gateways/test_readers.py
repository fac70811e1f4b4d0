"""Reading messages from a real pipe."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Callable

import pytest

from agent_host.gateways.message import MESSAGE_LIMIT
from agent_host.gateways.readers import PipeReader, PromptedLines, lines


async def test_a_pipe_gives_one_message_a_line_and_then_the_end() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb"), os.fdopen(write_end, "wb") as feed:
        reader = PipeReader(read_end)
        feed.write(b"one\ntwo\r\nlast without a break")
        feed.close()

        assert [await reader.read() for _ in range(4)] == [b"one", b"two\r", b"last without a break", None]


async def test_a_line_beyond_every_limit_is_one_message_and_does_not_spill_into_the_next() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb"):
        reader = PipeReader(read_end)
        feeding = asyncio.to_thread(_feed, write_end, b"x" * 1_000_000 + b"\nnext\n")
        feeder = asyncio.ensure_future(feeding)

        first = await reader.read()
        assert isinstance(first, bytes)
        assert MESSAGE_LIMIT < len(first) < 1_000_000
        assert await reader.read() == b"next"
        assert await reader.read() is None
        await feeder


async def test_what_came_before_a_question_does_not_answer_it_and_is_the_next_message() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb"), os.fdopen(write_end, "wb", buffering=0) as feed:
        loop = asyncio.get_running_loop()
        shown = _Shown({"yes? ": lambda: loop.call_soon(feed.write, b"no\n")})
        reader = PromptedLines("you > ", shown, PipeReader(read_end))
        feed.write(b"Book it\nyes\nand then\n")

        assert await reader.read() == b"Book it"
        assert await reader.answer("yes? ") == "no"
        assert [await reader.read(), await reader.read()] == [b"yes", b"and then"]
        feed.close()
        assert await reader.answer("sure? ") is None
        assert await reader.read() is None  # the end stays the end
        assert shown.getvalue() == "you > yes? you > you > sure? you > "


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([], []),
        ([b"\n"], [b""]),
        ([b"a\nb"], [b"a", b"b"]),
        ([b"a", b"b\n", b"c\n\n"], [b"ab", b"c", b""]),
        ([b"x" * 300_000, b"x" * 300_000, b"\ny\n"], [b"x" * (MESSAGE_LIMIT * 4 + 1), b"y"]),
    ],
)
def test_lines_are_put_together_from_any_chunks(chunks: list[bytes], expected: list[bytes]) -> None:
    assert list(lines(chunks)) == expected


def _feed(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb") as feed:
        feed.write(data)


class _Shown(io.StringIO):
    """A screen before which a person sits who does something as soon as some prompts stand there."""

    def __init__(self, answers: dict[str, Callable[[], object]]) -> None:
        super().__init__()
        self._answers = answers
        self._prompt = ""

    def write(self, text: str) -> int:
        self._prompt = text
        return super().write(text)

    def flush(self) -> None:
        if self._prompt in self._answers:
            self._answers[self._prompt]()
