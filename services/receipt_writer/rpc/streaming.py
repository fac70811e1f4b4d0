"""AppendStream: many drafts over one call, recorded side by side, answered in the order they were sent.

An item costs no task and no future of its own: the writer tells its outcome to a place in a row, and one coroutine a
stream sends what stands ready at the head of the row. All of it runs on the event loop.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from grpc.aio import EOF

from prometheus.receipts.v1 import receipts_pb2 as pb
from receipt_writer.errors import QueueFullError, ReceiptError, RequestRefusedError, WriterStoppedError
from receipt_writer.ledger import Append, Command, Outcome, Started
from receipt_writer.rpc.budget import STREAM_BYTES, Budget
from receipt_writer.rpc.call import Context
from receipt_writer.rpc.messages import begin_of, decision_draft, entry_message, json_draft, turn_draft
from receipt_writer.status import status_of
from receipt_writer.writer import Writer

WINDOW = 128
"""Items of one stream that may be without an answer; beyond it the stream is not read (flow control)."""

ANSWER_BYTES = 1_024
"""What an answer has beyond its request, roughly."""

_LEAVING = "The writer is shutting down; send what was not answered when it is back."


@dataclass(slots=True, eq=False)
class _Item:
    """One request's place in the row."""

    tag: int
    size_bytes: int
    row: "_Row"
    answer: pb.AppendStreamResponse | None = None  # the entry itself, with all its members, is not kept

    def tell(self, outcome: Outcome) -> None:
        """Take the outcome; wake the sender when it is this item's turn."""
        self.answer = _response(self.tag, outcome)
        if self.row.items and self.row.items[0] is self:
            self.row.ready.set()


@dataclass(slots=True, eq=False)
class _Row:
    """The items of a stream that are not answered yet, oldest first."""

    items: deque[_Item] = field(default_factory=deque)
    ready: asyncio.Event = field(default_factory=asyncio.Event)  # the oldest has its outcome, or nothing more comes
    room: asyncio.Event = field(default_factory=asyncio.Event)  # an item was answered
    is_complete: bool = False  # nothing more comes
    held_bytes: int = 0  # what the items have: their requests, or about as much in answers

    def is_full(self, budget: Budget) -> bool:
        """Whether the stream has to wait for an answer of its own to be taken."""
        if len(self.items) >= WINDOW or self.held_bytes >= STREAM_BYTES:
            return True
        return budget.is_spent and bool(self.items)


class Streaming:
    """AppendStream."""

    def __init__(self, writer: Writer, leaving: asyncio.Event, budget: Budget) -> None:
        self._writer, self._leaving, self._budget = writer, leaving, budget

    async def append_stream(self, _: object, context: Context) -> None:
        """Take items and answer them until the caller half-closes, or the writer leaves.

        When the caller is gone, what the writer has taken is recorded all the same: there is nothing to withdraw.

        Raises:
            WriterStoppedError: The writer leaves; what it had taken was answered.
            RequestRefusedError: A message was no message of this contract; the items before it were answered.
        """
        row = _Row()
        taking = asyncio.ensure_future(self._take(row, context))
        leaving = asyncio.ensure_future(self._leave(taking))
        try:
            await self._answer(row, context)
        finally:
            leaving.cancel()
            taking.cancel()
            self._budget.give_back(row.held_bytes)
            row.held_bytes = 0
        if self._leaving.is_set() and taking.cancelled():
            raise WriterStoppedError(_LEAVING)
        taking.result()

    async def _leave(self, taking: "asyncio.Future[None]") -> None:
        """Stop reading when the writer leaves."""
        await self._leaving.wait()
        taking.cancel()

    async def _take(self, row: _Row, context: Context) -> None:
        try:
            while (request := await context.read()) is not EOF:
                if request is None:
                    raise RequestRefusedError(
                        "A message of the stream is not one of this contract; nothing of it was read."
                    )
                item = _Item(request.tag, request.ByteSize() + ANSWER_BYTES, row)
                row.items.append(item)
                row.held_bytes += item.size_bytes
                self._budget.take(item.size_bytes)
                if not self._is_submitted(item, request):
                    await self._submit_later(item, request)
                while row.is_full(self._budget):
                    row.room.clear()
                    await row.room.wait()
        finally:
            row.is_complete = True
            row.ready.set()

    def _is_submitted(self, item: _Item, request: pb.AppendStreamRequest) -> bool:
        """Hand an item to the writer, or tell why not; False when there is no room and the stream has to wait."""
        try:
            self._writer.submit(_command(request), item.tell, item.size_bytes)
        except QueueFullError as refusal:
            if len(item.row.items) > 1:
                return False
            item.tell(refusal)  # nothing of this stream is under way, so nothing to wait for
        except ReceiptError as refusal:
            item.tell(refusal)
        return True

    async def _submit_later(self, item: _Item, request: pb.AppendStreamRequest) -> None:
        """Try again after each answer of the stream."""
        try:
            while True:
                item.row.room.clear()
                await item.row.room.wait()
                if self._is_submitted(item, request):
                    return
        except asyncio.CancelledError:  # the writer leaves before there was room
            item.tell(WriterStoppedError(_LEAVING))
            raise

    async def _answer(self, row: _Row, context: Context) -> None:
        items = row.items
        while True:
            while items and (answer := items[0].answer) is not None:
                await context.write(answer)
                size_bytes = items.popleft().size_bytes
                row.held_bytes -= size_bytes
                self._budget.give_back(size_bytes)
                row.room.set()
            if row.is_complete and not items:
                return
            row.ready.clear()
            await row.ready.wait()


def _command(request: pb.AppendStreamRequest) -> Command:
    kind = request.WhichOneof("item")
    if kind == "decision":
        return Append("L12", decision_draft(request.decision))
    if kind == "turn":
        return Append("L10", turn_draft(request.turn))
    if kind == "begin":
        return begin_of(request.begin)
    if kind == "other":
        return Append(*json_draft(request.other))
    raise RequestRefusedError("The item is empty; set one of begin, turn, decision and other.")


def _response(tag: int, outcome: Outcome) -> pb.AppendStreamResponse:
    if isinstance(outcome, ReceiptError):
        return pb.AppendStreamResponse(tag=tag, status=status_of(outcome))
    if isinstance(outcome, Started):
        return pb.AppendStreamResponse(tag=tag, started=pb.BeginTurnResponse(started_at_ms=outcome.started_at_ms))
    return pb.AppendStreamResponse(tag=tag, entry=entry_message(outcome))
