"""Callers that append over gRPC, as cheap as a real client in Python can be: they share two cores with the writer.

What a caller would do beside the call, spelling its drafts and reading its answers, is done before and after.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import islice
from typing import Self, TypeAlias, cast

import grpc.aio

from prometheus.receipts.v1 import receipts_pb2 as wire

_SERVICE = f"/{wire.DESCRIPTOR.services_by_name['ReceiptWriter'].full_name}"
_UnaryCall: TypeAlias = "grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]"
_StreamCall: TypeAlias = "grpc.aio.StreamStreamMultiCallable[bytes, bytes]"


class Caller(ABC):
    """Appends one decision after another; as an async context, its end judges every answer."""

    def __init__(self, channel: grpc.aio.Channel, numbers: Iterator[int], count: int) -> None:
        """Spell so many drafts, each with a number of its own."""
        self._channel, self._numbers = channel, list(islice(numbers, count))
        self._requests = [self._spelled(number) for number in self._numbers]
        self._answers: list[bytes] = []

    async def append(self) -> None:
        """Send the next draft and wait for its answer."""
        self._answers.append(await self._sent(self._requests[len(self._answers)]))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for number, answer in zip(self._numbers, self._answers, strict=True):
            if not self._is_right(number, answer):
                raise RuntimeError(f"The writer's answer to number {number} was {answer!r}.")

    @abstractmethod
    def _spelled(self, number: int) -> bytes: ...

    @abstractmethod
    async def _sent(self, request: bytes) -> bytes: ...

    @abstractmethod
    def _is_right(self, number: int, answer: bytes) -> bool: ...


class UnaryCaller(Caller):
    """A call for each draft."""

    def _spelled(self, number: int) -> bytes:
        return wire.AppendDecisionRequest(draft=_draft(number)).SerializeToString()

    async def _sent(self, request: bytes) -> bytes:
        call: _UnaryCall = self._channel.unary_unary(f"{_SERVICE}/AppendDecision", None, None)
        return await call(request)

    def _is_right(self, number: int, answer: bytes) -> bool:
        return f"c_{number:026d}" in wire.AppendDecisionResponse.FromString(answer).entry.line


class StreamCaller(Caller):
    """One stream for all drafts."""

    async def __aenter__(self) -> Self:
        method: _StreamCall = self._channel.stream_stream(f"{_SERVICE}/AppendStream", None, None)
        self._call = method()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._call.done_writing()
        await super().__aexit__()

    def _spelled(self, number: int) -> bytes:
        return wire.AppendStreamRequest(tag=number, decision=_draft(number)).SerializeToString()

    async def _sent(self, request: bytes) -> bytes:
        await self._call.write(request)
        return cast("bytes", await self._call.read())

    def _is_right(self, number: int, answer: bytes) -> bool:
        told = wire.AppendStreamResponse.FromString(answer)
        return told.tag == number and f"c_{number:026d}" in told.entry.line


def _draft(number: int) -> wire.DecisionDraft:
    return wire.DecisionDraft(
        product_id="prometheus-agent",
        spec_id="reply-drafter",
        spec_hash="a" * 64,
        input_hash="b" * 64,
        output_canonical_hash="c" * 64,
        category="drafter",
        model_identity=wire.ModelIdentity(provider="offline", model="offline-rules", version="1"),
        latency_ms=3,
        schema_valid=True,
        call_id=f"c_{number:026d}",
        exit_state="ok",
        commitment="hmac-sha256",
    )
