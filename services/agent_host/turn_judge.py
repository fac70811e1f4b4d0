"""A model's marks for a finished turn: one constrained call on demand, under `turn-judge` (agent.md row 93).

The judge sees a bounded part of the turn's trace and gives two marks out of ten; the lower one is the turn's score. It
may be the agent's own model, and then the score says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from agent_host.constrained.call import run_constrained_ai
from agent_host.constrained.options import CallOptions
from agent_host.constrained.specs import shipped_spec
from agent_host.identifiers import new_judge_id
from agent_host.providers.protocol import Identity, JsonValue, Usage
from agent_host.tracing.events import ModelCalled, TurnEvent, TurnScored
from agent_host.tracing.traced_turn import TracedTurn

NAME: Final = "turn-judge"
PASS_PERMILLE: Final = 700
REST: Final = timedelta(seconds=60)
"""How long a turn that was judged is not judged again."""
MESSAGE_CHARACTERS: Final = 2_000
REPLY_CHARACTERS: Final = 4_000
OUTPUT_CHARACTERS: Final = 800
OUTPUTS_CHARACTERS: Final = 6_000
OUTPUT_TOKENS: Final = 300
_CHARACTERS_A_TOKEN: Final = 4
_PROMPT_TOKENS: Final = 400  # the spec's own words and its schema
_TENTH_PERMILLE: Final = 100


@dataclass(frozen=True)
class Judgement:
    """What a judge said: two marks from 0 to 10 and why; its cost is None when no price is known."""

    addresses_question: int
    grounded: int
    note: str
    judge: Identity
    by_itself: bool  # the judge is the model that answered
    cost_micro_usd: int | None

    @property
    def permille(self) -> int:
        """The turn's score in thousandths: the lower mark."""
        return min(self.addresses_question, self.grounded) * _TENTH_PERMILLE

    @property
    def has_passed(self) -> bool:
        """Whether the score is 0.7 or more."""
        return self.permille >= PASS_PERMILLE

    def as_event(self) -> TurnScored:
        """Returns the event that the trace keeps."""
        whose = " The judge is the model that answered." if self.by_itself else ""
        marks = f"addresses_question {self.addresses_question}, grounded {self.grounded}."
        return TurnScored(
            source="judge",
            name=NAME,
            value_permille=self.permille,
            note=f"{marks} {self.note}{whose}",
            judge=self.judge,
            cost_micro_usd=self.cost_micro_usd,
        )


def judged_values(turn: TracedTurn) -> dict[str, JsonValue]:
    """Returns what a judge sees of a turn, within the bounds above."""
    return {
        "message": turn.message[:MESSAGE_CHARACTERS],
        "reply": turn.reply[:REPLY_CHARACTERS],
        "tools": "\n".join(_outputs(turn))[:OUTPUTS_CHARACTERS] or "(no tool was called)",
    }


def estimated_usage(values: Mapping[str, JsonValue]) -> Usage:
    """Returns about how many tokens judging costs: the most there can be out, four characters a token in."""
    characters = sum(len(str(value)) for value in values.values())
    return Usage(_PROMPT_TOKENS + characters // _CHARACTERS_A_TOKEN, OUTPUT_TOKENS)


def rests_until(turn: TracedTurn) -> datetime | None:
    """Returns until when the turn is not to be judged again; None when it was not judged yet."""
    times = [row.at for row in turn.later if row.kind == "score" and row.members.get("source") == "judge" and row.at]
    return max(times) + REST if times else None


async def judge(turn: TracedTurn, options: CallOptions) -> Judgement | None:
    """Asks the provider of `options` for its marks; None when it gave none, and the turn stays not judged.

    The call leaves one L12 entry outside any turn, and one usage row under an id of its own.

    Raises:
        CallError: `options` has no provider.
    """
    provider = options.provider
    identity = provider.identity if provider else Identity("offline", "none", "1")
    seen: list[TurnEvent] = []
    meter, judge_id = options.meter, new_judge_id()
    decision = await run_constrained_ai(
        shipped_spec(NAME, identity),
        judged_values(turn),
        replace(options, kind="judge", turn_id=None, emit=seen.append, meter=lambda event, _: meter(event, judge_id)),
    )
    output = decision.output
    if not decision.is_models or not isinstance(output, Mapping) or output["verdict"] != "judged":
        return None
    costs = [event.cost_micro_usd for event in seen if isinstance(event, ModelCalled)]
    return Judgement(
        addresses_question=_mark(output, "addresses_question"),
        grounded=_mark(output, "grounded"),
        note=str(output["note"]),
        judge=identity,
        by_itself=any((call.provider, call.model) == (identity.provider, identity.model) for call in turn.calls),
        cost_micro_usd=costs[0] if costs else None,
    )


def _mark(output: Mapping[str, JsonValue], name: str) -> int:
    value = output[name]
    return value if isinstance(value, int) else 0


def _outputs(turn: TracedTurn) -> Iterator[str]:
    for tool in turn.tools:
        how = "" if tool.ok else " (failed)"
        yield f"{tool.tool}{how}: {tool.output[:OUTPUT_CHARACTERS]}"
