"""The clock, the scene and the small driver that the offline provider's tests share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from agent_host.providers.offline.routine import Call, Outcome, Request, Scene
from agent_host.providers.protocol import Message, Text
from evals.deterministic.scripted_tools import TOOLS

ZONE = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 12, 1, 10, tzinfo=ZONE)
"""A Tuesday, ten in the morning."""
SCENE = Scene(frozenset(TOOLS), NOW, ZONE)


def outcome(data: Any) -> Outcome:
    """Returns a structured result."""
    return Outcome(json.dumps(data), data, is_error=False)


def failed(text: str) -> Outcome:
    """Returns a failed call."""
    return Outcome(text, None, is_error=True)


def perform(request: Request, answers: Mapping[str, Any], scene: Scene = SCENE) -> tuple[str, list[Call]]:
    """Runs a request; `answers` holds a structured result, or an `Outcome`, for each tool it may call."""
    made: list[Call] = []
    routine = request.run(scene)
    try:
        calls = next(routine)
        while True:
            made += calls
            found = (answers[call.tool] for call in calls)
            calls = routine.send(tuple(each if isinstance(each, Outcome) else outcome(each) for each in found))
    except StopIteration as end:
        return str(end.value), made


def said(*texts: str) -> tuple[Message, ...]:
    """Returns a conversation of person and assistant in turn, the person first."""
    roles = ("user", "assistant")
    return tuple(Message(roles[index % 2], (Text(text),)) for index, text in enumerate(texts))  # type: ignore[arg-type]
