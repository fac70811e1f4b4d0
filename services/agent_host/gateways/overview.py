"""Sessions and memories as lines for a person. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

from agent_host.chat_log import Found, SessionSummary
from agent_host.errors import UsageError
from agent_host.gates.hits import Hit
from agent_host.gateways.screen import one_line, table
from agent_host.memory_overview import MemoryOverview
from agent_host.tool_note import without_notes

SHOWN_SESSIONS = 15
RECAP_CHARACTERS = 300


def sessions_text(sessions: Sequence[SessionSummary], zone: tzinfo) -> str:
    """Returns the sessions as numbered lines, newest first."""
    if not sessions:
        return "There are no sessions yet."
    return table([(str(number), _session(one, zone)) for number, one in enumerate(sessions, start=1)])


def chosen(sessions: Sequence[SessionSummary], told: str) -> SessionSummary:
    """Returns the session that a person named, by its number in the list or by its id.

    Raises:
        UsageError: there is none.
    """
    if not sessions:
        raise UsageError("There is no session on this home yet, so that none can be named; say something first.")
    if told.isascii() and told.isdigit():
        if 1 <= int(told) <= len(sessions):
            return sessions[int(told) - 1]
        raise UsageError(f"There is no session number {told[:10]}; /sessions lists them.")
    found = next((one for one in sessions if one.session_id == told), None)
    if found is None:
        raise UsageError(f"There is no session {told[:40]!r}; /sessions lists them, and /resume takes their numbers.")
    return found


def found_text(found: Sequence[Found], zone: tzinfo) -> str:
    """Returns what a search found, newest first."""
    if not found:
        return "Nothing that was said here holds all of these words."
    return "\n".join(f"{day_and_time(one.created_at_ms, zone)}  {one.session_id}  {one.excerpt}" for one in found)


def resumed_text(session: SessionSummary) -> str:
    """Says which session goes on."""
    return f"Going on with “{session.title}” ({_turns(session)})."


def recap(rows: Sequence[tuple[str, str]]) -> str:
    """Returns the last message of a session and its reply, each on a line and cut, under a line break; or nothing."""
    marks = {"user": "you > ", "assistant": ""}
    lines = [f"{marks[role]}{one_line(without_notes(content), RECAP_CHARACTERS)}" for role, content in rows[-2:]]
    return "".join(f"\n{line}" for line in lines)


def memory_text(memory: MemoryOverview) -> str:
    """Returns what is remembered and what waits, as lines."""
    waiting = f"{memory.open_rows} rows of the conversation are not consolidated yet."
    if memory.problem:
        return f"{memory.problem}\n{waiting}"
    facts = [_memory(hit) for hit in memory.facts] or ["(none)"]
    episodes = [_memory(hit) for hit in memory.episodes] or ["(none)"]
    return "\n".join(("Newest facts", *facts, "Newest episodes", *episodes, waiting))


def day_and_time(at_ms: int, zone: tzinfo) -> str:
    """Returns a time as a person of a zone reads it in a list."""
    return datetime.fromtimestamp(at_ms / 1000, tz=UTC).astimezone(zone).strftime("%Y-%m-%d %H:%M")


def _session(one: SessionSummary, zone: tzinfo) -> str:
    return f"{day_and_time(one.last_at_ms, zone)}  {one.title}  ({_turns(one)}, {one.session_id})"


def _turns(one: SessionSummary) -> str:
    return "1 turn" if one.turns == 1 else f"{one.turns} turns"


def _memory(hit: Hit) -> str:
    mark = " (untrusted)" if hit.untrusted else ""
    return f"  {hit.date or 'undated'}  {hit.text}{mark}"
