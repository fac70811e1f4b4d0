from __future__ import annotations

import asyncio
import signal
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from prometheus.receipts.v1 import receipts_pb2 as pb
from prometheus.receipts.v1 import receipts_pb2_grpc
from receipt_writer.errors import RequestRefusedError
from receipt_writer.health import is_serving
from receipt_writer.listen import parse_address
from receipt_writer.storage.filesystem import OsFileSystem
from receipt_writer.tokens import TOKENS_NAME, add_token
from tests.receipt_writer.certificates import CertificateFiles, make_certificate
from tests.receipt_writer.parts import decision_request, free_port, verified
from tests.receipt_writer.rpc.calls import L12, refused
from tests.receipt_writer.test_process import launch, said


@dataclass
class Guarded:
    """A writer process that speaks TLS and asks for tokens, and the files it does so with."""

    process: asyncio.subprocess.Process
    target: str
    files: CertificateFiles
    token: str


@asynccontextmanager
async def guarded(home: Path) -> AsyncIterator[Guarded]:
    """Start one; it is killed when the block leaves it running."""
    files, target = make_certificate(home), f"127.0.0.1:{free_port()}"
    (home / "receipts").mkdir(mode=0o700)
    token = add_token(OsFileSystem(), home / "receipts" / TOKENS_NAME, "acme", 0)
    options = ("--tls-cert", str(files.certificate), "--tls-key", str(files.key), "--require-token")
    process = await launch(home, target, *options)
    try:
        async with trusting(target, files) as channel:
            check = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(), wait_for_ready=True, timeout=20
            )
            assert (await check).status == health_pb2.HealthCheckResponse.SERVING
        yield Guarded(process, target, files, token)
    finally:
        if process.returncode is None:
            process.kill()
            await said(process)


def trusting(target: str, files: CertificateFiles) -> grpc.aio.Channel:
    """Return a channel that trusts one certificate and nothing else."""
    return grpc.aio.secure_channel(target, grpc.ssl_channel_credentials(files.certificate.read_bytes()))


def stub_of(channel: grpc.aio.Channel) -> receipts_pb2_grpc.ReceiptWriterStub:
    return receipts_pb2_grpc.ReceiptWriterStub(channel)  # type: ignore[no-untyped-call]


async def test_a_caller_that_trusts_the_certificate_and_has_a_token_is_served(folder: Path) -> None:
    async with guarded(folder) as one, trusting(one.target, one.files) as channel:
        bearer = (("authorization", f"Bearer {one.token}"),)
        entry = (await stub_of(channel).AppendDecision(decision_request(1), metadata=bearer)).entry
        key = await stub_of(channel).RotateKey(pb.RotateKeyRequest(), metadata=bearer).code()
        one.process.send_signal(signal.SIGTERM)
        status, _ = await said(one.process)
    assert status == 0
    assert key == grpc.StatusCode.INVALID_ARGUMENT  # read, so not refused for who asks
    (stored,) = verified(folder / "receipts" / "tenants" / "acme")
    assert stored.line.decode() == entry.line
    assert stored.tenant_id == "acme"


async def test_a_caller_without_a_token_is_refused_but_health_answers(folder: Path) -> None:
    async with guarded(folder) as one, trusting(one.target, one.files) as channel:
        refusal = await refused(stub_of(channel).GetHead(pb.GetHeadRequest(layer=L12)))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAUTHENTICATED, "CREDENTIAL_REFUSED")
        answer = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
        assert answer.status == health_pb2.HealthCheckResponse.SERVING


async def test_a_caller_that_trusts_another_certificate_or_none_does_not_get_through(folder: Path) -> None:
    async with guarded(folder) as one:
        stranger = make_certificate(folder, "stranger")
        for channel in (trusting(one.target, stranger), grpc.aio.insecure_channel(one.target)):
            async with channel:
                with pytest.raises(grpc.aio.AioRpcError) as ending:
                    await stub_of(channel).GetHead(pb.GetHeadRequest(layer=L12), timeout=5)
                assert ending.value.code() == grpc.StatusCode.UNAVAILABLE


async def test_the_connection_is_tls_of_today(folder: Path) -> None:
    async with guarded(folder) as one:
        context = ssl.create_default_context(cafile=str(one.files.certificate))
        context.set_alpn_protocols(["h2"])
        host, _, port = one.target.rpartition(":")
        _, writer = await asyncio.open_connection(host, int(port), ssl=context)
        spoken: ssl.SSLObject = writer.get_extra_info("ssl_object")
        assert spoken.version() in {"TLSv1.2", "TLSv1.3"}
        assert spoken.selected_alpn_protocol() == "h2"
        writer.close()


async def test_health_is_asked_over_tls_by_who_trusts_the_certificate(folder: Path) -> None:
    async with guarded(folder) as one:
        address = parse_address(one.target)
        assert await asyncio.to_thread(is_serving, address, one.files.certificate)
        assert not await asyncio.to_thread(is_serving, address, make_certificate(folder, "stranger").certificate)
        with pytest.raises(RequestRefusedError, match="no such file"):
            is_serving(address, folder / "none.pem")


@pytest.mark.parametrize(
    ("options", "said_so"),
    [
        (("--tls-cert", "server.pem"), "both --tls-cert and --tls-key"),
        (("--tls-cert", "none.pem", "--tls-key", "none.key"), "no such file"),
    ],
)
async def test_a_certificate_that_cannot_be_used_is_refused_in_one_sentence(
    folder: Path, options: tuple[str, ...], said_so: str
) -> None:
    status, text = await said(await launch(folder, f"127.0.0.1:{free_port()}", *options))
    assert (status, len(text.splitlines())) == (2, 1)
    assert said_so in text


async def test_a_unix_socket_with_a_certificate_is_refused(folder: Path) -> None:
    files = make_certificate(folder)
    options = ("--tls-cert", str(files.certificate), "--tls-key", str(files.key))
    status, text = await said(await launch(folder, f"unix:{folder}/w.sock", *options))
    assert (status, len(text.splitlines())) == (2, 1)
    assert "A Unix socket has no TLS" in text
