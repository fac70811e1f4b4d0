"""A host whose receipts a writer elsewhere signs, guarded as docs/how-to/query-receipts.md advises."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent_host.receipts.verification import waiting
from receipt_writer.format.schema import LAYERS
from tests.e2e.conftest import BIN, Person
from tests.receipt_writer.certificates import make_certificate
from tests.receipt_writer.parts import free_port, verified

pytestmark = pytest.mark.slow  # starts many processes


@dataclass(frozen=True)
class Outside:
    """A writer with TLS that takes no caller without a token, on a home of its own."""

    target: str
    home: Path
    ca: Path
    token: Path


@pytest.fixture
def outside(person: Person, tmp_path: Path) -> Iterator[Outside]:
    home = tmp_path / "elsewhere"
    home.mkdir(mode=0o700)
    files, target, token = make_certificate(home), f"127.0.0.1:{free_port()}", home / "token"
    assert person.run("receipt-writer", "keygen", "--home", str(home)).returncode == 0
    token.touch(0o600)
    token.write_bytes(person.run("receipt-writer", "token", "add", "acme", "--home", str(home)).stdout)
    words = ("serve", "--listen", target, "--home", str(home), "--require-token", "--exit-with-stdin")
    guard = ("--tls-cert", str(files.certificate), "--tls-key", str(files.key))
    command = [str(BIN / "receipt-writer"), *words, *guard]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=person.environ) as process:
        assert process.stderr is not None
        assert process.stdin is not None
        assert any(b"ready:" in line for line in process.stderr)
        yield Outside(target, home, files.certificate, token)
        process.stdin.close()
        process.stderr.read()


def test_a_receipt_lands_in_the_chain_of_the_tokens_tenant(person: Person, outside: Outside) -> None:
    person.without_tools()
    told: dict[str, Any] = {
        "PROMETHEUS_WRITER": outside.target,
        "PROMETHEUS_WRITER_CA": str(outside.ca),
        "PROMETHEUS_WRITER_TOKEN_FILE": str(outside.token),
    }
    done = person.run("agent-host", "ask", "hello", **told)
    assert done.returncode == 0, done.stderr.decode()
    (turn,) = verified(outside.home / "receipts" / "tenants" / "acme", "L10")
    assert (turn.id, turn.fields["tenantId"]) == (1, "acme")
    assert (outside.home / "receipts" / "chains" / f"{LAYERS['L10'].chain}.jsonl").read_bytes() == b""
    assert not (person.home / "receipts" / "chains").exists()  # the host made no ledger of its own
    findings = person.run("agent-host", "doctor", "--json", **told)
    assert findings.returncode == 0, findings.stdout.decode()
    parts = {one["part"]: one for one in json.loads(findings.stdout)}
    assert parts["writer"]["text"] == "ok"
    assert f"TLS, trusting {outside.ca}, the token of PROMETHEUS_WRITER_TOKEN_FILE" in parts["receipts"]["text"]
    assert outside.token.read_bytes().strip() not in findings.stdout


def test_a_host_that_the_writer_does_not_take_is_told_so_and_loses_no_receipt(person: Person, outside: Outside) -> None:
    person.without_tools()
    told: dict[str, Any] = {"PROMETHEUS_WRITER": outside.target, "PROMETHEUS_WRITER_CA": str(outside.ca)}
    strange = person.run("agent-host", "doctor", "--json", PROMETHEUS_WRITER_TOKEN="prt_nobody", **told)
    parts = {one["part"]: one for one in json.loads(strange.stdout)}
    assert "refused this host: No tenant has this token" in parts["writer"]["text"]
    assert b"prt_nobody" not in strange.stdout
    asked = person.run("agent-host", "ask", "hello", **told)
    assert asked.returncode == 0, asked.stderr.decode()
    assert waiting(person.home) == 1
