from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import grpc.aio
import pytest
import pytest_asyncio

from prometheus.receipts.v1 import receipts_pb2 as pb
from receipt_writer import checking
from receipt_writer.checking import Checks
from receipt_writer.fsck import Finding
from receipt_writer.offline import read_policy
from receipt_writer.storage.filesystem import OsFileSystem
from receipt_writer.tokens import TOKENS_NAME, add_token
from tests.receipt_writer.parts import Running, chain_file, decision, decision_request, running
from tests.receipt_writer.rpc.calls import L10, L12, read_all, refusal_of, refused

MANY = 1100


@pytest_asyncio.fixture
async def live(folder: Path) -> AsyncIterator[Running]:
    async with running(folder) as one:
        yield one


async def append(one: Running, count: int) -> None:
    await asyncio.gather(*(one.service.writer.append("L12", decision(number)) for number in range(count)))


async def checked(one: Running, layer: pb.Layer = L12) -> tuple[list[pb.CheckProgress], pb.CheckSummary]:
    messages, error = await read_all(one.stub.VerifyChain(pb.VerifyChainRequest(layer=layer)))
    assert error is None
    *before, last = messages
    assert last.WhichOneof("event") == "summary"
    return [message.progress for message in before], last.summary


async def test_a_good_chain_is_good_up_to_its_head(live: Running) -> None:
    await append(live, 5)
    await live.stub.GetCheckpoint(pb.GetCheckpointRequest(layer=L12, fresh=True))
    _, summary = await checked(live)
    head = await live.stub.GetHead(pb.GetHeadRequest(layer=L12))
    assert summary == pb.CheckSummary(good=True, entries=5, head_hash=head.hash, checkpoint_size=5)


async def test_entries_that_a_revocation_disowned_are_told_and_are_no_damage(live: Running) -> None:
    await append(live, 3)
    rotations = live.service.rotations
    stolen = rotations.key_in_force("entry")
    await rotations.rotate("entry", stolen, "stolen")
    await rotations.revoke("entry", stolen, "stolen", {"decisions": 2})
    _, summary = await checked(live)
    assert (summary.good, summary.entries) == (True, 3)
    (sentence,) = summary.disowned
    assert sentence.startswith("Entries 2 to 3 are signed by the entry key with fingerprint ")


async def test_an_empty_chain_is_good(live: Running) -> None:
    _, summary = await checked(live, L10)
    assert (summary.good, summary.entries) == (True, 0)


async def test_a_changed_byte_is_found_and_named_while_the_writer_runs(live: Running, folder: Path) -> None:
    await append(live, 5)
    path = chain_file(folder)
    lines = path.read_bytes().split(b"\n")
    lines[2] = lines[2].replace(b'"ok"', b'"no"')
    path.write_bytes(b"\n".join(lines))
    _, summary = await checked(live)
    assert (summary.good, summary.entries) == (False, 2)
    assert "Entry 3 of the chain decisions" in summary.fault


async def test_a_long_check_tells_how_far_it_is(live: Running, folder: Path) -> None:
    await append(live, MANY)
    progress, summary = await checked(live)
    assert summary.entries == MANY
    assert [one.total_bytes for one in progress] == [chain_file(folder).stat().st_size] * len(progress)
    done = [one.done_bytes for one in progress]
    assert done == sorted(set(done))
    assert len(done) >= 2


async def test_appends_go_on_beside_a_check(live: Running) -> None:
    await append(live, MANY)
    checking = asyncio.ensure_future(checked(live))
    for number in range(MANY, MANY + 50):
        await live.stub.AppendDecision(decision_request(number))
    _, summary = await checking
    assert summary.good
    assert MANY <= summary.entries <= MANY + 50


async def test_a_third_check_at_once_is_told_when_to_come_back(live: Running) -> None:
    await append(live, MANY)
    two = [asyncio.ensure_future(checked(live)) for _ in range(2)]
    while _running_checks(live) < 2:
        await live.health()
    refusal = await refused(live.stub.VerifyChain(pb.VerifyChainRequest(layer=L12)).read())
    assert (refusal.code, refusal.reason, refusal.retry_ms) == (
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        "QUEUE_FULL",
        5000,
    )
    assert all(summary.good for _, summary in await asyncio.gather(*two))


def _running_checks(one: Running) -> int:
    """Count the checks as the kernel sees them."""
    folder = str(one.service.folder).encode()
    commands = [_command(path) for path in Path("/proc").glob("[0-9]*/cmdline")]
    return sum(b"receipt_writer.checking" in command and folder in command for command in commands)


def _command(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has just ended
        return b""


async def test_a_caller_that_goes_ends_its_check(live: Running) -> None:
    await append(live, MANY)
    stream = live.stub.VerifyChain(pb.VerifyChainRequest(layer=L12))
    reading = asyncio.ensure_future(stream.read())
    while not _running_checks(live):
        await live.health()
    stream.cancel()
    while _running_checks(live):
        await live.health()
    await asyncio.gather(reading, return_exceptions=True)
    assert (await checked(live))[1].good


async def test_a_drain_ends_a_check_and_says_so(folder: Path) -> None:
    async with running(folder) as one:
        await append(one, MANY)
        stream = one.stub.VerifyChain(pb.VerifyChainRequest(layer=L12))
        reading = asyncio.ensure_future(read_all(stream))
        while not _running_checks(one):
            await one.health()
        one.leave.set()
        assert await one.drained() == 0
        _, error = await reading
        while _running_checks(one):  # noqa: ASYNC110 - killed; nobody tells when the kernel has let it go
            await asyncio.sleep(0.01)
    assert error is not None
    assert refusal_of(error).reason == "WRITER_STOPPED"


async def test_a_ledger_that_cannot_be_checked_is_a_failed_precondition(live: Running, folder: Path) -> None:
    assert read_policy(folder, "decisions")
    (folder / "policy-decisions.json").write_text("{}")
    refusal = await refused(live.stub.VerifyChain(pb.VerifyChainRequest(layer=L12)).read())
    assert (refusal.code, refusal.about) == (grpc.StatusCode.FAILED_PRECONDITION, {"layer": "L12"})
    assert str(folder) not in refusal.sentence


async def test_a_check_without_a_server_yields_its_finding_last(folder: Path) -> None:
    async with running(folder) as one:
        await append(one, 3)
    told = [one async for one in Checks().run(folder, "L12")]
    assert isinstance(told[-1], Finding)
    assert (told[-1].fault, told[-1].entries) == (None, 3)


async def test_a_layer_that_is_none_is_refused(live: Running) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as ending:
        await live.stub.VerifyChain(pb.VerifyChainRequest()).read()
    assert ending.value.code() == grpc.StatusCode.INVALID_ARGUMENT


async def test_checks_of_one_tenant_do_not_take_the_places_of_another(
    live: Running, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Path] = []
    all_begun, go = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def waiting(where: Path, _: str) -> AsyncIterator[AsyncIterator[bytes]]:
        begun.append(where)
        if len(begun) == 3:
            all_begun.set()
        await go.wait()
        yield nothing()

    async def nothing() -> AsyncIterator[bytes]:
        for line in (b"[1, 1]",):
            yield line

    monkeypatch.setattr(checking, "_started", waiting)
    token = add_token(OsFileSystem(), folder / TOKENS_NAME, "acme", 0)
    request, metadata = pb.VerifyChainRequest(layer=L12), (("authorization", f"Bearer {token}"),)
    streams = [live.stub.VerifyChain(request) for _ in range(2)]
    streams.append(live.stub.VerifyChain(request, metadata=metadata))
    reading = [asyncio.ensure_future(stream.read()) for stream in streams]
    await asyncio.wait_for(all_begun.wait(), 20)
    go.set()
    assert [answer.progress.done_bytes for answer in await asyncio.gather(*reading)] == [1, 1, 1]
    assert sorted(begun) == [folder, folder, folder / "tenants" / "acme"]


def test_a_check_that_is_left_unread_leaves_nothing_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talker = tmp_path / "talker"
    talker.write_text("#!/bin/sh\nexec yes '[1, 2]'\n")  # more than a pipe and a reader hold
    talker.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(talker))

    async def leave() -> None:
        check = Checks().run(tmp_path, "L12")
        await anext(check)
        await check.aclose()

    asyncio.run(leave())
    gc.collect()  # what is still open would say so here, as an error
