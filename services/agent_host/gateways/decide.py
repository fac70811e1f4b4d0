"""`agent-host decide`: one constrained call under a spec from a file, without a line of Python."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, replace
from pathlib import Path

from agent_host.app import open_calls, open_desk
from agent_host.call_parts import calls_of_model
from agent_host.constrained import Decision, load_spec, run_constrained_ai
from agent_host.constrained.options import Values
from agent_host.constrained.output import OutputError, parse_output
from agent_host.errors import NoDecisionError, UsageError, WriterUnavailableError
from agent_host.gateways.screen import printable
from service_runtime.settings import Settings


async def decide(
    settings: Settings,
    environ: Mapping[str, str],
    spec_file: Path,
    raw_input: str,
    *,
    as_json: bool,
    call_id: str | None = None,
) -> int:
    """Prints the decision; returns 0 when its output is a model's or a reviewer's, else 1.

    Then the spec's default stands, or there is no output, under a spec that says `raise`. Without a writer the entry
    waits in the spool; beside a host that holds the home the call fails closed. The same `call_id` again gives the
    same decision.

    Raises:
        SpecError, UsageError: the spec or the input cannot be used; nothing was called.
        NoDecisionError: there is no output; as JSON it is a document like any other.
        ConfigurationError: calls cannot be made on this home.
    """
    values = _input(raw_input)
    async with AsyncExitStack() as resources:
        desk = open_desk(settings, environ, resources)
        options = open_calls(settings, desk, resources)
        spec = load_spec(spec_file, options.provider.identity if options.provider else None)
        options = calls_of_model(settings, options, spec.model_identity, resources)
        try:
            await desk.link.connect()
        except WriterUnavailableError as error:
            sys.stderr.write(f"{error}\n")
        try:
            decision = await run_constrained_ai(spec, values, replace(options, call_id=call_id))
        except NoDecisionError as error:
            if not as_json:
                raise
            decision = error.decision
    sys.stdout.write((json.dumps(asdict(decision), ensure_ascii=False) if as_json else _text(decision)) + "\n")
    return 0 if decision.is_models else 1


def _input(raw: str) -> Values:
    try:
        values = parse_output(raw)
    except OutputError as error:
        raise UsageError(f"The input cannot be used: {str(error).replace('output', 'input')}.") from error
    if not isinstance(values, Mapping):
        raise UsageError("The input must be a JSON object with the fields of the spec's input_schema.")
    return values


def _text(decision: Decision) -> str:
    signed = "unsigned, queued" if decision.entry_id is None else f"decision {decision.entry_id} signed"
    lines = [json.dumps(decision.output, ensure_ascii=False), f"{decision.exit_state} | {decision.call_id} | {signed}"]
    if decision.reason:
        lines.append(decision.reason + (" It waits for a review." if decision.awaits_review else ""))
    return printable("\n".join(lines))
