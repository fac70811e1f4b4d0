"""The host's side of the receipt writer: drafts to the wire, entries back. The only importer of the stubs here."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import grpc.aio

from agent_host.errors import ConfigurationError, ReceiptRefusedError, WriterUnavailableError
from agent_host.identifiers import began_at_ms
from agent_host.receipts.drafts import PRODUCT_ID, DecisionDraft, SpecDraft, TurnIntent, TurnReceipt
from agent_host.receipts.protocol import StoredEntry
from prometheus.receipts.v1 import receipts_pb2 as wire
from prometheus.receipts.v1.receipts_pb2_grpc import ReceiptWriterStub

TURNS = "turns"
DECISIONS = "decisions"
REVIEWS = "reviews"
SPECS = "specs"
COMPONENTS = "components"
_LAYERS = {
    TURNS: wire.LAYER_L10_TURNS,
    DECISIONS: wire.LAYER_L12_DECISIONS,
    REVIEWS: wire.LAYER_L6_REVIEWS,
    SPECS: wire.LAYER_L2_SPECS,
    COMPONENTS: wire.LAYER_L11_COMPONENTS,
}
CHAINS = tuple(_LAYERS)
"""The chains that a host writes to, and can read and watch."""

_REFUSED = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.FAILED_PRECONDITION,
}
"""What no retry changes. Every other failure means that no writer of this contract answers there now."""
_CREDENTIAL_REFUSED = {grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED}
"""The writer answers, and does not take this host: the receipt waits until its person has set that right."""
_DETAILS = "grpc-status-details-bin"
_TOO_LONG = "larger than max"
_CLOCK_SKEW_MS = 60_000
_SOON_AFTER = 5_000  # entries that a call's own is looked for among first


@dataclass(frozen=True)
class WriterAccess:
    """How to reach a writer: a gRPC target, the token it knows us by, and the certificates to trust (TLS) if any."""

    target: str
    token: str | None = field(default=None, repr=False)
    ca_file: Path | None = None


class ReceiptClient:
    """Talks to one receipt writer at a gRPC target such as `unix:/run/writer.sock` or `writer:7443`.

    With a file of certificates it speaks TLS only; with a token each call carries `authorization: Bearer TOKEN`.
    Every call has a deadline. A writer that cannot be reached, is draining, or is too slow raises
    `WriterUnavailableError`, and the same draft may be sent again: appends are idempotent.
    """

    def __init__(self, access: WriterAccess | str, *, timeout_s: float = 5.0, is_traced: bool = False) -> None:
        """Opens a channel; when turns are traced, its calls say which span they belong to.

        Raises:
            ConfigurationError: the file of certificates cannot be read.
        """
        self._access = WriterAccess(access) if isinstance(access, str) else access
        self._metadata = (("authorization", f"Bearer {self._access.token}"),) if self._access.token else None
        self._timeout_s = timeout_s
        options = [("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 1000)]
        target, trusted = self._access.target, _trusted(self._access.ca_file)
        if trusted is None:
            self._channel = grpc.aio.insecure_channel(target, options=options, interceptors=_interceptors(is_traced))
        else:
            interceptors = _interceptors(is_traced)
            self._channel = grpc.aio.secure_channel(target, trusted, options=options, interceptors=interceptors)
        self._stub = ReceiptWriterStub(self._channel)  # type: ignore[no-untyped-call]  # generated

    async def wait_ready(self, timeout_s: float) -> None:
        """Waits until the writer accepts connections.

        Raises:
            WriterUnavailableError: it did not within `timeout_s` seconds.
        """
        request = wire.GetHeadRequest(layer=wire.LAYER_L10_TURNS)
        try:
            await self._stub.GetHead(request, timeout=timeout_s, metadata=self._metadata, wait_for_ready=True)
        except grpc.aio.AioRpcError as error:
            raise self._translated(error) from error

    async def begin_turn(self, intent: TurnIntent) -> None:
        """Records durably that a turn started.

        Raises:
            WriterUnavailableError, ReceiptRefusedError: nothing was recorded, or it is not known.
        """
        request = wire.BeginTurnRequest(
            turn_id=intent.turn_id,
            session_id=intent.session_id,
            gateway=intent.gateway,
            product_id=PRODUCT_ID,
            input_hash=intent.input_hash,
            commitment=intent.commitment,
            model_id=intent.model_id,
        )
        try:
            await self._stub.BeginTurn(request, timeout=self._timeout_s, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            raise self._translated(error) from error

    async def append_spec(self, draft: SpecDraft) -> StoredEntry:
        """Registers a spec and returns its L2 entry once it is durable: of one hash always the same.

        Raises:
            WriterUnavailableError, ReceiptRefusedError: see the class.
        """
        return await self.append(SPECS, _spec(draft))

    async def append_decision(self, draft: DecisionDraft) -> StoredEntry:
        """Appends one L12 entry and returns it once it is durable.

        Raises:
            WriterUnavailableError, ReceiptRefusedError: see the class.
        """
        request = wire.AppendDecisionRequest(draft=_decision(draft))
        try:
            response = await self._stub.AppendDecision(request, timeout=self._timeout_s, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            raise self._translated(error) from error
        return _stored(response.entry)

    async def append_turn(self, receipt: TurnReceipt) -> StoredEntry:
        """Appends one L10 entry and returns it once it is durable; decisions without an entry id are left out.

        Raises:
            WriterUnavailableError, ReceiptRefusedError: see the class.
        """
        request = wire.AppendTurnRequest(draft=_turn(receipt))
        try:
            response = await self._stub.AppendTurn(request, timeout=self._timeout_s, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            raise self._translated(error) from error
        return _stored(response.entry)

    async def append(self, chain: str, draft: Mapping[str, object]) -> StoredEntry:
        """Appends an entry of another layer, whose members carry the ledger's names, and returns it once it is durable.

        Raises:
            WriterUnavailableError, ReceiptRefusedError: see the class.
        """
        request = wire.AppendRequest(layer=_LAYERS[chain], draft_json=json.dumps(draft, ensure_ascii=False))
        try:
            response = await self._stub.Append(request, timeout=self._timeout_s, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            raise self._translated(error) from error
        return _stored(response.entry)

    async def decision(self, call_id: str) -> StoredEntry | None:
        """Returns the L12 entry of a call, None when there is none.

        The id says when the call began, and its entry comes soon after; only one that waited long, or that was recorded
        by a clock far behind, has to be looked for in the whole chain.

        Raises:
            WriterUnavailableError, ReceiptRefusedError: see the class.
        """
        began_ms = began_at_ms(call_id) - _CLOCK_SKEW_MS
        for recorded_from_ms, limit in ((max(0, began_ms), _SOON_AFTER), (0, 0)):
            async with aclosing(self.entries(DECISIONS, recorded_from_ms=recorded_from_ms, limit=limit)) as found:
                async for entry in found:
                    if json.loads(entry.line).get("callId") == call_id:
                        return entry
        return None

    async def watch(self, chain: str, from_id: int = 0) -> AsyncGenerator[StoredEntry, None]:
        """Streams a chain's entries from an id on, and then those that land, until it is closed.

        Raises:
            WriterUnavailableError, ReceiptRefusedError: the writer went away, or its chain is shorter than `from_id`.
        """
        request = wire.WatchRequest(layer=_LAYERS[chain], from_id=from_id)
        try:
            async for response in self._stub.Watch(request, metadata=self._metadata):
                if response.HasField("entry"):
                    yield _stored(response.entry)
        except grpc.aio.AioRpcError as error:
            raise self._translated(error) from error

    async def entry(self, chain: str, entry_id: int) -> StoredEntry | None:
        """Returns one entry, or None when the chain holds no such id.

        Raises:
            WriterUnavailableError, ReceiptRefusedError: see the class.
        """
        request = wire.GetEntryRequest(layer=_LAYERS[chain], id=entry_id)
        try:
            response = await self._stub.GetEntry(request, timeout=self._timeout_s, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            if error.code() == grpc.StatusCode.NOT_FOUND:
                return None
            raise self._translated(error) from error
        return _stored(response.entry)

    async def entries(
        self, chain: str, *, turn_id: str = "", recorded_from_ms: int = 0, newest_first: bool = False, limit: int = 0
    ) -> AsyncGenerator[StoredEntry, None]:
        """Streams entries of a chain; `limit` 0 means all.

        Raises:
            WriterUnavailableError, ReceiptRefusedError: see the class.
        """
        request = wire.ListEntriesRequest(
            layer=_LAYERS[chain],
            turn_id=turn_id,
            recorded_from_ms=recorded_from_ms,
            newest_first=newest_first,
            limit=limit,
        )
        try:
            async for response in self._stub.ListEntries(request, timeout=self._timeout_s, metadata=self._metadata):
                yield _stored(response.entry)
        except grpc.aio.AioRpcError as error:
            raise self._translated(error) from error

    async def close(self) -> None:
        """Closes the connection."""
        await self._channel.close()

    def _translated(self, error: grpc.aio.AioRpcError) -> WriterUnavailableError | ReceiptRefusedError:
        if error.code() in _REFUSED or _is_too_long(error):
            return ReceiptRefusedError(f"The receipt writer refused the draft: {error.details()}")
        return WriterUnavailableError(self._why_unavailable(error))

    def _why_unavailable(self, error: grpc.aio.AioRpcError) -> str:
        target, code = self._access.target, error.code()
        if code in _CREDENTIAL_REFUSED:
            hint = "The token comes from PROMETHEUS_WRITER_TOKEN or PROMETHEUS_WRITER_TOKEN_FILE."
            return f"The receipt writer at {target} refused this host: {error.details()} {hint}"
        sentence = f"No receipt writer answers at {target} ({code.name.lower().replace('_', ' ')})."
        if target.startswith("unix:"):
            return sentence
        if self._access.ca_file is None:
            return f"{sentence} If it speaks TLS, set PROMETHEUS_WRITER_CA."
        return f"{sentence} It must speak TLS, with a certificate that PROMETHEUS_WRITER_CA vouches for."


def _interceptors(is_traced: bool) -> list[grpc.aio.ClientInterceptor]:
    if not is_traced:
        return []
    from agent_host.receipts.trace_context import TraceContext

    return [TraceContext()]


def _trusted(ca_file: Path | None) -> grpc.ChannelCredentials | None:
    if ca_file is None:
        return None
    try:
        return grpc.ssl_channel_credentials(ca_file.read_bytes())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigurationError(f"PROMETHEUS_WRITER_CA names {ca_file}, which cannot be read: {reason}.") from error


def _is_too_long(error: grpc.aio.AioRpcError) -> bool:
    """Says whether the transport refused a request for its length: a full queue or server has the same code."""
    names = {name for name, _ in error.trailing_metadata() or ()}
    is_exhausted = error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED and _DETAILS not in names
    return is_exhausted and _TOO_LONG in (error.details() or "")


def _stored(entry: wire.Entry) -> StoredEntry:
    return StoredEntry(entry.id, entry.hash, entry.recorded_at_ms, entry.line)


def _spec(draft: SpecDraft) -> dict[str, object]:
    identity = draft.identity
    return {
        "productId": PRODUCT_ID,
        "specId": draft.spec_id,
        "specHash": draft.spec_hash,
        "category": draft.category,
        "modelIdentity": {"provider": identity.provider, "model": identity.model, "version": identity.version},
        "schemaVersion": draft.schema_version,
        "specBytes": draft.spec_bytes,
    }


def _decision(draft: DecisionDraft) -> wire.DecisionDraft:
    identity = draft.identity
    return wire.DecisionDraft(
        product_id=PRODUCT_ID,
        spec_id=draft.spec_id,
        spec_hash=draft.spec_hash,
        input_hash=draft.input_hash,
        output_canonical_hash=draft.output_canonical_hash,
        category=draft.category,
        model_identity=wire.ModelIdentity(provider=identity.provider, model=identity.model, version=identity.version),
        latency_ms=draft.latency_ms,
        schema_valid=draft.schema_valid,
        reviewer_verdict=draft.reviewer_verdict,
        fallback_triggered=draft.fallback_triggered,
        turn_id=draft.turn_id,
        call_id=draft.call_id,
        exit_state=draft.exit_state,
        commitment=draft.commitment,
    )


def _turn(receipt: TurnReceipt) -> wire.TurnDraft:
    ids = [decision.entry_id for decision in receipt.decisions if decision.entry_id is not None]
    model = receipt.model
    memory = receipt.memory
    return wire.TurnDraft(
        product_id=PRODUCT_ID,
        turn_id=receipt.turn_id,
        session_id=receipt.session_id,
        gateway=receipt.gateway,
        outcome=receipt.outcome,
        iterations=receipt.iterations,
        input_hash=receipt.input_hash,
        reply_hash=receipt.reply_hash,
        model=wire.ModelUsage(
            id=model.id,
            input_tokens=model.input_tokens,
            output_tokens=model.output_tokens,
            cache_read_tokens=model.cache_read_tokens,
            cache_write_tokens=model.cache_write_tokens,
            cost_micro_usd=model.cost_micro_usd,
            estimated=model.estimated,
            calls=[wire.CallCount(kind=call.kind, n=call.n) for call in model.calls],
        ),
        tools=[
            wire.ToolUsage(
                tool=row.tool, provider=row.provider, status=row.status, n=row.n, cost_micro_usd=row.cost_micro_usd
            )
            for row in receipt.tools
        ],
        memory=wire.MemoryUsage(
            searches=memory.searches,
            used=memory.used,
            kept=memory.kept,
            unsent=memory.unsent,
            report_id=memory.report_id,
        ),
        decisions=wire.DecisionRange(n=len(ids), first_id=min(ids, default=0), last_id=max(ids, default=0)),
        total_micro_usd=receipt.total_micro_usd,
        trace_hash=receipt.trace_hash,
        commitment=receipt.commitment,
    )
