"""Callers of a writer that may die under them: each knows what was acknowledged, and what it has to ask again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

import grpc
import grpc.aio

from prometheus.receipts.v1 import receipts_pb2 as pb
from prometheus.receipts.v1 import receipts_pb2_grpc
from tests.receipt_writer.parts import begin_request, decision_request, turn_request

Kind = Literal["begin", "turn", "decision"]
GONE = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
GONE_WHILE_WRITING = "Internal error from Core"  # what a write to a connection says that has just ended
WINDOW = 4
"""So many items a stream has under way at once."""


@dataclass(frozen=True)
class Item:
    """One thing to record; the same item always makes the same request."""

    kind: Kind
    number: int


@dataclass
class Work:
    """What the callers have done so far; `enough` is set when `wanted` items are acknowledged."""

    acknowledged: dict[Item, str] = field(default_factory=dict)
    wanted: int = 0
    enough: asyncio.Event = field(default_factory=asyncio.Event)
    repeated: int = 0
    _numbers: count[int] = field(default_factory=lambda: count(1))

    def aim(self, more: int) -> None:
        self.wanted = len(self.acknowledged) + more
        self.enough.clear()

    def note(self, item: Item, line: str) -> None:
        """Take an answer; one that came before must be the very same."""
        if item in self.acknowledged:
            self.repeated += 1
        assert self.acknowledged.setdefault(item, line) == line, item
        if len(self.acknowledged) >= self.wanted:
            self.enough.set()

    def next_items(self) -> list[Item]:
        """Return what one caller does next: a turn with a decision, or a decision outside any turn."""
        number = next(self._numbers)
        if number % 3:
            return [Item("decision", number)]
        return [Item("begin", number), Item("decision", number), Item("turn", number)]


@dataclass
class Caller:
    """Sends one item after the other, unary, until the writer is gone; `waiting` is what it has to ask again."""

    work: Work
    waiting: list[Item] = field(default_factory=list)

    async def live(self, target: str, again: Iterable[Item] = ()) -> None:
        """Ask again for what waits and for `again`, then go on with new work until the writer dies."""
        self.waiting += [item for item in again if item not in self.waiting]
        async with grpc.aio.insecure_channel(target) as channel:
            stub = receipts_pb2_grpc.ReceiptWriterStub(channel)  # type: ignore[no-untyped-call]
            try:
                await self._go_on(stub)
            except grpc.aio.AioRpcError as error:
                if error.code() not in GONE and error.details() != GONE_WHILE_WRITING:
                    raise

    async def _go_on(self, stub: receipts_pb2_grpc.ReceiptWriterStub) -> None:
        while True:
            self.waiting += [] if self.waiting else self.work.next_items()
            self.work.note(self.waiting[0], await _send(stub, self.waiting[0]))
            self.waiting.pop(0)


@dataclass
class StreamCaller(Caller):
    """Does the same over one AppendStream, with several items under way."""

    async def _go_on(self, stub: receipts_pb2_grpc.ReceiptWriterStub) -> None:
        call = stub.AppendStream()
        tags, asked = count(1), dict[int, Item]()
        try:
            while True:
                while len(self.waiting) < WINDOW:
                    self.waiting += self.work.next_items()
                for item in self.waiting:
                    if item not in asked.values():
                        tag = next(tags)
                        asked[tag] = item
                        await call.write(_streamed(tag, item))
                answer = await call.read()
                if answer is grpc.aio.EOF:
                    return
                if answer.status.code == grpc.StatusCode.UNAVAILABLE.value[0]:
                    return
                item = asked.pop(answer.tag)
                assert answer.WhichOneof("answer") != "status", answer.status
                self.work.note(item, answer.entry.line)
                self.waiting.remove(item)
        except asyncio.InvalidStateError:  # a write to a stream that has just ended
            return
        finally:
            call.cancel()


async def _send(stub: receipts_pb2_grpc.ReceiptWriterStub, item: Item) -> str:
    if item.kind == "begin":
        await stub.BeginTurn(begin_request(item.number))
        return ""
    if item.kind == "turn":
        return str((await stub.AppendTurn(turn_request(item.number))).entry.line)
    return str((await stub.AppendDecision(decision_request(item.number))).entry.line)


def _streamed(tag: int, item: Item) -> pb.AppendStreamRequest:
    if item.kind == "begin":
        return pb.AppendStreamRequest(tag=tag, begin=begin_request(item.number))
    if item.kind == "turn":
        return pb.AppendStreamRequest(tag=tag, turn=turn_request(item.number).draft)
    return pb.AppendStreamRequest(tag=tag, decision=decision_request(item.number).draft)
