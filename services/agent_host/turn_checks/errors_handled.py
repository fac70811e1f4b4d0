"""`errors_handled`: a failed tool call was made good, or the reply says so."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent_host.tracing.traced_turn import TracedTool, TracedTurn
from agent_host.turn_checks.prose import any_of, names, plain
from agent_host.turn_checks.verdict import Finding, failed, not_applicable, passed

_LONG_ENOUGH = 5  # letters of a part of an endpoint's name that tells which it is
_NOTHING_FAILED = any_of(
    r"(?:no|without|zero|free of)(?: any| further| more)? (?:errors?|failures?|problems?|issues?)",
    r"(?:nothing|none of \w+|never)(?: has| have)? failed",
    r"(?:did|does|do|has|have)(?: not|n't) fail(?:ed)?",
    r"(?:keinen?|ohne) (?:Fehler|Probleme?)",
)
_SAYS_IT_FAILED = any_of(
    r"(?:could|can|did)(?: not|n't)|cannot",
    r"(?:was|were|am|are|is)(?: not|n't) (?:able|allowed|permitted|possible|available|reachable)",
    r"(?:was|were|is|are)(?: not|n't) (?:found|saved|stored|sent)",
    r"does(?: not|n't) (?:exist|work|respond|answer|allow)",
    r"unable to|fail(?:ed|s|ures?|ing)?|errors?|unsuccessful(?:ly)?|without success",
    r"(?:unavailable|unreachable|timed out|time-?out|went wrong|denied|refused|rejected|declined)",
    r"not (?:reachable|available|allowed|permitted|found|possible|working|saved|stored|sent)",
    r"no (?:answer|reply|response|access|permission|connection)",
    r"(?:had|ran into|hit|there (?:was|were))(?: an?| some)? (?:problem|issue|trouble)s?",
    r"(?:konnte\w*|kann|ließ sich) .{0,80}nicht|fehlgeschlagen|gescheitert|Fehler",
    r"nicht (?:erreichbar|möglich|gefunden|verfügbar|erlaubt)",
    r"n'ai pas pu|impossible|échou\w*|erreur|introuvable|indisponible",
    r"no (?:pude|pudo|se pudo|se ha podido|está disponible)|falló|imposible",
)


def errors_handled(turn: TracedTurn) -> Finding:
    """Looks at each failed call: a later success of the same tool, or words about it in the reply, handle it.

    What the host looked up by itself before it asked a model is left out: the model never knew of it, and the host
    says by a notice of its own what could not be reached.
    """
    wrong = [(at, tool) for at, tool in enumerate(turn.tools) if tool.ok is False and not tool.by_host]
    if not wrong:
        return not_applicable("no call failed")
    reply = _NOTHING_FAILED.sub(" ", plain(turn.reply))
    if _SAYS_IT_FAILED.search(reply):
        return passed("the reply says that something failed")
    open_ones = [
        tool.tool
        for at, tool in wrong
        if not _made_good(tool, turn.tools[at + 1 :]) and not any(names(reply, name) for name in _names_of(tool))
    ]
    if open_ones:
        return failed(f"{', '.join(dict.fromkeys(open_ones))} failed and the reply does not say so")
    return passed("each failed call was made again with success, or is named in the reply")


def _made_good(tool: TracedTool, later: tuple[TracedTool, ...]) -> bool:
    return any(one.tool == tool.tool and one.ok for one in later)


def _names_of(tool: TracedTool) -> Iterator[str]:
    """Yields what a reply may call the call by: the tool, who provided it, the telling parts of its endpoint."""
    yield from (name for name in (tool.tool, tool.provider, tool.endpoint_id) if name)
    yield from (part for part in re.split(r"[_.:-]+", tool.endpoint_id) if len(part) >= _LONG_ENOUGH)
