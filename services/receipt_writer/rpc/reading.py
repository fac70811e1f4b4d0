"""The RPCs that tell what is recorded."""

import asyncio

from prometheus.receipts.v1 import receipts_pb2 as pb
from receipt_writer.errors import EntryNotFoundError, WriterStoppedError
from receipt_writer.format.state import STATE_LAYER
from receipt_writer.query import Queries
from receipt_writer.rpc.call import Context, unless_leaving
from receipt_writer.rpc.messages import entry_message, filter_of, layer_of
from receipt_writer.state import State


class Reading:
    """GetEntry, ListEntries, GetHead, GetCheckpoint, ProveInclusion, ProveConsistency and GetState."""

    def __init__(self, queries: Queries, state: State, leaving: asyncio.Event) -> None:
        self._queries, self._state, self._leaving = queries, state, leaving

    async def get_entry(self, request: pb.GetEntryRequest, _: Context) -> pb.GetEntryResponse:
        """Return one entry."""
        entry = await self._queries.entry(layer_of(request.layer), request.id)
        return pb.GetEntryResponse(entry=entry_message(entry))

    async def list_entries(self, request: pb.ListEntriesRequest, context: Context) -> None:
        """Write the entries that a filter asks for; end early when the writer leaves."""
        await unless_leaving(self._leaving, self._list(request, context))

    async def _list(self, request: pb.ListEntriesRequest, context: Context) -> None:
        async for entry in self._queries.entries(layer_of(request.layer), filter_of(request)):
            if self._leaving.is_set():
                leaving = WriterStoppedError(f"The writer is shutting down; ask again from entry {entry.id} on.")
                leaving.about = {"id": str(entry.id)}
                raise leaving
            await context.write(pb.ListEntriesResponse(entry=entry_message(entry)))

    async def get_head(self, request: pb.GetHeadRequest, _: Context) -> pb.GetHeadResponse:
        """Return a chain's newest entry's id and hash."""
        layer = layer_of(request.layer)
        head = self._queries.head(layer)
        return pb.GetHeadResponse(size=head.size, hash=head.hash, origin=self._queries.origin(layer))

    async def get_checkpoint(self, request: pb.GetCheckpointRequest, _: Context) -> pb.GetCheckpointResponse:
        """Return a chain's newest checkpoint, made now when asked."""
        note, size = await self._queries.checkpoint(layer_of(request.layer), fresh=request.fresh)
        return pb.GetCheckpointResponse(note=note, size=size)

    async def prove_inclusion(self, request: pb.ProveInclusionRequest, _: Context) -> pb.ProveInclusionResponse:
        """Prove that an entry is under a tree head."""
        proof = await self._queries.inclusion(layer_of(request.layer), request.id, request.size)
        return pb.ProveInclusionResponse(
            size=proof.size, leaf_hash=proof.leaf_hash, path=proof.path, root_hash=proof.root_hash
        )

    async def get_state(self, request: pb.GetStateRequest, _: Context) -> pb.GetStateResponse:
        """Return the newest state, made now when asked."""
        if request.fresh:
            return pb.GetStateResponse(entry=entry_message(await self._state.regenerate("requested")))
        size = self._queries.head(STATE_LAYER).size
        if size == 0:
            raise EntryNotFoundError("The ledger has no state yet; ask again with fresh set.")
        return pb.GetStateResponse(entry=entry_message(await self._queries.entry(STATE_LAYER, size)))

    async def prove_consistency(self, request: pb.ProveConsistencyRequest, _: Context) -> pb.ProveConsistencyResponse:
        """Prove that one tree is a prefix of another."""
        proof = await self._queries.consistency(layer_of(request.layer), request.from_size, request.to_size)
        return pb.ProveConsistencyResponse(path=proof.path, from_root=proof.from_root, to_root=proof.to_root)
