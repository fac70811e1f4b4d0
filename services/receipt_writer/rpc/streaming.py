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
from receipt_writer.rpc.call import Context
from receipt_writer.rpc.messages import begin_of, decision_draft, entry_message, json_draft, turn_draft
from receipt_writer.status import status_of
from receipt_writer.writer import Writer

WINDOW = 128
"""Items of one stream that may be without an answer; beyond it the stream is not read (flow control)."""

_LEAVING = "The writer is shutting down; send what was not answered when it is back."


@dataclass(slots=True, eq=False)
class _Item:
    """One request's place in the row."""

    tag: int
    row: "_Row"
    outcome: Outcome | None = None

    def tell(self, outcome: Outcome) -> None:
        """Take the outcome; wake the sender when it is this item's turn."""
        self.outcome = outcome
        if self.row.items and self.row.items[0] is self:
            self.row.ready.set()


@dataclass(slots=True, eq=False)
class _Row:
    """The items of a stream that are not answered yet, oldest first."""

    items: deque[_Item] = field(default_factory=deque)
    ready: asyncio.Event = field(default_factory=asyncio.Event)  # the oldest has its outcome, or nothing more comes
    room: asyncio.Event = field(default_factory=asyncio.Event)  # an item was answered
    is_complete: bool = False  # nothing more comes


class Streaming:
    """AppendStream."""

    def __init__(self, writer: Writer, leaving: asyncio.Event) -> None:
        self._writer, self._leaving = writer, leaving

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
                item = _Item(request.tag, row)
                row.items.append(item)
                await self._submit(item, request)
                while len(row.items) >= WINDOW:
                    row.room.clear()
                    await row.room.wait()
        finally:
            row.is_complete = True
            row.ready.set()

    async def _submit(self, item: _Item, request: pb.AppendStreamRequest) -> None:
        try:
            command = _command(request)
            while True:
                try:
                    self._writer.submit(command, item.tell)
                except QueueFullError:
                    if len(item.row.items) == 1:  # nothing of this stream is under way, so nothing to wait for
                        raise
                else:
                    return
                item.row.room.clear()
                await item.row.room.wait()
        except ReceiptError as refusal:
            item.tell(refusal)
        except asyncio.CancelledError:  # the writer leaves before there was room
            item.tell(WriterStoppedError(_LEAVING))
            raise

    async def _answer(self, row: _Row, context: Context) -> None:
        items = row.items
        while True:
            while items and (outcome := items[0].outcome) is not None:
                await context.write(_response(items[0].tag, outcome))
                items.popleft()
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
