"""Calls that carry an idempotency key: what is kept of one with its event, and how a repetition is known. Pure."""

import hashlib
import json
import uuid
from collections.abc import Iterable
from dataclasses import asdict

from tools_mcp.calendar.model import Event, EventFields
from tools_mcp.errors import ConflictError
from tools_mcp.texts import shown


def request_for(key: str, fields: EventFields) -> str:
    """Return what is kept with the event of a call: the hash of its key and the hash of its arguments."""
    return f"{hashlib.sha256(key.encode()).hexdigest()} {_fingerprint(fields)}"


def keyed_uid(request: str) -> str:
    """Return the id of the event that a call makes: the same for every server that does it, so the store keeps one."""
    return str(uuid.UUID(hashlib.sha256(request.encode()).hexdigest()[:32], version=5))


def made_by(request: str, candidates: Iterable[tuple[str, Event]]) -> Event | None:
    """Return the event that the same call made before, among events with what is kept of their calls.

    Raises:
        ConflictError: The key came with other arguments.
    """
    key, _, arguments = request.partition(" ")
    for told, event in candidates:
        used, _, made_from = told.partition(" ")
        if used == key and made_from == arguments:
            return event
        if used == key:
            raise ConflictError(
                f"This idempotency_key made another event, {shown(event.title)}; send a new key for a new event."
            )
    return None


def _fingerprint(fields: EventFields) -> str:
    told = asdict(fields)
    if told["reminders"] is None:  # events that were made before there were reminders keep their fingerprint
        del told["reminders"]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
