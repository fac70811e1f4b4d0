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
_BLANKS = " \t\r\u00a0\u2007\u202f\u200b\u200c\u200d\u2060\ufeff"
_GAP = f"[{_BLANKS}]{{0,9}}"
_IMITATED = re.compile(rf"[\[(]{_GAP}tools?{_GAP}used{_GAP}:", re.IGNORECASE)
_FORMS = ("[toolsused:", "[toolused:", "(toolsused:", "(toolused:")
_LONGEST_OPENING = 60
_CALLS = re.compile(r"->|=>|\u2192|\w_\w")
_DECORATION = re.compile(rf"(?:[{_BLANKS}>*_`#+-]|\d{{1,3}}[.)])*")
_UNFINISHED = re.compile(_DECORATION.pattern + r"\d{0,3}")
_BRACKET = re.compile(r"[\[(]")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


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
    """Returns text without any note, and without what imitates one: what a person is shown of a stored reply."""
    if not _IMITATED.search(text):
        return text
    lines = (_without_note(line, has_begun=False) for line in _LINE.findall(text))
    kept = "".join(line for line in lines if line is not None)
    return text if kept == text else kept.rstrip()


def with_clipped_notes(text: str) -> str:
    """Returns a stored reply for a prompt: each note cut to `OLD_NOTE_CHARACTERS`."""

    def clipped(match: re.Match[str]) -> str:
        line, end = match[0].rstrip("\n"), "\n" if match[0].endswith("\n") else ""
        return (line if len(line) <= OLD_NOTE_CHARACTERS else f"{line[: OLD_NOTE_CHARACTERS - 2]}…]") + end

    return _NOTE.sub(clipped, text) if _OPENING in text else text


class NoteFilter:
    """Passes streamed text on without what imitates a note; holds back no more than the end of a line."""

    def __init__(self, pass_on: Callable[[str], None]) -> None:
        self._pass_on = pass_on
        self._held = ""  # the end of the line so far
        self._has_begun = False  # whether the line's beginning was passed on

    def feed(self, text: str) -> None:
        """Takes the next piece of the stream."""
        for piece in _LINE.findall(text):
            self._held += piece
            if piece.endswith("\n"):
                self.end()
            elif free := _free_length(self._held, has_begun=self._has_begun):
                self._pass_on(self._held[:free])
                self._held, self._has_begun = self._held[free:], True

    def end(self) -> None:
        """Passes on what was held back and is no note; the line, or the stream, is over."""
        if kept := _without_note(self._held, has_begun=self._has_begun):
            self._pass_on(kept)
        self._held, self._has_begun = "", False


def _without_note(line: str, *, has_begun: bool) -> str | None:
    """Returns a line without the notes in it, None when nothing else was there.

    A line that is a note as this module writes one goes to its end, since what tools said may hold any bracket. Else a
    note ends where its bracket does, and must look as if it told of calls: a person may well write "(tools used: …)".
    """
    body, end_of_line = (line[:-1], "\n") if line.endswith("\n") else (line, "")
    kept, place, looked = "", 0, 0
    for match in _IMITATED.finditer(body):
        if match.start() < looked:
            continue  # within one that tells of no call, and so does none in it
        before, looked = body[place : match.start()], _closed(body, match.start())
        at_start = not has_begun and bool(_DECORATION.fullmatch(kept + before))
        exact = at_start and match[0].startswith(_OPENING.rstrip())
        if not exact and not _CALLS.search(body[match.end() : looked]):
            continue
        kept += before if at_start else before.rstrip(_BLANKS)
        place = looked = len(body) if exact and body.rstrip().endswith("]") else looked
        if at_start:
            place += len(body[place:]) - len(body[place:].lstrip(_BLANKS))
    if place == 0:
        return line
    kept += "" if _DECORATION.fullmatch(body[place:]) else body[place:]
    return None if not has_begun and _DECORATION.fullmatch(kept) else kept + end_of_line


def _closed(line: str, start: int) -> int:
    """Returns where the bracket that opens at `start` is closed, else the end of the line."""
    opening, closing = line[start], "])"[line[start] == "("]
    depth = 0
    for place in range(start, len(line)):
        depth += (line[place] == opening) - (line[place] == closing)
        if depth == 0:
            return place + 1
    return len(line)


def _free_length(line: str, *, has_begun: bool) -> int:
    """Returns how much of an unfinished line can be part of no note, whatever comes after it."""
    free = len(line)
    for bracket in _BRACKET.finditer(line):
        plain = "".join(
            char for char in line[bracket.start() : bracket.start() + _LONGEST_OPENING] if char not in _BLANKS
        )
        if any(form.startswith(plain.lower()) or plain.lower().startswith(form) for form in _FORMS):
            free = bracket.start()
            break
    free = len(line[:free].rstrip(_BLANKS))
    return 0 if not has_begun and _UNFINISHED.fullmatch(line[:free]) else free


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
