"""Watch: one chain from an id on, recorded and live, with its checkpoints."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from prometheus.receipts.v1 import receipts_pb2 as pb
from receipt_writer.errors import NotPossibleYetError, WriterStoppedError
from receipt_writer.index import Filter
from receipt_writer.query import Queries, StoredEntry
from receipt_writer.rpc.call import Context, unless_leaving
from receipt_writer.rpc.messages import entry_message, layer_of

_PAGE = 256  # entries that are sent before the newest checkpoint is looked at again


@dataclass(slots=True)
class _Place:
    """How far a stream has come: the next id to send, and the size of the last checkpoint that was sent."""

    next_id: int
    covered: int = 0


class Watching:
    """Watch.

    A stream keeps the next id to send. It sends the lines that were just committed, which all streams at the end of
    the chain share; one that is further behind reads entries back from the store, a few at a time, as fast as its
    caller takes them. So a slow caller holds up nobody and makes nothing pile up, and there is neither gap nor repeat.
    """

    def __init__(self, queries: Queries, leaving: asyncio.Event) -> None:
        self._queries, self._leaving = queries, leaving

    async def watch(self, request: pb.WatchRequest, context: Context) -> None:
        """Write entries and checkpoints until the caller goes or the writer leaves.

        Raises:
            NotPossibleYetError: The chain ends before the id ahead of `from_id`.
            WriterStoppedError: The writer leaves; `about` has the next id.
        """
        layer, next_id = layer_of(request.layer), max(request.from_id, 1)
        size = self._queries.head(layer).size
        if next_id > size + 1:
            raise NotPossibleYetError(
                f"The chain ends with entry {size}, so it cannot be watched from entry {next_id} on; if it was longer "
                "when you saw it last, entries are missing: check it against your newest checkpoint."
            )
        place = _Place(next_id)
        try:
            with self._queries.growth.following(layer) as grown:
                await unless_leaving(self._leaving, self._follow(context, layer, place, grown), grown.set)
        except WriterStoppedError as stopped:
            raise _stopped(place.next_id) from stopped

    async def _follow(self, context: Context, layer: str, place: _Place, grown: asyncio.Event) -> None:
        while not self._leaving.is_set():
            grown.clear()
            if place.next_id <= self._queries.head(layer).size:  # else a read would cost a thread for nothing
                await self._send_page(context, layer, place)
            await self._send_checkpoint(context, layer, place)
            if place.next_id > self._queries.head(layer).size and not self._leaving.is_set():
                await grown.wait()
        raise _stopped(place.next_id)

    async def _send_page(self, context: Context, layer: str, place: _Place) -> None:
        async for entry in self._page(layer, place.next_id):
            if self._leaving.is_set():
                return
            await context.write(pb.WatchResponse(entry=entry_message(entry)))
            place.next_id = entry.id + 1

    async def _page(self, layer: str, first_id: int) -> AsyncIterator[StoredEntry]:
        if newest := self._queries.newest(layer, first_id):
            for entry in newest:
                yield entry
            return
        async for entry in self._queries.entries(layer, Filter(from_id=first_id, limit=_PAGE)):
            yield entry

    async def _send_checkpoint(self, context: Context, layer: str, place: _Place) -> None:
        sent = place.next_id - 1
        if not place.covered < self._queries.checkpoint_size(layer) <= sent:
            return
        note, size = await self._queries.checkpoint(layer, fresh=False)
        if place.covered < size <= sent:  # else a newer one took its place; it comes when its entries were sent
            await context.write(pb.WatchResponse(checkpoint=pb.GetCheckpointResponse(note=note, size=size)))
            place.covered = size


def _stopped(next_id: int) -> WriterStoppedError:
    stopped = WriterStoppedError(f"The writer is shutting down; watch again from entry {next_id} on.")
    stopped.about = {"id": str(next_id)}
    return stopped
