"""Reading messages from a real pipe."""

from __future__ import annotations

import asyncio
import os

from agent_host.gateways.message import MESSAGE_LIMIT
from agent_host.gateways.readers import PipeReader


async def test_a_pipe_gives_one_message_a_line_and_then_the_end() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb") as stream, os.fdopen(write_end, "wb") as feed:
        reader = PipeReader(stream)
        feed.write(b"one\ntwo\r\nlast without a break")
        feed.close()

        assert [await reader.read() for _ in range(4)] == [b"one\n", b"two\r\n", b"last without a break", None]


async def test_a_line_beyond_every_limit_is_one_message_and_does_not_spill_into_the_next() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb") as stream:
        reader = PipeReader(stream)
        feeding = asyncio.to_thread(_feed, write_end, b"x" * 1_000_000 + b"\nnext\n")
        feeder = asyncio.ensure_future(feeding)

        first = await reader.read()
        assert isinstance(first, bytes)
        assert MESSAGE_LIMIT < len(first) < 1_000_000
        assert await reader.read() == b"next\n"
        assert await reader.read() is None
        await feeder


def _feed(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb") as feed:
        feed.write(data)
