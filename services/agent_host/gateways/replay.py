"""`agent-host replay`: a past decision run again from its opening, and compared."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack

from agent_host.app import open_calls, open_desk
from agent_host.constrained.replaying import Replayed, past_decision, replay
from agent_host.errors import UsageError
from agent_host.gateways.screen import printable
from service_runtime.settings import Settings


async def replay_call(settings: Settings, environ: Mapping[str, str], call_id: str, *, as_json: bool) -> int:
    """Prints what a call came to then and now; returns 0 when both are the same, else 1.

    Raises:
        UsageError: the ledger has no such call, or it cannot be run again; the message says why.
        WriterUnavailableError: no writer runs and none can be started.
        HomeInUseError: a conversation holds this home.
    """
    async with AsyncExitStack() as resources:
        desk = open_desk(settings, environ, resources)
        options = open_calls(settings, desk, resources)
        await desk.link.connect()
        entry = await desk.link.client.decision(call_id)
        if entry is None:
            raise UsageError(
                f"The ledger has no call {call_id[:40]!r}; `agent-host receipts show` lists those of a turn."
            )
        done = await replay(past_decision(entry, desk.openings, desk.store), options)
    sys.stdout.write((json.dumps(_document(done), ensure_ascii=False) if as_json else printable(_text(done))) + "\n")
    return 0 if done.same else 1


def _document(done: Replayed) -> dict[str, object]:
    past = done.past
    return {
        "call_id": past.call_id,
        "entry_id": past.entry_id,
        "spec_id": past.spec.spec_id,
        "same": done.same,
        "then": {"exit_state": past.exit_state, "output": past.output},
        "now": {"exit_state": done.exit_state, "output": done.output, "call_id": done.call_id},
    }


def _text(done: Replayed) -> str:
    past = done.past
    rows = (("then", past.exit_state, past.output), ("now", done.exit_state, done.output))
    lines = [f"{past.call_id}  {past.spec.spec_id}  decision {past.entry_id}; its openings are the entry's"]
    lines += [f"  {when:4} {state}  {json.dumps(output, ensure_ascii=False)}" for when, state, output in rows]
    return "\n".join([*lines, "The same." if done.same else "Another."])
