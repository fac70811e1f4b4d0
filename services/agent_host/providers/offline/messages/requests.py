"""What can be done with drafts of messages, and how it is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_host.providers.offline.messages.replies import (
    Draft,
    draft_lines,
    name_of,
    read_draft,
    read_drafts,
    whole_draft,
)
from agent_host.providers.offline.questions import TO_WHOM, WHAT_TO_WRITE, WHICH_ONE
from agent_host.providers.offline.results import as_mapping, failure, object_of
from agent_host.providers.offline.routine import Call, Calls, Outcome, Outcomes, Routine, Scene, choose
from agent_host.providers.offline.wording import bullets, capitalised, clip, coverage, numbered, sentence
from agent_host.providers.protocol import JsonValue

CANNOT_SEND = "I can't send anything: drafts wait in your outbox, and you send them from your own program."
_NOT_SENT = "It is not sent; it waits in your outbox."
_HOLDS_ONLY_THAT = "I am no language model and write no text of my own: the rest is yours to write."
_LIST = Call("message_list", {"limit": 50})
_ALL_WORDS = 0.99
_SHOWN = 9


@dataclass(frozen=True)
class DraftMessage:
    """Put a message into the outbox. `about` is its subject, `said` its text; `send` when sending was asked for."""

    channel: str
    to: tuple[str, ...]
    about: str = ""
    said: str = ""
    send: bool = False

    def run(self, scene: Scene) -> Routine:
        """Drafts it in the person's own words; asks for whom and what when that is missing."""
        cannot = f"{CANNOT_SEND}\n" if self.send else ""
        if not self.to:
            return f"{cannot}{TO_WHOM}"
        if not (self.said or self.about).strip():
            return f"{cannot}{WHAT_TO_WRITE}"
        (outcome,) = yield (self._call(),)
        if outcome.is_error:
            return f"{cannot}{failure(outcome, 'draft that')}"
        draft = read_draft(object_of(outcome, "message"), scene)
        if as_mapping(outcome.data).get("status") == "exists":
            return f"{cannot}That draft is in your outbox already, so I added nothing.\n{whole_draft(draft, scene)}"
        rest = "" if self.said else f"\n{_HOLDS_ONLY_THAT}"
        return f"{cannot}Drafted. {whole_draft(draft, scene)}\n{_NOT_SENT}{rest}"

    def _call(self) -> Call:
        arguments: dict[str, JsonValue] = {"to": list(self.to)}
        if self.about and self.channel == "email":
            arguments["subject"] = capitalised(clip(self.about, 200))
        about = f"about {self.about}" if self.about and not self.said else ""
        body = self.said.strip() or about
        arguments["body"] = body if "\n" in body else sentence(body)
        return Call("message_draft", {**arguments, "channel": self.channel})


@dataclass(frozen=True)
class ListDrafts:
    """Show what is in the outbox."""

    def run(self, scene: Scene) -> Routine:
        """Lists the drafts, newest first."""
        (outcome,) = yield (_LIST,)
        if outcome.is_error:
            return failure(outcome, "look into your outbox")
        drafts = read_drafts(outcome, scene)
        if not drafts:
            return "Your outbox is empty: there are no drafts."
        more = "\nThere are more than I can show here." if as_mapping(outcome.data).get("next_cursor") else ""
        return f"Drafts in your outbox, none of them sent:\n{bullets(draft_lines(drafts, scene))}{more}"


@dataclass(frozen=True)
class ShowDraft:
    """Show one draft whole; `wanted` is what it is known by, `latest` asks for the newest."""

    wanted: str = ""
    latest: bool = False

    def run(self, scene: Scene) -> Routine:
        """Shows the one that fits; lists several."""
        (outcome,) = yield (_LIST,)
        if outcome.is_error:
            return failure(outcome, "look into your outbox")
        drafts = read_drafts(outcome, scene)
        fitting = _fitting(drafts, self.wanted, latest=self.latest)
        if len(fitting) == 1:
            return f"{whole_draft(fitting[0], scene)}\n{_NOT_SENT}"
        return f"These drafts fit:\n{bullets(draft_lines(fitting, scene))}" if fitting else _none(drafts, self, scene)


@dataclass(frozen=True)
class DiscardDraft:
    """Throw drafts away; `wanted` is what they are known by, `latest` means the newest."""

    wanted: str = ""
    latest: bool = False

    def run(self, scene: Scene) -> Routine:
        """Moves the draft that fits to the trash; asks when several do."""
        (outcome,) = yield (_LIST,)
        if outcome.is_error:
            return failure(outcome, "look into your outbox, so I discarded nothing")
        drafts = read_drafts(outcome, scene)
        fitting = _fitting(drafts, self.wanted, latest=self.latest)
        chosen = choose(fitting, scene.choice) if scene.choice is not None else fitting
        if not chosen:
            return _none(drafts, self, scene)
        if len(chosen) > 1 and scene.choice is None:
            more = f"\n… and {len(chosen) - _SHOWN} more." if len(chosen) > _SHOWN else ""
            return f"These drafts fit:\n{numbered(draft_lines(chosen[:_SHOWN], scene))}{more}\n\n{WHICH_ONE}"
        outcomes = yield _discards(chosen)
        return _discarded(chosen, outcomes)


def _discards(drafts: Sequence[Draft]) -> Calls:
    return tuple(Call("message_discard", {"id": draft.id}) for draft in drafts)


def _discarded(drafts: Sequence[Draft], outcomes: Outcomes) -> str:
    return "\n".join(_discarded_one(draft, outcome) for draft, outcome in zip(drafts, outcomes, strict=True))


def _discarded_one(draft: Draft, outcome: Outcome) -> str:
    if outcome.is_error:
        return failure(outcome, f"discard the {name_of(draft)}")
    return f"Discarded, it was never sent: {name_of(draft)}. The outbox keeps it in its trash."


def _fitting(drafts: Sequence[Draft], wanted: str, *, latest: bool) -> list[Draft]:
    """Returns the drafts that hold all wanted words; those who get it count before what it says."""
    if not wanted:
        return list(drafts[:1] if latest else drafts)
    named = [draft for draft in drafts if coverage(wanted, f"{draft.to} {draft.subject}") >= _ALL_WORDS]
    fitting = named or [draft for draft in drafts if coverage(wanted, draft.words) >= _ALL_WORDS]
    return fitting[:1] if latest else fitting


def _none(drafts: Sequence[Draft], request: ShowDraft | DiscardDraft, scene: Scene) -> str:
    """Says that no draft fits, and which there are when they are few."""
    if not drafts:
        return "Your outbox is empty: there are no drafts."
    there = f" These are there:\n{bullets(draft_lines(drafts, scene))}" if len(drafts) <= _SHOWN else ""
    did = ", so I discarded nothing" if isinstance(request, DiscardDraft) else ""
    return f"No draft fits “{clip(request.wanted, 80)}”{did}.{there}"
