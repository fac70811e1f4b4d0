"""What a turn read, as it is kept with its reply for the consolidation. Pure.

A fact that only repeats what memory said is no news, what a report names is in the report, and what was said over
text from outside is not the person's word alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from agent_host.mcp_clients.permissions import OWN_STORES
from agent_host.providers.protocol import JsonValue
from agent_host.report_digest import report_in
from agent_host.tracing.events import ToolCalled, TurnEvent
from agent_host.tracing.redaction import redact_text

READ_CHARACTERS: Final = 6_000
"""How much of what was read is kept with a turn, and shown to the summariser with a batch."""
REPORT_CHARACTERS: Final = 30_000
"""How much of a report is kept to look names up in; the report itself is with the memory."""
OWN_SERVERS: Final = OWN_STORES | {"local", ""}
"""Whose answers are the person's own things, the host's or (empty) no server's; others bring in words from outside."""
_TEXTS: Final = ("snippet", "body", "block")
_MARKS: Final = ("<<", ">>")


def what_was_read(events: Iterable[TurnEvent], reply: str) -> dict[str, JsonValue]:
    """Returns what a consolidation needs of a turn: what it read, its report, whose words it heard."""
    events = tuple(events)
    calls = [event for event in events if isinstance(event, ToolCalled)]
    memory = [
        call.outcome.structured for call in calls if call.outcome.server == "memory" and not call.outcome.is_error
    ]
    meta: dict[str, JsonValue] = {}
    if read := bounded(redact_text(text) for answer in memory for text in _texts(answer)):
        meta["read"] = list(read)
    if report := _report(calls, reply):
        meta["report"] = report[:REPORT_CHARACTERS]
    if heard_outside(events):
        meta["outside"] = True
    return meta


def heard_outside(events: Iterable[TurnEvent]) -> bool:
    """Tells whether a turn has read words of somebody else than the person, such as a web page's."""
    calls = [event.outcome for event in events if isinstance(event, ToolCalled)]
    outcomes = [call for call in calls if call.permission is None or call.permission.granted]  # else nothing came in
    return any(
        outcome.outside
        or outcome.server not in OWN_SERVERS
        or (outcome.server == "memory" and not outcome.is_error and _is_untrusted(outcome.structured))
        for outcome in outcomes
    )


def bounded(texts: Iterable[str]) -> tuple[str, ...]:
    """Returns texts, each once, that have `READ_CHARACTERS` in all; the last one may be cut."""
    kept: list[str] = []
    left = READ_CHARACTERS
    for text in dict.fromkeys(texts):
        if left <= 0:
            break
        kept.append(text[:left])
        left -= len(text)
    return tuple(text for text in kept if text)


def _texts(value: JsonValue) -> Iterator[str]:
    """Gives the texts of memories in an answer, at any depth."""
    if isinstance(value, Mapping):
        for name, member in value.items():
            if name in _TEXTS and isinstance(member, str):
                yield _plain(member)
            else:
                yield from _texts(member)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _texts(item)


def _plain(text: str) -> str:
    for mark in _MARKS:
        text = text.replace(mark, "")
    return text.strip()


def _report(calls: Sequence[ToolCalled], reply: str) -> str | None:
    """Returns the report a turn wrote, be it in its reply or in what it sent to a tool."""
    sent = (value for call in calls for value in call.arguments.values() if isinstance(value, str))
    return next((report for text in (reply, *sent) if (report := report_in(text))), None)


def _is_untrusted(value: JsonValue) -> bool:
    if isinstance(value, Mapping):
        return value.get("untrusted") is True or any(_is_untrusted(member) for member in value.values())
    return isinstance(value, Sequence) and not isinstance(value, str) and any(_is_untrusted(item) for item in value)
