"""`agent-host replay`: a past decision run again from its opening, and compared."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Final

from agent_host.app import open_calls, open_desk
from agent_host.call_parts import calls_of_model
from agent_host.constrained.options import CallOptions
from agent_host.constrained.replaying import Past, Replayed, code_of, past_decision, replay
from agent_host.errors import UsageError
from agent_host.gateways.screen import printable
from service_runtime.settings import Settings

_VERDICTS: Final = {
    True: "The same.",
    False: "Another.",
    None: "Not compared: the default stood both times, and what the model said then is not kept.",
}


async def replay_call(settings: Settings, environ: Mapping[str, str], call_id: str, *, as_json: bool) -> int:
    """Prints what a call came to then and now; returns 0 when both are the same, else 1.

    Raises:
        UsageError: the ledger has no such call, or it cannot be run again; the message says why.
        WriterUnavailableError: no writer runs and none can be started.
        BudgetSpentError: the day has cost what it may; no model was asked.
    """
    async with AsyncExitStack() as resources:
        desk = open_desk(settings, environ, resources)
        await desk.link.connect()
        entry = await desk.link.client.decision(call_id)
        if entry is None:
            raise UsageError(
                f"The ledger has no call {call_id[:40]!r}; `agent-host receipts show` lists those of a turn."
            )
        past = past_decision(entry, desk.openings, desk.store)
        options = calls_of_model(settings, open_calls(settings, desk, resources), past.spec.model_identity, resources)
        answered = _who_answered(past, options)
        if code_of(past.spec) is None:
            options.may_ask()
        done = await replay(past, answered)
    sys.stdout.write((json.dumps(_document(done), ensure_ascii=False) if as_json else printable(_text(done))) + "\n")
    return 0 if done.same else 1


def _who_answered(past: Past, options: CallOptions) -> CallOptions:
    """Returns options whose model is the one that answered then.

    Raises:
        UsageError: another provider, or none, is set up now.
    """
    then, now = past.spec.model_identity, options.provider.identity if options.provider else None
    if now == then or code_of(past.spec) is not None:
        return options
    told = f"it is set up for {now.provider}/{now.model} now" if now else "no model is set up now"
    raise UsageError(
        f"The call {past.call_id} was answered by {then.provider}/{then.model} ({then.version}), and {told}; set "
        "PROMETHEUS_PROVIDER and, for a server of your own, PROMETHEUS_BASE_URL as they were then."
    )


def _document(done: Replayed) -> dict[str, object]:
    past = done.past
    then: dict[str, object] = {"exit_state": past.exit_state, "output": past.output}
    now: dict[str, object] = {"exit_state": done.exit_state, "output": done.output, "call_id": done.call_id}
    if past.case is not None:
        then["proposal"], now["proposal"] = past.case.proposal, done.proposal
    return {
        "call_id": past.call_id,
        "entry_id": past.entry_id,
        "spec_id": past.spec.spec_id,
        "same": done.same,
        "then": then,
        "now": now,
    }


def _text(done: Replayed) -> str:
    past = done.past
    rows = (("then", past.exit_state, past.output), ("now", done.exit_state, done.output))
    lines = [f"{past.call_id}  {past.spec.spec_id}  decision {past.entry_id}; its openings are the entry's"]
    lines += [f"  {when:4} {state}  {json.dumps(output, ensure_ascii=False)}" for when, state, output in rows]
    if past.case is not None:
        lines += [
            f"  {when:4} proposed  {json.dumps(output, ensure_ascii=False)}"
            for when, output in (("then", past.case.proposal), ("now", done.proposal))
        ]
    return "\n".join([*lines, _VERDICTS[done.same]])
