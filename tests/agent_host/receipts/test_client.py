from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from agent_host.errors import ConfigurationError, ReceiptRefusedError, WriterUnavailableError
from agent_host.receipts.client import DECISIONS, ReceiptClient, WriterAccess
from agent_host.receipts.drafts import TurnIntent
from prometheus.receipts.v1 import receipts_pb2 as pb
from receipt_writer import server
from receipt_writer.storage.filesystem import OsFileSystem
from receipt_writer.tokens import TOKENS_NAME, add_token
from receipt_writer.writer import Limits
from tests.receipt_writer.certificates import make_certificate
from tests.receipt_writer.parts import Running, decision_request, running, ulid


@pytest_asyncio.fixture
async def writer() -> AsyncIterator[Running]:
    with tempfile.TemporaryDirectory(prefix="rw-") as folder:
        async with running(Path(folder)) as one:
            yield one


def intent(model_id: str = "rules") -> TurnIntent:
    return TurnIntent(ulid("t_", 1), ulid("s_", 1), "cli", "0" * 64, "sha256", model_id)


async def test_a_draft_that_is_too_long_for_any_entry_is_refused_for_good(writer: Running) -> None:
    client = ReceiptClient(writer.target)
    with pytest.raises(ReceiptRefusedError, match="larger than max"):
        await client.begin_turn(intent("x" * 70_000))
    await client.begin_turn(intent())
    await client.close()


async def test_a_full_queue_is_a_writer_to_ask_again() -> None:
    with tempfile.TemporaryDirectory(prefix="rw-") as folder:
        async with running(Path(folder), limits=Limits(queue=0)) as one:
            client = ReceiptClient(one.target)
            with pytest.raises(WriterUnavailableError, match="resource exhausted"):
                await client.begin_turn(intent())
            await client.close()


async def test_entries_come_back_with_the_writers_own_bytes(writer: Running) -> None:
    stored = (await writer.stub.AppendDecision(decision_request(1))).entry
    client = ReceiptClient(writer.target)
    assert (entry := await client.entry(DECISIONS, 1)) is not None
    assert (entry.line, entry.hash, entry.recorded_at_ms) == (stored.line, stored.hash, stored.recorded_at_ms)
    assert await client.entry(DECISIONS, 2) is None
    assert [one async for one in client.entries(DECISIONS)] == [entry]
    await client.close()


async def test_a_call_carries_the_token_and_one_that_is_refused_says_so() -> None:
    with tempfile.TemporaryDirectory(prefix="rw-") as name:
        folder = Path(name)
        token = add_token(OsFileSystem(), folder / TOKENS_NAME, "acme", 0)
        async with running(folder) as one:
            known, unknown = (ReceiptClient(WriterAccess(one.target, told)) for told in (token, "prt_nobody"))
            await known.begin_turn(intent())
            with pytest.raises(WriterUnavailableError, match=r"refused this host: No tenant.*PROMETHEUS_WRITER_TOKEN"):
                await unknown.begin_turn(intent())
            assert one.service.ledger.intents == {}  # the turn is the tenant's
            assert token not in repr(WriterAccess(one.target, token))
            await known.close()
            await unknown.close()


async def test_a_writer_that_may_speak_tls_is_told_with_what_to_set(tmp_path: Path) -> None:
    plain = ReceiptClient("127.0.0.1:1", timeout_s=0.2)
    with pytest.raises(WriterUnavailableError, match="If it speaks TLS, set PROMETHEUS_WRITER_CA"):
        await plain.begin_turn(intent())
    await plain.close()
    certificate = make_certificate(tmp_path).certificate
    trusting = ReceiptClient(WriterAccess("127.0.0.1:1", None, certificate), timeout_s=0.2)
    with pytest.raises(WriterUnavailableError, match="a certificate that PROMETHEUS_WRITER_CA vouches for"):
        await trusting.begin_turn(intent())
    await trusting.close()
    with pytest.raises(ConfigurationError, match=r"PROMETHEUS_WRITER_CA names .* cannot be read"):
        ReceiptClient(WriterAccess("127.0.0.1:1", None, tmp_path / "none"))


async def test_a_server_that_has_too_many_calls_is_one_to_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_RPCS", 1)
    with tempfile.TemporaryDirectory(prefix="rw-") as folder:
        async with running(Path(folder)) as one:
            watch = one.stub.Watch(pb.WatchRequest(layer=pb.LAYER_L3_KEYS))
            assert (await watch.read()).entry.id == 1
            client = ReceiptClient(one.target)
            with pytest.raises(WriterUnavailableError, match="resource exhausted"):
                await client.begin_turn(intent())
            await client.close()
            watch.cancel()
