"""Drafts as the messages server returned them, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from textwrap import indent

from agent_host.providers.offline.results import as_list, date_of, rows_of, text_of
from agent_host.providers.offline.routine import Outcome, Scene
from agent_host.providers.offline.times.format import show_day
from agent_host.providers.offline.wording import clip, joined
from agent_host.providers.protocol import JsonValue

_NAMES = {"email": "Email", "sms": "Text message", "chat": "Chat message"}
_LONGEST_NAME = 80
_LONGEST_SUBJECT = 120
_LONGEST_SNIPPET = 100
_LONGEST_BODY = 2000
_MOST_NAMES = 5


@dataclass(frozen=True)
class Draft:
    """One draft in the outbox, as a tool returned it."""

    id: str
    channel: str
    to: str
    subject: str
    body: str
    made: date | None

    @property
    def words(self) -> str:
        """All that a person may name it by."""
        return f"{self.to} {self.subject} {self.body} {self.channel}"


def read_draft(row: Mapping[str, JsonValue], scene: Scene) -> Draft:
    """Reads one draft; what is missing reads as nothing."""
    names = [clip(name, _LONGEST_NAME) for name in as_list(row.get("to")) if isinstance(name, str)]
    more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    return Draft(
        id=str(row.get("id") or ""),
        channel=text_of(row, "channel"),
        to=joined([*names[:_MOST_NAMES], *more]) or "nobody",
        subject=clip(text_of(row, "subject"), _LONGEST_SUBJECT),
        body=text_of(row, "body").strip(),
        made=date_of(row, scene.zone, "created", "created_utc"),
    )


def read_drafts(outcome: Outcome, scene: Scene) -> list[Draft]:
    """Reads a list of drafts, in its order: newest first."""
    return [read_draft(row, scene) for row in rows_of(outcome, "messages", "items")]


def name_of(draft: Draft) -> str:
    """Returns "Email to Sam, “The picnic”"."""
    about = f", “{draft.subject}”" if draft.subject else ""
    return f"{_NAMES.get(draft.channel, 'Message')} to {draft.to}{about}"


def draft_lines(drafts: Iterable[Draft], scene: Scene) -> list[str]:
    """Returns one line for each draft: to whom, about what, from when, how it begins."""
    return [f"{name_of(draft)}{_dated(draft, scene)}: {clip(draft.body, _LONGEST_SNIPPET)}" for draft in drafts]


def whole_draft(draft: Draft, scene: Scene) -> str:
    """Returns a draft with its text, set in by two spaces; a very long one is cut and says so."""
    rest = "\n  …" if len(draft.body) > _LONGEST_BODY else ""
    body = indent(draft.body[:_LONGEST_BODY] or "(empty)", "  ")
    return f"{name_of(draft)}{_dated(draft, scene)}:\n{body}{rest}"


def _dated(draft: Draft, scene: Scene) -> str:
    return f" ({show_day(draft.made, scene.today)})" if draft.made else ""
