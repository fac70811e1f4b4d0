"""What the writer's tests are made of: drafts, requests, a watched file system, a running service."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
from google.protobuf.json_format import ParseDict
from grpc_health.v1 import health_pb2, health_pb2_grpc

from prometheus.receipts.v1 import receipts_pb2 as pb
from prometheus.receipts.v1 import receipts_pb2_grpc
from receipt_writer.app import Service, make_tenants, open_service
from receipt_writer.format.chain import Head, check_link, genesis_head
from receipt_writer.format.digest import split_origin
from receipt_writer.format.entry import Entry, parse_line
from receipt_writer.format.policy import TrustedKey, parse_policy
from receipt_writer.format.schema import LAYERS
from receipt_writer.identity import chains_folder
from receipt_writer.intents import Intent
from receipt_writer.listen import Address, UnixAddress
from receipt_writer.process import run_service
from receipt_writer.storage.filesystem import OsFileSystem
from receipt_writer.tenants import Tenants
from receipt_writer.writer import Limits
from tests.receipt_writer.format.material import START_MS, decision_draft, turn_draft

Draft = dict[str, Any]


def ulid(prefix: str, number: int) -> str:
    """Return `t_`, `s_` or `c_` and a number in the shape of a ULID."""
    return f"{prefix}{number:026d}"


def decision(number: int, **changes: Any) -> Draft:
    """Return the L12 draft of call `number`."""
    return decision_draft(callId=ulid("c_", number), **changes)


def turn(number: int, **changes: Any) -> Draft:
    """Return the L10 draft of turn `number`, which made no decisions."""
    return turn_draft(turnId=ulid("t_", number), **{"decisions": {"n": 0, "firstId": 0, "lastId": 0}} | changes)


def spec(number: int, **changes: Any) -> Draft:
    """Return the L2 draft of version `number` of a spec."""
    draft: Draft = {
        "productId": "prometheus-agent",
        "specId": "turn-router",
        "specHash": f"{number:064x}",
        "category": "router",
        "modelIdentity": {"provider": "offline", "model": "rules", "version": "1"},
        "schemaVersion": "prometheus-runtime-ai-spec-1.0",
        "specBytes": 1200 + number,
    }
    return draft | changes


def build(number: int, **changes: Any) -> Draft:
    """Return the L4 draft of release `number`."""
    draft: Draft = {
        "productId": "prometheus-agent",
        "buildId": ulid("b_", number),
        "version": f"0.{number}.0",
        "artefacts": [{"name": "prometheus_agent.whl", "digest": "5" * 64}],
        "lockHash": "6" * 64,
        "verifiers": [{"name": "verify.py", "digest": "7" * 64}],
        "promptVersion": "1",
        "modelVersion": "rules-1",
        "configVersion": "1",
        "gateVerdict": "passed",
        "gateReportHash": None,
    }
    return draft | changes


def call(number: int, **changes: Any) -> Draft:
    """Return the L5 draft of tool call `number`."""
    draft: Draft = {
        "productId": "prometheus-agent",
        "callId": ulid("c_", number),
        "client": "an editor",
        "server": "notes",
        "tool": "note_search",
        "toolListHash": "5" * 64,
        "argumentsHash": "6" * 64,
        "resultHash": "7" * 64,
        "state": "completed",
        "latencyMs": 4,
        "commitment": "hmac-sha256",
    }
    return draft | changes


def review(number: int, decision: Entry, **changes: Any) -> Draft:
    """Return the L6 draft of review `number`, which approves a decision."""
    draft: Draft = {
        "productId": "prometheus-agent",
        "reviewId": ulid("r_", number),
        "decisionId": decision.id,
        "decisionHash": decision.hash,
        "callId": decision.fields["callId"],
        "reviewer": "a person",
        "verdict": "approved",
        "outputHash": None,
        "commentHash": None,
        "commitment": "hmac-sha256",
    }
    return draft | changes


def component(number: int, **changes: Any) -> Draft:
    """Return the L11 draft of version `number` of a skill."""
    draft: Draft = {
        "productId": "prometheus-agent",
        "versionId": ulid("v_", number),
        "kind": "skill",
        "name": "weekly-report",
        "version": f"{number}",
        "contentHash": "5" * 64,
        "previousHash": None,
        "source": "skills/weekly-report/SKILL.md",
        "status": "accepted",
    }
    return draft | changes


def intent(number: int, **changes: Any) -> Intent:
    """Return the start of turn `number`, with the fields that `turn` reports."""
    draft = turn(number)
    fields: dict[str, Any] = {
        "turn_id": draft["turnId"],
        "session_id": draft["sessionId"],
        "gateway": draft["gateway"],
        "product_id": draft["productId"],
        "input_hash": draft["inputHash"],
        "commitment": draft["commitment"],
        "model_id": "rules",
    }
    return Intent(**fields | changes)


def begin_request(number: int, **changes: Any) -> pb.BeginTurnRequest:
    """Return the request that `intent` makes."""
    one = intent(number)
    fields: dict[str, Any] = {
        name: getattr(one, name)
        for name in ("turn_id", "session_id", "gateway", "product_id", "input_hash", "commitment", "model_id")
    }
    return pb.BeginTurnRequest(**fields | changes)


def turn_request(number: int, **changes: Any) -> pb.AppendTurnRequest:
    """Return the request that reports `turn`."""
    return pb.AppendTurnRequest(draft=ParseDict(turn(number, **changes), pb.TurnDraft()))


def decision_request(number: int, **changes: Any) -> pb.AppendDecisionRequest:
    """Return the request that records `decision`."""
    return pb.AppendDecisionRequest(draft=ParseDict(decision(number, **changes), pb.DecisionDraft()))


@dataclass
class Clock:
    """A clock that stands until it is set."""

    now_ms: int = START_MS

    def __call__(self) -> int:
        return self.now_ms


@dataclass
class WatchedFiles(OsFileSystem):
    """Real files; every changing call is written down, and one kind of call can be made to fail from some time on.

    `calls` holds pairs such as `("sync", "turns.jsonl")`; `happened` is set when the call `awaited` comes.
    """

    calls: list[tuple[str, str]] = field(default_factory=list)
    fails: tuple[str, str] | None = None
    awaited: tuple[str, str] | None = None
    happened: threading.Event = field(default_factory=threading.Event)
    error: int = errno.EIO
    _names: dict[int, str] = field(default_factory=dict)

    def since(self, mark: int) -> list[tuple[str, str]]:
        return self.calls[mark:]

    def open(self, path: Path, *, append: bool = False) -> int:
        handle = super().open(path, append=append)
        self._names[handle] = path.name
        return handle

    def create(self, path: Path) -> int:
        handle = super().create(path)
        self._names[handle] = path.name
        return handle

    def write(self, handle: int, data: bytes) -> int:
        self._happen("write", self._names[handle])
        return super().write(handle, data)

    def write_at(self, handle: int, data: bytes, offset: int) -> int:
        self._happen("write_at", self._names[handle])
        return super().write_at(handle, data, offset)

    def truncate(self, handle: int, length: int) -> None:
        self._happen("truncate", self._names[handle])
        super().truncate(handle, length)

    def sync(self, handle: int) -> None:
        self._happen("sync", self._names[handle])
        super().sync(handle)

    def replace(self, source: Path, target: Path) -> None:
        self._happen("replace", target.name)
        super().replace(source, target)

    def link(self, source: Path, target: Path) -> None:
        self._happen("link", target.name)
        super().link(source, target)

    def sync_folder(self, folder: Path) -> None:
        self._happen("sync_folder", folder.name)
        super().sync_folder(folder)

    def _happen(self, call: str, name: str) -> None:
        if self.fails == (call, name):
            raise OSError(self.error, os.strerror(self.error))
        self.calls.append((call, name))
        if self.awaited == (call, name):
            self.happened.set()


@dataclass
class Running:
    """A service in this process, and a client's way to it."""

    service: Service
    tenants: Tenants[Service]
    target: str
    leave: asyncio.Event
    ended: asyncio.Task[int]
    channel: grpc.aio.Channel
    stub: receipts_pb2_grpc.ReceiptWriterStub

    async def drained(self) -> int:
        """Return the status once the service has ended; a hang fails here, the two seconds are the process's affair."""
        return await asyncio.wait_for(asyncio.shield(self.ended), 20)

    async def health(self, name: str = "") -> int:
        request = health_pb2.HealthCheckRequest(service=name)
        answer = await health_pb2_grpc.HealthStub(self.channel).Check(request)
        return int(answer.status)


@asynccontextmanager
async def running(
    folder: Path,
    *,
    address: Address | None = None,
    files: OsFileSystem | None = None,
    clock: Callable[[], int] | None = None,
    limits: Limits | None = None,
    host: str = "",
) -> AsyncIterator[Running]:
    """Serve a receipts folder until the block ends, then drain."""
    address = address or UnixAddress(folder / "w.sock")
    options: dict[str, Any] = {"clock": clock} if clock else {}
    service = open_service(folder, files, host=host, limits=limits, **options)
    leave = asyncio.Event()
    tenants = make_tenants(service)
    ended = asyncio.create_task(run_service(tenants, address, leave))
    async with grpc.aio.insecure_channel(address.target) as channel:
        stub = receipts_pb2_grpc.ReceiptWriterStub(channel)  # type: ignore[no-untyped-call]
        await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), wait_for_ready=True)
        try:
            yield Running(service, tenants, address.target, leave, ended, channel, stub)
        finally:
            leave.set()
            await ended


def free_port() -> int:
    """Return a port of 127.0.0.1 that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def chain_file(folder: Path, layer: str = "L12") -> Path:
    """Return the chain file of a receipts folder."""
    return chains_folder(folder) / f"{LAYERS[layer].chain}.jsonl"


def policy_keys(folder: Path, layer: str = "L12") -> tuple[str, tuple[TrustedKey, ...]]:
    """Return the origin and the keys that the folder's policy file tells verifiers to trust."""
    policy = parse_policy((folder / f"policy-{LAYERS[layer].chain}.json").read_bytes())
    return policy.origin, policy.keys


def verified(folder: Path, layer: str = "L12") -> list[Entry]:
    """Return the entries of a chain file after checking each one as a verifier would."""
    origin, keys = policy_keys(folder, layer)
    head: Head = genesis_head(origin)
    entries = []
    *lines, rest = chain_file(folder, layer).read_bytes().split(b"\n")
    assert rest == b""
    for line in lines:
        entry = parse_line(layer, line)
        head = check_link(head, entry, tenant_id=split_origin(origin).tenant_id, keys=keys)
        entries.append(entry)
    return entries
