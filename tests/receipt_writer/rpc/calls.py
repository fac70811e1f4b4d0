"""What the RPCs' tests share: refusals taken apart, items of a stream, and streams read to their end."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio
import pytest
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

from prometheus.receipts.v1 import receipts_pb2 as pb
from tests.receipt_writer.parts import begin_request, decision_request, turn_request

L10, L12 = pb.LAYER_L10_TURNS, pb.LAYER_L12_DECISIONS


@dataclass(frozen=True)
class Refusal:
    """How a call or an item was refused, as a program sees it."""

    code: grpc.StatusCode
    sentence: str
    reason: str
    about: dict[str, str]
    retry_ms: int | None = None


def taken_apart(status: Any) -> Refusal:
    """Return what a google.rpc.Status says."""
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    assert status.details[0].Unpack(info)
    assert info.domain == "receipts.prometheus-agent"
    has_retry = len(status.details) > 1 and status.details[1].Unpack(retry)
    (code,) = (code for code in grpc.StatusCode if code.value[0] == status.code)
    retry_ms = retry.retry_delay.ToMilliseconds() if has_retry else None
    return Refusal(code, status.message, info.reason, dict(info.metadata), retry_ms)


def refusal_of(error: grpc.aio.AioRpcError) -> Refusal:
    """Return what ended a call; its code and sentence must be those of the details."""
    status = status_pb2.Status.FromString(dict(error.trailing_metadata() or ())["grpc-status-details-bin"])
    refusal = taken_apart(status)
    assert (refusal.code, refusal.sentence) == (error.code(), error.details())
    return refusal


async def refused(call: Awaitable[Any]) -> Refusal:
    """Return how a call was refused."""
    with pytest.raises(grpc.aio.AioRpcError) as ending:
        await call
    return refusal_of(ending.value)


async def read_all(stream: Any) -> tuple[list[Any], grpc.aio.AioRpcError | None]:
    """Return a stream's messages, and the error that ended it, if one did."""
    messages = []
    try:
        while (message := await stream.read()) is not grpc.aio.EOF:
            messages.append(message)
    except grpc.aio.AioRpcError as error:
        return messages, error
    return messages, None


async def sent(stream: Any, items: Iterable[pb.AppendStreamRequest]) -> None:
    """Write items and half-close."""
    for item in items:
        await stream.write(item)
    await stream.done_writing()


def decision_item(tag: int, **changes: Any) -> pb.AppendStreamRequest:
    """Return the item that records `decision(tag)`."""
    return pb.AppendStreamRequest(tag=tag, decision=decision_request(tag, **changes).draft)


def begin_item(tag: int) -> pb.AppendStreamRequest:
    """Return the item that records the start of `turn(tag)`."""
    return pb.AppendStreamRequest(tag=tag, begin=begin_request(tag))


def turn_item(tag: int) -> pb.AppendStreamRequest:
    """Return the item that reports `turn(tag)`."""
    return pb.AppendStreamRequest(tag=tag, turn=turn_request(tag).draft)
