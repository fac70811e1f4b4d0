"""`agent-host judge`: asks a model for its marks of one finished turn, once the person knows about what that costs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from datetime import datetime

from agent_host.app import open_calls, open_desk
from agent_host.errors import UsageError, WriterUnavailableError
from agent_host.gateways.screen import printable
from agent_host.gateways.turns import find_turn, trace_folder
from agent_host.providers.protocol import Identity
from agent_host.receipts.line import dollars
from agent_host.settings import host_settings
from agent_host.tracing.jsonl import TraceFile
from agent_host.tracing.lines import trace_line
from agent_host.tracing.traced_turn import TracedTurn
from agent_host.turn_judge import Judgement, estimated_usage, judge, judged_values, rests_until
from service_runtime.settings import Settings


async def judge_turn(
    settings: Settings,
    environ: Mapping[str, str],
    turn_id: str,
    *,
    agreed: Callable[[str], bool],
    as_json: bool,
) -> int:
    """Prints the marks and keeps them as a `score` line; returns 0 for 0.7 or more, 1 for less or no marks.

    `agreed` is asked with a sentence that has the estimate, and nothing is called unless it says yes.

    Raises:
        UsageError: there is no such turn, it has not ended or was judged a moment ago, or only rules could judge it.
        ConfigurationError: calls cannot be made on this home.
        BudgetSpentError: the day has cost what it may; no model was asked.
    """
    found = find_turn(trace_folder(settings), turn_id)
    now = datetime.now(settings.zone())
    _check(found, host_settings(settings).provider, now)
    async with AsyncExitStack() as resources:
        desk = open_desk(settings, environ, resources)
        options = open_calls(settings, desk, resources)
        options.may_ask()
        identity = options.provider.identity if options.provider else None
        usage = estimated_usage(judged_values(found))
        if not agreed(_estimate(identity, options.cost(usage), usage.input_tokens, usage.output_tokens)):
            return 1
        try:
            await desk.link.connect()
        except WriterUnavailableError as error:
            sys.stderr.write(f"{error}\n")
        marks = await judge(found, options)
    if marks is not None:
        now = datetime.now(settings.zone())
        line = trace_line(marks.as_event(), turn_id, int(now.timestamp() * 1000))
        TraceFile(settings.home.folder("host/traces"), now).write(line or b"")
    sys.stdout.write((json.dumps(_document(turn_id, marks)) if as_json else printable(_text(marks))) + "\n")
    return 0 if marks is not None and marks.has_passed else 1


def _check(turn: TracedTurn, provider: str, now: datetime) -> None:
    if not turn.has_ended:
        raise UsageError(f"The turn {turn.turn_id} has not ended; there is no reply to judge.")
    if provider == "offline":
        raise UsageError("The offline rules are no judge; set PROMETHEUS_PROVIDER and a model, then ask again.")
    rest = rests_until(turn)
    if rest is not None and now < rest:
        left = int((rest - now).total_seconds()) + 1
        raise UsageError(f"The turn {turn.turn_id} was judged a moment ago; ask again in {left} s.")


def _estimate(identity: Identity | None, cost_micro_usd: int | None, tokens_in: int, tokens_out: int) -> str:
    price = f"about {dollars(cost_micro_usd)} est" if cost_micro_usd is not None else "no price known"
    who = f"{identity.model} by {identity.provider}" if identity else "a model"
    return f"{who} would judge this turn: about {tokens_in} tokens in, at most {tokens_out} out, {price}."


def _document(turn_id: str, marks: Judgement | None) -> dict[str, object]:
    if marks is None:
        return {"turn_id": turn_id, "verdict": "not-judged"}
    return {
        "turn_id": turn_id,
        "verdict": "pass" if marks.has_passed else "fail",
        "score": marks.permille / 1000,
        "addresses_question": marks.addresses_question,
        "grounded": marks.grounded,
        "note": marks.note,
        "judge": f"{marks.judge.provider}/{marks.judge.model}",
        "judge_is_the_agents_model": marks.by_itself,
        "cost_micro_usd": marks.cost_micro_usd,
    }


def _text(marks: Judgement | None) -> str:
    if marks is None:
        return "Not judged: the model gave no marks that could be used; nothing was kept."
    price = "no price known" if marks.cost_micro_usd is None else f"{dollars(marks.cost_micro_usd)} est"
    own = ", the model that answered" if marks.by_itself else ""
    verdict = "pass" if marks.has_passed else "FAIL"
    return (
        f"{verdict} {marks.permille / 1000:.1f} | addresses_question {marks.addresses_question}, "
        f"grounded {marks.grounded} | {marks.judge.model}{own} | {price}\n{marks.note}"
    )
