"""Reading messages from a real pipe."""

from __future__ import annotations

import asyncio
import os

import pytest

from agent_host.gateways.message import MESSAGE_LIMIT
from agent_host.gateways.readers import PipeReader, lines


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
