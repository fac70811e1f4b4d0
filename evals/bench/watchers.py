"""Follows a growing chain many times over; for `evals.bench.ledger`, in a process of its own."""

from __future__ import annotations

import asyncio
import sys

import grpc.aio

from prometheus.receipts.v1 import receipts_pb2 as wire
from prometheus.receipts.v1.receipts_pb2_grpc import ReceiptWriterStub


async def main(target: str, streams: int, entries: int) -> int:
    """Follows the decisions from their present end on, for so many entries; returns 1 when a stream had a gap."""
    async with grpc.aio.insecure_channel(target) as channel:
        stub = ReceiptWriterStub(channel)  # type: ignore[no-untyped-call]  # generated
        size = (await stub.GetHead(wire.GetHeadRequest(layer=wire.LAYER_L12_DECISIONS))).size
        expected = list(range(size + 1, size + 1 + entries))

        async def is_complete() -> bool:
            ids: list[int] = []
            call = stub.Watch(wire.WatchRequest(layer=wire.LAYER_L12_DECISIONS, from_id=size + 1))
            while len(ids) < entries:
                event = await call.read()
                if event.HasField("entry"):
                    ids.append(event.entry.id)
            return ids == expected

        following = [asyncio.create_task(is_complete()) for _ in range(streams)]
        print("ready", flush=True)
        return 0 if all(await asyncio.gather(*following)) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
