"""Reads the conversation: the person's last words, what was asked back before, and this turn's results so far."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent_host.providers.offline.routine import UNANSWERED, Outcome, Outcomes
from agent_host.providers.protocol import JsonValue, Message, Text, ToolResult, ToolUse

_REMEMBERED_TURNS = 4
_LARGEST_RESULT = 1_000_000


@dataclass(frozen=True)
class PastTurn:
    """An earlier turn: what the person said and what the last words of the answer were."""

    text: str
    reply: str


@dataclass(frozen=True)
class Turn:
    """The turn to plan: the person's words, a few turns before it, and one round of outcomes per model call so far."""

    text: str
    past: tuple[PastTurn, ...]
    rounds: tuple[Outcomes, ...]


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
    return Turn(_words(messages[last]), past, _rounds(messages[last + 1 :]))


def _last_reply(messages: Sequence[Message]) -> str:
    said = (_words(message) for message in reversed(messages) if message.role == "assistant")
    return next((text for text in said if text), "")
