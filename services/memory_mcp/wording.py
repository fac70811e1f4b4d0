"""What the tools say in words, for clients that show text and for models that read it. Pure."""

from __future__ import annotations

from memory_mcp.answers import (
    Entry,
    ForgetAnswer,
    GetAnswer,
    ListAnswer,
    RecallAnswer,
    RememberAnswer,
    SearchAnswer,
    Whole,
)

NOTHING_FOUND = "No memory is about this."


def remember_text(answer: RememberAnswer) -> str:
    """Says what was stored or was known already, what it replaced, and what is close."""
    memory = answer.memory
    known = "Already known" if answer.deduped else "Remembered"
    sentences = [f"{known} as {memory.id} ({memory.kind}, {memory.scope})."]
    if memory.status:  # a write that was sent again under its idempotency_key
        sentences = [f"Remembered before as {memory.id}, which is {memory.status} since: no search finds it as it is."]
    if answer.kept:
        what = ", ".join(answer.kept)
        sentences.append(
            f"It keeps its own {what}, not what was sent; memory_update changes wording, subject and tags."
        )
    if answer.superseded:
        sentences.append(f"It supersedes {', '.join(answer.superseded)}.")
    if answer.similar:
        relation = "May conflict with" if answer.similar.conflicts else "Close to"
        sentences.append(f"{relation} {answer.similar.id}: {answer.similar.snippet}")
    if answer.time_zone_assumed:
        sentences.append(f"happened_at had no offset and was read in {answer.time_zone_assumed}.")
    return " ".join(sentences)


def search_text(answer: SearchAnswer) -> str:
    """Lists the hits, best first."""
    if not answer.entries:
        return f"{NOTHING_FOUND} (searched: {answer.scope_effective})"
    return _lines(answer.entries, answer.next_cursor)


def list_text(answer: ListAnswer) -> str:
    """Lists the memories, newest first."""
    return _lines(answer.entries, answer.next_cursor) if answer.entries else "Nothing is remembered here."


def get_text(answer: GetAnswer) -> str:
    """Gives the memory whole: a line about it, then its text."""
    memory = answer.memory
    about = [
        memory.kind,
        memory.scope,
        memory.status,
        f"from {memory.origin}",
        (memory.happened_at or memory.created_at),
    ]
    if memory.superseded_by:
        about.append(f"superseded by {memory.superseded_by}")
    if memory.supersedes:
        about.append(f"supersedes {', '.join(memory.supersedes)}")
    if memory.forgotten_by:
        about.append(f"by {memory.forgotten_by}")
    if memory.report:
        about.append("report")
    if memory.untrusted:
        about.append(f"untrusted, source {memory.source_url}" if memory.source_url else f"untrusted, {memory.trust}")
    heading = f"{memory.id} ({', '.join(about)})"
    subject = [memory.subject] if memory.subject else []
    rest = [f"(more: start={memory.body_next})"] if memory.body_next is not None else []
    return "\n".join([heading, *subject, memory.body or _no_text(memory), *rest])


def _no_text(memory: Whole) -> str:
    """Says why an answer has no text: it was erased, or it is shorter than the place that was asked for."""
    return f"(the text ends before character {memory.body_start})" if memory.body_start else "(the text was erased)"


def recall_text(answer: RecallAnswer) -> str:
    """Gives the block."""
    if not answer.block:
        return NOTHING_FOUND
    return answer.block + (f"\n({answer.omitted} more did not fit)" if answer.omitted else "")


def forget_text(answer: ForgetAnswer) -> str:
    """Says what was forgotten or erased, and where the text may still be."""
    if not answer.erased:
        again = "was already forgotten" if answer.already_forgotten else "is forgotten"
        return f"{answer.id} {again}; searches do not find it, memory_get still shows it."
    kept = "Its id, hash, times, scope and origin stay, and the keys of its conversation and of the write that made it"
    remains = f"{kept}; the text may still be in {', '.join(answer.remains)}." if answer.remains else f"{kept}."
    return f"{answer.id} is erased from the store. {remains}"


def _lines(entries: list[Entry], next_cursor: str | None) -> str:
    lines = [f"{number}. {_line(entry)}" for number, entry in enumerate(entries, start=1)]
    return "\n".join([*lines, f"(more: cursor={next_cursor})"] if next_cursor else lines)


def _line(entry: Entry) -> str:
    date = (entry.happened_at or entry.created_at)[:10]
    marks = "".join(
        f", {mark}"
        for mark in (entry.status, "report" if entry.report else None, "untrusted" if entry.untrusted else None)
        if mark
    )
    subject = f"{entry.subject}: " if entry.subject else ""
    return f"{date} {subject}{entry.snippet} ({entry.id}, {entry.kind}, {entry.scope}{marks})"
