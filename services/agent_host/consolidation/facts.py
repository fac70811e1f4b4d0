"""From a summariser's output to the memories of a batch. Pure (agent.md rows 31, 32, 34 and 36)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from agent_host.consolidation.batch import Batch
from agent_host.providers.protocol import JsonValue

COMPANY_SCOPE: Final = "project:Company brain"
GLOBAL_SCOPE: Final = "global"
REPORT_FACTS: Final = 2
"""The most facts that turns with a report leave."""
_NO_TEXT: Final = ("Cc", "Cs")
"""Unicode's categories of control characters and of halves of a character."""
_SEEN: Final = "LNS"
"""Of letters, digits and symbols: one of them makes a text; zero-width signs, accents and dots alone do not."""
_BLANK: Final = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and a symbol that are blanks by design."""

MemoryKind: TypeAlias = Literal["fact", "reference", "episode"]


@dataclass(frozen=True)
class Proposed:
    """One memory that a batch proposes. `happened_on` is an episode's day."""

    kind: MemoryKind
    subject: str
    content: str
    scope: str
    trust: Literal["agent", "web"]
    happened_on: str | None = None


def proposed_facts(output: JsonValue, batch: Batch) -> tuple[Proposed, ...]:
    """Returns the facts worth a further look: with subject and content, each once, by the rules for reports."""
    said = _member(output, "company_research")
    is_company = (said is True or said == "true") and not batch.reports
    found = _member(output, "facts")
    rows = [row for row in found if isinstance(row, Mapping)] if isinstance(found, list | tuple) else []
    pairs = dict.fromkeys((_line(row.get("subject")), _line(row.get("content"))) for row in rows)
    return tuple(
        Proposed(
            kind="reference" if is_company else "fact",
            subject=subject,
            content=content,
            scope=COMPANY_SCOPE if is_company else GLOBAL_SCOPE,
            trust=_trust(batch),
        )
        for subject, content in pairs
        if subject and content and not any(_names(report, subject) for report in batch.reports)
    )


def episode(output: JsonValue, batch: Batch, day: str) -> tuple[Proposed, ...]:
    """Returns the batch's one dated episode, none when nothing happened."""
    told = _line(_member(output, "episode"))
    return (Proposed("episode", "", told, GLOBAL_SCOPE, _trust(batch), day),) if told else ()


def without(facts: Sequence[Proposed], dropped: JsonValue) -> tuple[Proposed, ...]:
    """Returns the facts whose numbers, counted from 1, are not in an output's `dropped`."""
    numbers = _member(dropped, "dropped")
    gone: Collection[JsonValue] = numbers if isinstance(numbers, list | tuple) else ()
    return tuple(fact for number, fact in enumerate(facts, start=1) if number not in gone)


def capped(facts: tuple[Proposed, ...], batch: Batch) -> tuple[Proposed, ...]:
    """Returns at most `REPORT_FACTS` facts of turns with a report, all facts of others."""
    return facts[:REPORT_FACTS] if batch.reports else facts


def _names(report: str, subject: str) -> bool:
    """Tells whether a report names a subject, as whole words in any case."""
    words = r"\s+".join(re.escape(word) for word in subject.split())
    return re.search(rf"(?<!\w){words}(?!\w)", report, re.IGNORECASE) is not None


def _trust(batch: Batch) -> Literal["agent", "web"]:
    """What was said while words from outside were read is not the person's alone: it stays marked as such."""
    return "web" if batch.outside else "agent"


def _member(value: JsonValue, name: str) -> JsonValue:
    return value.get(name) if isinstance(value, Mapping) else None


def _line(value: JsonValue) -> str:
    """Returns a text on one line without control characters; nothing when there is nothing in it to see."""
    text = "".join(" " if unicodedata.category(letter) in _NO_TEXT else letter for letter in str(value))
    seen = isinstance(value, str) and any(
        unicodedata.category(letter)[0] in _SEEN and letter not in _BLANK for letter in text
    )
    return " ".join(text.split()) if seen else ""
