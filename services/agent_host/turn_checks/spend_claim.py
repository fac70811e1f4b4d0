"""`spend_claim`: what a reply says the turn cost is what its tools charged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from agent_host.tracing.traced_turn import TracedTool, TracedTurn
from agent_host.turn_checks.figures import Figure, figures_in
from agent_host.turn_checks.prose import any_of, names, plain, sentences
from agent_host.turn_checks.verdict import Finding, failed, not_applicable, passed

_MICRO: Final = 1_000_000
_CENT_MICRO: Final = 10_000
_PERCENT: Final = 20
_MODEL: Final = "model"

_LATER: Final = any_of(
    r"would|will|could|might|may|going to|each|per|every|if|unless|monthly|yearly|next time|from now on",
    r"an? (?:month|year|day|week|seat|user|call)",
    r"\w+'ll|[^ ]*/(?:mo|month|yr|year|call)",
    r"würden?|wird|werden|könnten?|pro|je|falls|wenn|jeweils",
)
_WORK: Final = (
    r"turn|run|research|report|session|answer|conversation|work|task|requests?|query|queries"
    r"|(?:web )?search(?:es)?|look-?ups?|(?:tool |api )?calls?"
)
_OWN: Final = any_of(
    rf"(?:this|the|these|those|that|both|all|my|\d+|one|two|three)(?: (?:\d+|two|three|whole|last))? (?:{_WORK})",
    r"(?:I|we)(?: have|'ve)?(?: only| just)? (?:spent|paid|used up)",
    r"you (?:were|have been) (?:charged|billed)",
    r"(?:cost|charged|billed) (?:me|us|you)",
    r"(?:it|this|that|they|which|everything|all of (?:it|this))(?: all)? cost",
    r"(?:total|overall) (?:cost|spend|spending|spent|charge|price)",
    r"(?:total |run |tool |overall )?(?:cost|spend|spent|charged) ?(?=:)",
    r"(?:spent|charged|paid|cost) .{0,40}(?:so far|in all|in total|altogether|on this)",
    r"(?:diese[rsn]?|die|der) (?:Suchen?|Anfragen?|Recherche|Aufrufe?|Bericht)",
    r"(?:hat|haben) (?:\w+ ){0,2}gekostet",
)
_PAST: Final = any_of(r"cost|spent|charged|billed|was|were|kostete|hat")
_SPEND: Final = any_of(
    r"costs?|spent|spend|spending|paid|charge[sd]?|billed|price|gekostet|kosten|kostete|ausgegeben|bezahlt"
)
_FREE: Final = any_of(
    r"(?:was|were|been|came|ran|is|are|all)(?: entirely| completely| all)? free(?: of charge)?"
    r"(?! (?:on|at|from|for|until|to|between|before|after))",
    r"(?:at |with |for )?no (?:extra )?(?:cost|charge)|without (?:any )?(?:cost|charge)|free of charge|zero cost",
    r"costs? (?:me |us |you )?nothing|nothing (?:was |has been )?(?:spent|charged|billed)|spent nothing",
    r"kostenlos|kostenfrei|nichts gekostet",
)
_DOLLARS: Final = re.compile(r"\$|¢|\b(?:USD|dollars?|cents?)\b", re.IGNORECASE)


@dataclass(frozen=True)
class _Claim:
    text: str
    micro_usd: frozenset[int]
    sentence: str


def spend_claim(turn: TracedTurn) -> Finding:
    """Compares every amount, "free" and "no cost" a reply states for its turn with what the tools charged.

    An amount is right within a cent or a fifth. One in a sentence that names a provider or a tool is checked against
    its own calls, any other against all tools, with or without the model. Prices of later calls are no claim.
    """
    claims = [claim for sentence in sentences(plain(turn.reply)) for claim in _claims(sentence, turn)]
    if not claims:
        return not_applicable("the reply states no cost of this turn")
    wrong = [(claim, _expected(claim.sentence, turn)) for claim in claims]
    wrong = [(claim, sums) for claim, sums in wrong if not _is_right(claim, sums)]
    if wrong:
        claim, sums = wrong[0]
        return failed(f"the reply says {claim.text}, and the trace {_dollars(sums[0])}")
    return passed(f"{len(claims)} stated, each as traced" if len(claims) > 1 else f"{claims[0].text}, as traced")


def _claims(sentence: str, turn: TracedTurn) -> Iterator[_Claim]:
    """Yields what a sentence says of this turn: by its words, or by naming who was called and what that cost."""
    own = _OWN.search(sentence) or (_PAST.search(sentence) and _named(sentence, turn))
    if _LATER.search(sentence) or not own:
        return
    if free := _FREE.search(sentence):
        yield _Claim(free.group().strip(), frozenset({0}), sentence)
    if _SPEND.search(sentence):
        for figure in figures_in(sentence).numbers:
            if amounts := _amounts(figure):
                yield _Claim(figure.text, amounts, sentence)


def _amounts(figure: Figure) -> frozenset[int]:
    """Returns what a figure may be in micro-dollars; nothing for one that is no dollars."""
    if not _DOLLARS.search(figure.text):
        return frozenset()
    in_cents = "cent" in figure.text.lower() or "¢" in figure.text
    readings = {min(figure.readings)} if in_cents else figure.readings
    return frozenset(int(reading * _MICRO) for reading in readings if reading < Decimal(_MICRO))


def _expected(sentence: str, turn: TracedTurn) -> list[int]:
    """Returns the sums that a claim of this sentence may mean, the likeliest first."""
    if named := _named(sentence, turn):
        return [_sum(named)]
    tools, models = _sum(turn.tools), sum(call.cost_micro_usd or 0 for call in turn.calls)
    if names(sentence, _MODEL):
        return [models, tools + models]
    return [tools, tools + models]


def _named(sentence: str, turn: TracedTurn) -> tuple[TracedTool, ...]:
    return tuple(tool for tool in turn.tools if any(names(sentence, name) for name in _names_of(tool)))


def _names_of(tool: TracedTool) -> Iterator[str]:
    yield from (name for name in (tool.tool, tool.provider, tool.endpoint_id) if name)


def _sum(tools: tuple[TracedTool, ...]) -> int:
    return sum(tool.cost_micro_usd or 0 for tool in tools)


def _is_right(claim: _Claim, sums: list[int]) -> bool:
    return any(
        abs(said - traced) <= max(_CENT_MICRO, traced * _PERCENT // 100) for said in claim.micro_usd for traced in sums
    )


def _dollars(micro_usd: int) -> str:
    return f"${micro_usd / _MICRO:.4f}".rstrip("0").removesuffix(".")
