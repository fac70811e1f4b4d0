"""The RPCs that record something, one call at a time."""

from prometheus.receipts.v1 import receipts_pb2 as pb
from receipt_writer.rpc.call import Context
from receipt_writer.rpc.messages import begin_of, decision_draft, entry_message, json_draft, turn_draft
from receipt_writer.writer import Writer


class Appending:
    """BeginTurn, AppendTurn, AppendDecision and Append.

    A call that is cancelled, or whose deadline passes, before its commit withdraws its command (see `Writer`).
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def begin_turn(self, request: pb.BeginTurnRequest, _: Context) -> pb.BeginTurnResponse:
        """Record that a turn began."""
        started = await self._writer.begin(begin_of(request))
        return pb.BeginTurnResponse(started_at_ms=started.started_at_ms)

    async def append_turn(self, request: pb.AppendTurnRequest, _: Context) -> pb.AppendTurnResponse:
        """Record a turn."""
        entry = await self._writer.append("L10", turn_draft(request.draft), request.ByteSize())
        return pb.AppendTurnResponse(entry=entry_message(entry))

    async def append_decision(self, request: pb.AppendDecisionRequest, _: Context) -> pb.AppendDecisionResponse:
        """Record a model call."""
        entry = await self._writer.append("L12", decision_draft(request.draft), request.ByteSize())
        return pb.AppendDecisionResponse(entry=entry_message(entry))

    async def append(self, request: pb.AppendRequest, _: Context) -> pb.AppendResponse:
        """Record a draft of any layer that callers write."""
        layer, draft = json_draft(request)
        entry = await self._writer.append(layer, draft, request.ByteSize())
        return pb.AppendResponse(entry=entry_message(entry))
