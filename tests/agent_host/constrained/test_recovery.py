"""A process that is killed around its append, and the same call asked for again by the next one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_host.constrained.store import CallStore
from agent_host.identifiers import new_call_id
from agent_host.receipts.commitments import digest_of
from agent_host.receipts.openings import OpeningStore

ROOT = Path(__file__).parents[3]
PROGRAM = """
import asyncio, json, os, secrets, signal, sys
from contextlib import AsyncExitStack
from dataclasses import asdict, replace
from pathlib import Path

from agent_host.app import open_calls, open_desk
from agent_host.constrained import run_constrained_ai
from agent_host.providers.protocol import Identity
from service_runtime.settings import load_settings
from tests.agent_host.constrained.parts import MESSAGE, spec


def say(_):
    return {"mood": "glad", "note": secrets.token_hex(8)}  # never the same twice


async def main(call_id, moment):
    settings = load_settings(os.environ, Path.cwd(), None)
    async with AsyncExitStack() as resources:
        desk = open_desk(settings, os.environ, resources)
        options = open_calls(settings, desk, resources)
        await desk.link.connect()
        append = options.ledger.append_decision

        async def dying(draft, openings):
            if moment == "after":
                await append(draft, openings)
            os.kill(os.getpid(), signal.SIGKILL)

        if moment != "never":
            options.ledger.append_decision = dying
        coded = spec(model_identity=Identity("offline", "mood-rules", "1"))
        options = replace(options, provider=None, code=say, call_id=call_id)
        print(json.dumps(asdict(await run_constrained_ai(coded, MESSAGE, options))))


asyncio.run(main(*sys.argv[1:]))
"""


def run(home: Path, call_id: str, moment: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PROMETHEUS_HOME": str(home), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, call_id, moment],
        env=environ,
        cwd=home.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )


def entries(home: Path) -> list[dict[str, Any]]:
    chain = home / "receipts" / "chains" / "decisions.jsonl"
    return [json.loads(line) for line in chain.read_bytes().split(b"\n") if line]


@pytest.mark.slow
@pytest.mark.parametrize(("moment", "recorded"), [("before", 0), ("after", 1)])
def test_a_call_killed_around_its_append_has_one_entry_and_one_output_for_ever(
    tmp_path: Path, moment: str, recorded: int
) -> None:
    home, call_id = tmp_path / "home", new_call_id()
    assert run(home, call_id, moment).returncode == -signal.SIGKILL
    assert len(entries(home)) == recorded
    store, openings = CallStore(home / "host" / "calls.db"), OpeningStore(home / "host" / "openings.db")
    kept = store.call(call_id)
    assert kept is not None

    done = [run(home, call_id, "never") for _ in range(2)]
    first, again = [json.loads(one.stdout) for one in done]
    assert first == again
    assert (first["output"], first["entry_id"]) == (kept.decision.output, 1)
    (entry,) = entries(home)
    assert entry["callId"] == call_id
    opening = openings.find(call_id, "outputCanonicalHash")
    assert opening is not None
    assert (digest_of(opening), json.loads(opening.value)) == (entry["outputCanonicalHash"], first["output"])
    store.close()
    openings.close()
