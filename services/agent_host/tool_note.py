"""The note that tells a later turn which tools an earlier one ran, and how an imitation of it is taken out. Pure.

A conversation is kept as text, so a turn that used tools leaves one bracketed line under its stored reply: a later turn
knows that it acted (agent.md row 9). Only this module writes such a line. A model that writes one itself claims a call
that nobody made, and its line goes before anybody sees or stores it (row 10).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable

from agent_host.providers.protocol import JsonValue
from agent_host.tracing.events import ToolCalled, TurnEvent
from agent_host.tracing.redaction import redact, redact_text

ARGUMENTS_CHARACTERS = 120
OUTPUT_CHARACTERS = 300
OLD_NOTE_CHARACTERS = 600
"""How much of a note goes into a later prompt."""

_OPENING = "[tools used: "
_NOTE = re.compile(r"^[ \t>*_`-]*" + re.escape(_OPENING) + r".*$\n?", re.MULTILINE)


def tool_note(events: Iterable[TurnEvent]) -> str:
    """Returns the note of a turn as one line, empty when its model called no tool; arguments are redacted as in traces.

    What the host looked up by itself is no act of the model, and not in it.
    """
    calls = [
        _called(event) for event in events if isinstance(event, ToolCalled) and not event.gated and not event.read_first
    ]
    return note_of(calls)


def note_of(calls: Iterable[str]) -> str:
    """Returns the note of calls that are `told` already, empty without any."""
    line = "; ".join(calls)
    return f"{_OPENING}{line}]" if line else ""


def with_note(reply: str, note: str) -> str:
    """Returns what is stored of a reply: its words, and the note on a line of its own."""
    return f"{reply}\n\n{note}" if note else reply


def without_notes(text: str) -> str:
    """Returns text without any line that is a note or imitates one: what a person is shown of a stored reply."""
    if _OPENING not in text:
        return text
    return _NOTE.sub("", text).rstrip()


def with_clipped_notes(text: str) -> str:
    """Returns a stored reply for a prompt: each note cut to `OLD_NOTE_CHARACTERS`."""

    def clipped(match: re.Match[str]) -> str:
        line, end = match[0].rstrip("\n"), "\n" if match[0].endswith("\n") else ""
        return (line if len(line) <= OLD_NOTE_CHARACTERS else f"{line[: OLD_NOTE_CHARACTERS - 2]}…]") + end

    return _NOTE.sub(clipped, text) if _OPENING in text else text


class NoteFilter:
    """Passes streamed text on without lines that imitate a note; holds back no more than a line that may become one."""

    def __init__(self, pass_on: Callable[[str], None]) -> None:
        self._pass_on = pass_on
        self._line = ""  # the line so far, as far as it was held back
        self._is_free = False  # whether the line can no longer become a note

    def feed(self, text: str) -> None:
        """Takes the next piece of the stream."""
        for piece in text.splitlines(keepends=True):
            self._take(piece)

    def end(self) -> None:
        """Passes on what was held back and did not become a note; the stream is over."""
        if self._line and not _NOTE.match(self._line):
            self._pass_on(self._line)
        self._line, self._is_free = "", False

    def _take(self, piece: str) -> None:
        ends = piece.endswith("\n")
        if self._is_free:
            self._pass_on(piece)
        else:
            self._line += piece
            if not ends and _may_be_note(self._line):
                return
            if not _NOTE.match(self._line):
                self._pass_on(self._line)
            self._line = ""
        self._is_free = not ends


def _may_be_note(line: str) -> bool:
    plain = line.lstrip(" \t>*_`-")
    return _OPENING.startswith(plain) or plain.startswith(_OPENING)


def told(name: str, arguments: JsonValue, output: str, *, failed: bool) -> str:
    """Returns one call as a note has it; arguments and output are without secrets already."""
    shown = json.dumps(arguments, ensure_ascii=False, default=str)
    came = _one_line(output or "no output", OUTPUT_CHARACTERS)
    return f"{name} {_one_line(shown, ARGUMENTS_CHARACTERS)} -> {'failed: ' * failed}{came}"


def _called(event: ToolCalled) -> str:
    outcome = event.outcome
    return told(event.name, redact(event.arguments), redact_text(outcome.content), failed=outcome.is_error)


def _one_line(text: str, characters: int) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= characters else f"{plain[: characters - 1]}…"
