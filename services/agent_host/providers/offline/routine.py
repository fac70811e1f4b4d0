"""Routines: what the planner does step by step, written as one function that waits for the results of its calls.

A routine is a generator: it yields the calls it wants made at once, receives their outcomes, and returns the reply.
Nothing of it is kept between model calls: it is run again from the start with the results the conversation holds.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Protocol, TypeAlias, TypeVar
from zoneinfo import ZoneInfo

from agent_host.providers.protocol import JsonValue


@dataclass(frozen=True)
class Call:
    """One tool call the planner wants made, by the tool's model-facing name."""

    tool: str
    arguments: Mapping[str, JsonValue]


@dataclass(frozen=True)
class Outcome:
    """What a call came to. `data` is `content` read as JSON, or None when it is plain text."""

    content: str
    data: JsonValue
    is_error: bool


Calls: TypeAlias = tuple[Call, ...]
Outcomes: TypeAlias = tuple[Outcome, ...]
Routine: TypeAlias = Generator[Calls, Outcomes, str]

_Thing = TypeVar("_Thing")

UNANSWERED = Outcome("the call was not answered", None, is_error=True)


@dataclass(frozen=True)
class Scene:
    """What a routine may depend on besides the person's words. `now` is aware, in `zone`.

    `choice` answers "Which one?": a position from 1, -1 for the last, 0 for all of them; None when nothing was chosen.
    `agreed` is the yes to "Shall I …?". `touched` is the event, as its tool returned it, that "it" means.
    """

    tools: frozenset[str]
    now: datetime
    zone: ZoneInfo
    choice: int | None = None
    agreed: bool = False
    touched: Mapping[str, JsonValue] | None = None

    @property
    def today(self) -> date:
        """The day it is where the person is."""
        return self.now.astimezone(self.zone).date()


class Request(Protocol):
    """Something a person asked for, understood."""

    def run(self, scene: Scene, /) -> Routine:
        """Does it."""
        ...


@dataclass(frozen=True)
class Say:
    """A reply that needs no tool."""

    text: str

    def run(self, _scene: Scene) -> Routine:
        """Says it."""
        yield from ()
        return self.text


@dataclass(frozen=True)
class ToolStep:
    """The calls to make next."""

    calls: Calls


@dataclass(frozen=True)
class ReplyStep:
    """The reply that ends the turn."""

    text: str


Step: TypeAlias = ToolStep | ReplyStep


def choose(things: Sequence[_Thing], choice: int) -> list[_Thing]:
    """Returns what stands at a position from 1, the last for -1, all for 0, none for a position there is not."""
    if choice == 0:
        return list(things)
    index = choice - 1 if choice > 0 else len(things) + choice
    return list(things[index : index + 1]) if index >= 0 else []


def guarded(routine: Routine, tools: frozenset[str]) -> Routine:
    """Ends a routine with a plain sentence as soon as it asks for a tool that is not offered."""
    outcomes: Outcomes | None = None
    while True:
        try:
            calls = next(routine) if outcomes is None else routine.send(outcomes)
        except StopIteration as end:
            return str(end.value)
        missing = next((call.tool for call in calls if call.tool not in tools), None)
        if missing is not None:
            server = missing.partition("_")[0]
            return f"I can't do that now: no {server} tool is connected ({missing} is not offered)."
        outcomes = yield calls


def together(routines: Sequence[Routine]) -> Routine:
    """Runs several routines side by side; each round holds the calls of all that still run, in their order."""
    replies = [""] * len(routines)
    inboxes: dict[int, Outcomes | None] = dict.fromkeys(range(len(routines)))
    while inboxes:
        wanted: dict[int, Calls] = {}
        for index, outcomes in inboxes.items():
            try:
                wanted[index] = next(routines[index]) if outcomes is None else routines[index].send(outcomes)
            except StopIteration as end:
                replies[index] = str(end.value)
        answers = (yield tuple(call for calls in wanted.values() for call in calls)) if wanted else ()
        inboxes, at = {}, 0
        for index, calls in wanted.items():
            inboxes[index] = answers[at : at + len(calls)]
            at += len(calls)
    return "\n\n".join(reply for reply in replies if reply)


def replay(routine: Routine, rounds: Sequence[Outcomes]) -> Step:
    """Runs a routine over the rounds of outcomes there are and returns what it wants next."""
    try:
        calls = next(routine)
        for outcomes in rounds:
            calls = routine.send(_fitted(outcomes, len(calls)))
    except StopIteration as end:
        return ReplyStep(str(end.value))
    return ToolStep(calls)


def _fitted(outcomes: Outcomes, count: int) -> Outcomes:
    """Gives every call of a round an outcome, whatever the conversation lost."""
    return (*outcomes[:count], *(UNANSWERED,) * (count - len(outcomes)))
