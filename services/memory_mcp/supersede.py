"""When one memory is close to another, and when it looks like its replacement. Pure: it proposes, nothing is merged."""

from __future__ import annotations

from collections.abc import Iterable

from memory_mcp.model import Content, Memory, Similar
from memory_mcp.normal_form import normalised
from memory_mcp.terms import content_terms

CLOSE = 0.6
"""Shared part of the content words (Dice) from which two memories of one scope are close."""
CLOSE_WITH_SUBJECT = 0.5
"""The same when both have the same subject, as others have: then the bodies are about one thing and conflict."""


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Returns the shared part of the content words of two texts (Dice coefficient, 0 to 1)."""
    both = len(one) + len(other)
    return 2 * len(one & other) / both if both else 0.0


def closest(content: Content, others: Iterable[Memory]) -> Similar | None:
    """Returns the closest of the other memories when it is close enough to be worth a look, else none.

    The only other memory of a subject is close whatever its words: "She likes tea" and "Prefers coffee now" share none.
    A subject with several memories is a collection, in which a new one mostly adds to the others.
    """
    terms = content_terms(content.body)
    others = list(others)
    alone = sum(_same_subject(content, memory.content) for memory in others) == 1
    best: Similar | None = None
    for memory in others:
        like = likeness(terms, content_terms(memory.content.body))
        same_subject = _same_subject(content, memory.content)
        if like < ((0 if alone else CLOSE_WITH_SUBJECT) if same_subject else CLOSE):
            continue
        if best is None or (same_subject, like) > (best.conflicts, best.likeness):
            best = Similar(memory, round(like, 3), conflicts=same_subject)
    return best


def _same_subject(one: Content, other: Content) -> bool:
    return bool(one.subject and other.subject) and normalised(one.subject or "") == normalised(other.subject or "")
