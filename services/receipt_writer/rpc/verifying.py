"""VerifyChain: the writer's own full check of one chain."""

import asyncio
from contextlib import aclosing
from pathlib import Path

from prometheus.receipts.v1 import receipts_pb2 as pb
from receipt_writer.checking import Checks, Progress
from receipt_writer.fsck import Finding
from receipt_writer.rpc.call import Context, unless_leaving
from receipt_writer.rpc.messages import layer_of


class Verifying:
    """VerifyChain."""

    def __init__(self, checks: Checks, folder: Path, leaving: asyncio.Event) -> None:
        self._checks, self._folder, self._leaving = checks, folder, leaving

    async def verify_chain(self, request: pb.VerifyChainRequest, context: Context) -> None:
        """Write how far the check is, and what it found last. A caller that goes, or a drain, ends it."""
        await unless_leaving(self._leaving, self._check(layer_of(request.layer), context))

    async def _check(self, layer: str, context: Context) -> None:
        async with aclosing(self._checks.run(self._folder, layer)) as told:
            async for one in told:
                await context.write(_message(one))


def _message(told: Progress | Finding) -> pb.VerifyChainResponse:
    if isinstance(told, Progress):
        return pb.VerifyChainResponse(
            progress=pb.CheckProgress(done_bytes=told.done_bytes, total_bytes=told.total_bytes)
        )
    summary = pb.CheckSummary(
        good=told.fault is None,
        entries=told.entries,
        head_hash=told.head_hash,
        checkpoint_size=told.checkpoint_size,
        fault=told.fault or "",
        disowned=told.disowned,
    )
    return pb.VerifyChainResponse(summary=summary)
