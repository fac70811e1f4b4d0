"""Tools that answer from a table: what a server would return, in the servers' own shapes, without a server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

Answer = Mapping[str, Any]
"""A structured result; `{"error": text}` is a failed call and `{"text": text}` a plain text result."""

_HOUR = timedelta(hours=1)
_KEPT = ("title", "start", "end", "all_day")


@dataclass
class ScriptedTools:
    """Answers calls from `answers`: one answer per tool, or a list of them, one for each call in turn.

    A writing tool without an answer in the table repeats its arguments the way its server does; a change to the event
    that was stored before keeps what it does not name.
    """

    answers: Mapping[str, Answer | Sequence[Answer]]
    zone: ZoneInfo
    called: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    stored: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, bool]:
        """Returns the content and the error flag of one call."""
        before = sum(name == tool for name, _ in self.called)
        self.called.append((tool, arguments))
        scripted = self.answers.get(tool)
        if isinstance(scripted, Sequence):
            scripted = scripted[min(before, len(scripted) - 1)]
        known = self.stored.get(str(arguments.get("id")), {})
        answer = scripted if scripted is not None else _ECHOES[tool]({**known, **arguments}, self.zone)
        if tool.startswith("calendar_") and "event" in answer:
            event = answer["event"]
            self.stored[event["id"]] = {key: event[key] for key in _KEPT if key in event}
        if "error" in answer:
            return str(answer["error"]), True
        return (str(answer["text"]) if "text" in answer else json.dumps(answer)), False


def _created(arguments: Mapping[str, Any], zone: ZoneInfo) -> Answer:
    named = ZoneInfo(str(arguments["timezone"])) if "timezone" in arguments else zone
    event = {"id": "evt-new", "title": arguments["title"], "recurrence": arguments.get("recurrence")}
    if arguments.get("all_day"):
        first = date.fromisoformat(arguments["start"])
        event |= {"start": first.isoformat(), "end": arguments.get("end", first.isoformat()), "all_day": True}
        return {"status": "created", "event": event}
    start = datetime.fromisoformat(arguments["start"]).replace(tzinfo=named)
    end = datetime.fromisoformat(arguments["end"]).replace(tzinfo=named) if "end" in arguments else start + _HOUR
    event |= {"start": start.isoformat(), "end": end.isoformat(), "timezone": named.key}
    return {"status": "created", "event": event | {"recurring": bool(arguments.get("recurrence"))}}


def _updated(arguments: Mapping[str, Any], zone: ZoneInfo) -> Answer:
    event = _created({"title": "Catch-up", "start": "2026-12-04T09:00:00", **arguments}, zone)["event"]
    return {"status": "updated", "event": {**event, "id": arguments["id"]}}


def _deleted(arguments: Mapping[str, Any], _zone: ZoneInfo) -> Answer:
    return {"status": "deleted", "event": {"id": arguments["id"], "title": "gone", "start": "2026-12-04"}}


def _memory(arguments: Mapping[str, Any], _zone: ZoneInfo) -> Answer:
    memory = {"id": "mem_new", "kind": "fact", "body": arguments["body"], "created_at": "2026-12-01T09:00:00Z"}
    return {"memory": memory, "deduped": False, "superseded": [arguments["id"]] if "id" in arguments else []}


def _forgotten(arguments: Mapping[str, Any], _zone: ZoneInfo) -> Answer:
    return {"id": arguments["id"], "forgotten": True}


def _written(arguments: Mapping[str, Any], _zone: ZoneInfo) -> Answer:
    status = "appended" if arguments.get("mode") == "append" else "created"
    return {"status": status, "id": arguments["title"], "title": arguments["title"], "size_bytes": 1}


def _drafted(arguments: Mapping[str, Any], _zone: ZoneInfo) -> Answer:
    message = {"id": "20261201-100000-x", "channel": "email", **arguments, "created": "2026-12-01T10:00:00+01:00"}
    return {"status": "drafted", "message": message}


def _discarded(arguments: Mapping[str, Any], _zone: ZoneInfo) -> Answer:
    message = {"id": arguments["id"], "channel": "email", "to": ["Sam"], "body": "gone"}
    return {"status": "discarded", "message": message}


def _rendered(arguments: Mapping[str, Any], _zone: ZoneInfo) -> Answer:
    return {"id": arguments["id"], "file": f"{arguments['id']}.html", "resource": "report://x", "size_bytes": 1}


_ECHOES: Mapping[str, Callable[[Mapping[str, Any], ZoneInfo], Answer]] = {
    "calendar_create_event": _created,
    "calendar_update_event": _updated,
    "calendar_delete_event": _deleted,
    "memory_remember": _memory,
    "memory_update": _memory,
    "memory_forget": _forgotten,
    "notes_write": _written,
    "memory_search": lambda _arguments, _zone: {"entries": []},
    "memory_list": lambda _arguments, _zone: {"entries": []},
    "calendar_list_events": lambda _arguments, _zone: {"events": []},
    "calendar_find_free": lambda _arguments, _zone: {"slots": [], "working_hours": "09:00-17:00"},
    "notes_search": lambda _arguments, _zone: {"notes": []},
    "notes_list": lambda _arguments, _zone: {"notes": []},
    "notes_read": lambda _arguments, _zone: {"id": "n", "title": "n", "body": ""},
    "message_draft": _drafted,
    "message_discard": _discarded,
    "message_list": lambda _arguments, _zone: {"messages": []},
    "report_list": lambda _arguments, _zone: {"reports": []},
    "report_get": lambda arguments, _zone: {"format": arguments["format"], "text": ""},
    "report_render": _rendered,
    "report_diff": lambda arguments, _zone: {**arguments, "differences": []},
    "search_web": lambda _arguments, _zone: {"status": "empty", "query": "", "results": []},
}
TOOLS = (*_ECHOES, "memory_get", "calendar_now")
"""The model-facing names of the tools a full home offers."""
