"""`agent-host specs list|show`, before a real writer: what is registered, and the bytes behind a hash."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import pytest_asyncio

from agent_host.errors import UsageError
from agent_host.gateways.decide import decide
from agent_host.gateways.specs import list_specs, show_spec
from agent_host.private_store import open_private
from tests.agent_host.constrained.parts import MESSAGE, spec
from tests.agent_host.gateways.test_call_commands import Place
from tests.receipt_writer.parts import running, verified


@pytest_asyncio.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    with TemporaryDirectory(prefix="rw-") as folder:
        async with running(Path(folder)) as one:
            yield Place({"PROMETHEUS_HOME": str(tmp_path / "home"), "PROMETHEUS_WRITER": one.target}, Path(folder))


def spec_file(folder: Path, **changes: object) -> Path:
    path = folder / "mood.json"  # JSON is YAML
    path.write_text(json.dumps({**spec().as_json(), "model_identity": None, **changes}))
    return path


async def test_a_spec_is_listed_once_and_its_bytes_have_the_hash_that_its_decisions_name(
    place: Place, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert await list_specs(place.settings, place.environ, as_json=False) == 0
    assert capfdbinary.readouterr().out.startswith(b"No spec is registered yet")
    for description in ("One.", "One.", "Another."):
        file = spec_file(tmp_path, description=description)
        await decide(place.settings, place.environ, file, json.dumps(MESSAGE), as_json=True)

    registered, decided = verified(place.ledger, "L2"), verified(place.ledger, "L12")
    hashes = [str(entry.fields["specHash"]) for entry in registered]
    assert [entry.fields["specHash"] for entry in decided] == [hashes[0], hashes[0], hashes[1]]
    for name in ("specId", "category", "modelIdentity"):
        assert registered[0].fields[name] == decided[0].fields[name]

    capfdbinary.readouterr()
    await list_specs(place.settings, place.environ, as_json=False)
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert [line.split()[0] for line in lines] == ["#1", "#2"]
    assert [line.split()[-1] for line in lines] == hashes
    await show_spec(place.settings, place.environ, hashes[1][:12].upper())
    body = capfdbinary.readouterr().out
    assert hashlib.sha256(body).hexdigest() == hashes[1]
    assert (json.loads(body)["description"], len(body)) == ("Another.", registered[1].fields["specBytes"])


async def test_a_spec_of_another_home_is_listed_and_cannot_be_shown(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await decide(place.settings, place.environ, spec_file(tmp_path), json.dumps(MESSAGE), as_json=True)
    other = Place({**place.environ, "PROMETHEUS_HOME": str(tmp_path / "other")}, place.ledger)
    capsys.readouterr()
    await list_specs(other.settings, other.environ, as_json=False)
    assert capsys.readouterr().out.endswith("  (its bytes are not on this home)\n")
    with pytest.raises(UsageError, match="No spec of this home has the hash"):
        await show_spec(other.settings, other.environ, str(verified(place.ledger, "L2")[0].fields["specHash"]))


async def test_bytes_that_were_changed_are_not_shown(place: Place, tmp_path: Path) -> None:
    for description in ("One.", "Two."):
        file = spec_file(tmp_path, description=description)
        await decide(place.settings, place.environ, file, json.dumps(MESSAGE), as_json=True)
    connection = open_private(tmp_path / "home" / "host" / "calls.db", "")
    with connection:
        connection.execute("UPDATE specs SET body = X'7B7D'")
    connection.close()

    with pytest.raises(UsageError, match="2 specs have a hash that begins with ''"):
        await show_spec(place.settings, place.environ, "")
    with pytest.raises(UsageError, match="are not those of the spec"):
        await show_spec(place.settings, place.environ, str(verified(place.ledger, "L2")[0].fields["specHash"]))


@pytest.mark.slow
async def test_two_hosts_at_once_and_a_retry_leave_one_entry(place: Place, tmp_path: Path) -> None:
    file = spec_file(tmp_path)
    away = f"unix:{place.ledger}/nobody.sock"

    async def run(home: str, writer: str) -> None:
        environ = {**os.environ, "PROMETHEUS_HOME": str(tmp_path / home), "PROMETHEUS_WRITER": writer}
        words = ("-m", "agent_host", "decide", str(file), json.dumps(MESSAGE))
        process = await asyncio.create_subprocess_exec(sys.executable, *words, env=environ, stdout=PIPE, stderr=PIPE)
        await process.communicate()
        assert process.returncode == 1

    await run("late", away)
    target = place.environ["PROMETHEUS_WRITER"]
    await asyncio.gather(*(run(home, target) for home in ("one", "two", "late")))
    await run("one", target)

    assert [entry.fields["specId"] for entry in verified(place.ledger, "L2")] == ["mood-reader"]
    assert len(verified(place.ledger, "L12")) == 5
