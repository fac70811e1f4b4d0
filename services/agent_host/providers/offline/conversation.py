"""Reads the conversation: the person's last words, what was asked back before, and this turn's results so far."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent_host.providers.offline.results import object_of
from agent_host.providers.offline.routine import UNANSWERED, Outcome, Outcomes
from agent_host.providers.protocol import JsonValue, Message, Text, ToolResult, ToolUse

_REMEMBERED_TURNS = 4
_EVENT_WRITES = ("calendar_create_event", "calendar_update_event")
_LARGEST_RESULT = 1_000_000


@dataclass(frozen=True)
class PastTurn:
    """An earlier turn: what the person said and what the last words of the answer were."""

    text: str
    reply: str


@dataclass(frozen=True)
class Turn:
    """The turn to plan: the person's words, a few turns before it, and one round of outcomes per model call so far.

    `touched` is the one event that was stored or changed by the newest of those turns that called any tool, and
    `aside` are the turns after that one.
    """

    text: str
    past: tuple[PastTurn, ...]
    rounds: tuple[Outcomes, ...]
    touched: Mapping[str, JsonValue] | None = None
    aside: tuple[PastTurn, ...] = ()


def _words(message: Message) -> str:
    return "".join(block.text for block in message.blocks if isinstance(block, Text))


def _is_person(message: Message) -> bool:
    """Tells whether a row holds a person's words; text beside tool results belongs to the results."""
    return message.role == "user" and not any(isinstance(block, ToolResult) for block in message.blocks)


def _parse(content: str) -> JsonValue:
    """Reads structured output; anything that is no JSON object or list stays plain text."""
    if len(content) > _LARGEST_RESULT or content[:1] not in ("{", "["):
        return None
    try:
        data: JsonValue = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return data


def _rounds(messages: Sequence[Message]) -> tuple[Outcomes, ...]:
    """Pairs each model call's requests with their results, in the order of the requests."""
    results = {
        block.tool_use_id: block for message in messages for block in message.blocks if isinstance(block, ToolResult)
    }
    rounds: list[Outcomes] = []
    for message in messages:
        uses = [block for block in message.blocks if isinstance(block, ToolUse)]
        if message.role != "assistant" or not uses:
            continue
        found = (results.get(use.id) for use in uses)
        rounds.append(
            tuple(
                Outcome(result.content, _parse(result.content), result.is_error) if result is not None else UNANSWERED
                for result in found
            )
        )
    return tuple(rounds)


def read_turn(messages: Sequence[Message]) -> Turn:
    """Finds the turn to plan in a request's messages; without any words of a person it is an empty one."""
    starts = [index for index, message in enumerate(messages) if _is_person(message)]
    if not starts:
        return Turn("", (), ())
    last = starts[-1]
    recent = starts[-_REMEMBERED_TURNS - 1 :]
    past = tuple(
        PastTurn(_words(messages[start]), _last_reply(messages[start + 1 : end])) for start, end in pairwise(recent)
    )
    written = [_written(messages[start + 1 : end]) for start, end in pairwise(recent)]
    acted = [index for index, events in enumerate(written) if events is not None]
    events = written[acted[-1]] if acted else None
    touched = events[0] if events is not None and len(events) == 1 else None
    aside = past[acted[-1] + 1 :] if acted else past
    return Turn(_words(messages[last]), past, _rounds(messages[last + 1 :]), touched, aside)


def _written(messages: Sequence[Message]) -> tuple[Mapping[str, JsonValue], ...] | None:
    """Returns the events that a turn stored or changed; None for a turn that called no tool at all."""
    uses = [block for message in messages for block in message.blocks if isinstance(block, ToolUse)]
    if not uses:
        return None
    outcomes = (outcome for each in _rounds(messages) for outcome in each)
    written = [
        object_of(outcome, "event")
        for use, outcome in zip(uses, outcomes, strict=True)
        if use.name in _EVENT_WRITES and not outcome.is_error
    ]
    return tuple(event for event in written if event)


def _last_reply(messages: Sequence[Message]) -> str:
    said = (_words(message) for message in reversed(messages) if message.role == "assistant")
    return next((text for text in said if text), "")
