from __future__ import annotations

import asyncio
import base64
import random
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import grpc
import grpc.aio
import pytest
import pytest_asyncio
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import DecodeError

from prometheus.receipts.v1 import receipts_pb2 as pb
from receipt_writer.format.schema import LAYERS
from receipt_writer.fsck import check_chain
from receipt_writer.rpc.handlers import CONTRACT, PREFIX
from receipt_writer.server import MAX_MESSAGE_BYTES
from tests.receipt_writer.parts import Running, begin_request, decision_request, running, turn_request
from tests.receipt_writer.rpc.calls import refusal_of
from tests.receipt_writer.rpc.hostile import good_requests, hostile_bytes

pytestmark = pytest.mark.fuzz

REQUESTS = 1_000
AT_ONCE = 16
LONG_S = 20
"""Longer than any answer takes; a call that reaches it hangs."""
UNCLASSIFIED = {
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.UNAVAILABLE,
}


@pytest_asyncio.fixture
async def live(folder: Path) -> AsyncIterator[Running]:
    async with running(folder) as one:
        for number in range(20):
            await one.stub.AppendDecision(decision_request(100 + number))
        await one.stub.BeginTurn(begin_request(100))
        await one.stub.AppendTurn(turn_request(100))
        yield one


async def outcome(one: Running, method: MethodDescriptor, requests: list[bytes]) -> grpc.StatusCode:
    """Call an RPC with raw bytes and return how it ended; every refusal of ours has to say why."""
    error = await _error_of(one, method, requests)
    if error is None:
        return grpc.StatusCode.OK
    assert error.code() not in UNCLASSIFIED, (method.name, error.code(), error.details(), requests)
    if error.code() != grpc.StatusCode.RESOURCE_EXHAUSTED or "larger than max" not in (error.details() or ""):
        refusal = refusal_of(error)
        assert refusal.sentence.endswith("."), refusal
        assert "\n" not in refusal.sentence
        assert "Traceback" not in refusal.sentence
    return error.code()


async def _error_of(one: Running, method: MethodDescriptor, requests: list[bytes]) -> grpc.aio.AioRpcError | None:
    path, channel = f"{PREFIX}{method.name}", cast("Any", one.channel)
    try:
        if method.client_streaming:
            await _stream(channel.stream_stream(path)(timeout=LONG_S), requests)
        elif method.server_streaming:
            await _read_some(channel.unary_stream(path)(requests[0], timeout=LONG_S))
        else:
            await channel.unary_unary(path)(requests[0], timeout=LONG_S)
    except grpc.aio.AioRpcError as error:
        return error
    return None


async def _stream(stream: Any, requests: list[bytes]) -> None:
    async def send() -> None:
        for request in requests:
            await stream.write(request)
        await stream.done_writing()

    sending = asyncio.ensure_future(send())
    try:
        while (answer := await stream.read()) is not grpc.aio.EOF:
            answered = pb.AppendStreamResponse.FromString(answer)
            code = answered.status.code if answered.HasField("status") else 0
            assert code not in {refused.value[0] for refused in UNCLASSIFIED}, answered
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def _read_some(stream: Any) -> None:
    """Read what there is; a stream that waits for more, such as a watch, is left."""
    for _ in range(40):
        try:
            if await asyncio.wait_for(asyncio.shield(asyncio.ensure_future(stream.read())), 0.1) is grpc.aio.EOF:
                return
        except TimeoutError:
            break
    stream.cancel()


def in_streams(kind: type[Any], requests: list[bytes]) -> list[list[bytes]]:
    """Put requests into streams of up to eight; one that ends its stream comes last in it.

    Who writes on after that has a client that calls its own failed write an internal error.
    """
    streams: list[list[bytes]] = [[]]
    for request in requests:
        streams[-1].append(request)
        if len(streams[-1]) == 8 or len(request) > MAX_MESSAGE_BYTES or not is_message(kind, request):
            streams.append([])
    return streams


def is_message(kind: type[Any], data: bytes) -> bool:
    try:
        kind.FromString(data)
    except DecodeError:
        return False
    return True


@pytest.mark.timeout(240)
@pytest.mark.parametrize("method", list(CONTRACT.methods), ids=[method.name for method in CONTRACT.methods])
async def test_a_thousand_hostile_requests_are_each_answered_in_words(
    live: Running, folder: Path, method: MethodDescriptor
) -> None:
    rng = random.Random(method.name)  # noqa: S311 -- the same requests in every run
    key = base64.b64encode(live.service.rotations.key_in_force("entry")).decode()
    good, kind = good_requests(key)[method.name], getattr(pb, method.input_type.name)
    requests = [hostile_bytes(rng, kind, good) for _ in range(REQUESTS)]
    calls = in_streams(kind, requests) if method.client_streaming else [[request] for request in requests]
    codes: Counter[grpc.StatusCode] = Counter()
    for start in range(0, len(calls), AT_ONCE):
        codes.update(await asyncio.gather(*(outcome(live, method, one) for one in calls[start : start + AT_ONCE])))
    assert sum(codes.values()) == len(calls)
    assert codes[grpc.StatusCode.INVALID_ARGUMENT]
    assert (await live.stub.AppendDecision(decision_request(99))).entry.line
    assert await live.health() == 1
    live.leave.set()
    assert await live.ended == 0
    assert [check_chain(folder, layer).fault for layer in LAYERS] == [None] * len(LAYERS)
