"""What happens in a turn, as lines for whoever watches it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from agent_host.gateways.screen import one_line
from agent_host.providers.protocol import JsonValue
from agent_host.tracing.events import (
    GateDecided,
    KnowledgeUsed,
    ReportSaved,
    SlotsDecided,
    ToolCalled,
    ToolStarted,
    TurnEvent,
)
from agent_host.tracing.redaction import redact

_ARGUMENTS: Final = 60
_REASON: Final = 100
_NAME: Final = 64


def event_line(event: TurnEvent) -> str | None:
    """Returns one line about an event that is worth one, else None. The text in it is safe to show."""
    line = None
    match event:
        case ToolCalled():
            line = _called(event)
        case GateDecided():
            looked = f"looks up “{one_line(event.query, _REASON)}”" if event.decision == "retrieve" else "not needed"
            line = f"memory: {looked} ({one_line(event.reason, _REASON)})"
        case SlotsDecided():
            kept = sum(verdict.kept for verdict in event.verdicts)
            line = f"memory: {kept} of {len(event.verdicts)} hits earned a place"
        case KnowledgeUsed() if event.entries:
            line = f"memory: {len(event.entries)} entries about the subject read first"
        case ReportSaved():
            line = f"report “{one_line(event.title, _REASON)}” saved"
        case _:
            pass
    return line and f"· {line}"


def started_line(event: ToolStarted) -> str:
    """Returns the line of a tool that runs now."""
    return f"· {one_line(event.name, _NAME)} …"


def _called(event: ToolCalled) -> str:
    outcome, name = event.outcome, one_line(event.name, _NAME)
    if outcome.is_error:
        reason = one_line(outcome.content, _REASON)
        return f"{name} failed, {outcome.duration_ms} ms{reason and f': {reason}'}"
    arguments = _shortened(event.arguments)
    return f"{name} ok, {outcome.duration_ms} ms{arguments and f' ({arguments})'}"


def _shortened(arguments: Mapping[str, JsonValue]) -> str:
    told = redact(dict(arguments))
    pairs = told.items() if isinstance(told, Mapping) else ()
    return one_line(", ".join(f"{key}: {_value(value)}" for key, value in pairs if value is not None), _ARGUMENTS)


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
