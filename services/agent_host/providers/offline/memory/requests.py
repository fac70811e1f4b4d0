"""What can be asked of the memory, and how it is done."""

from __future__ import annotations

from dataclasses import dataclass

from agent_host.providers.offline.memory.replies import (
    Memory,
    line,
    lines,
    read_memories,
    read_memory,
    split_by_fit,
)
from agent_host.providers.offline.notes.replies import note_lines, read_notes
from agent_host.providers.offline.patterns import pattern
from agent_host.providers.offline.questions import SHALL_I_REMEMBER, WHAT_TO_REMEMBER, WHICH_ONE
from agent_host.providers.offline.results import as_mapping, failure, object_of
from agent_host.providers.offline.routine import Call, Routine, Scene, choose
from agent_host.providers.offline.wording import (
    VERBS,
    common_start,
    content_words,
    coverage,
    is_only_about,
    numbered,
    says_same,
    sentence,
    stems,
    subject_of,
)

_SOMEONE = pattern(r"(?:he|she|they|him|them)\b")  # who was meant is forgotten tomorrow
_SHOWN = 8
_NEAR = 3
_LISTED = 20
_ANSWERS = 0.51
_SAME_CLAIM = 0.6
_MOST_AT_ONCE = 5


def _search(query: str, limit: int) -> Call:
    return Call("memory_search", {"query": " ".join(content_words(query)) or query.strip(), "limit": limit})


@dataclass(frozen=True)
class Remember:
    """Keep a sentence."""

    body: str

    def run(self, scene: Scene) -> Routine:
        """Stores the sentence as typed, as one memory."""
        if not content_words(self.body):
            return WHAT_TO_REMEMBER
        body = sentence(self.body)
        unnamed = _SOMEONE.match(body)
        if unnamed is not None:
            return f"Whom do you mean by “{unnamed.group().casefold()}”? I stored nothing: say it with the name."
        (outcome,) = yield (Call("memory_remember", {"body": body}),)
        if outcome.is_error:
            return failure(outcome, "remember that")
        kept = read_memory(object_of(outcome, "memory"), scene)
        if as_mapping(outcome.data).get("deduped") is True:
            return f"I knew that already: {line(kept, scene) if kept.text else body}"
        return f"I'll remember: {body}"


@dataclass(frozen=True)
class Recall:
    """Say what is known. `about` names the subject when the person did; `otherwise` is the reply when nothing fits."""

    wanted: str
    about: str = ""
    otherwise: str = ""

    def run(self, scene: Scene) -> Routine:
        """Searches and lists what fits, with dates; what memory does not hold is looked for in the notes."""
        if self.otherwise and "memory_search" not in scene.tools:
            return self.otherwise
        (outcome,) = yield (_search(self.wanted, _SHOWN),)
        if outcome.is_error:
            return failure(outcome, "look into my memory")
        memories = read_memories(outcome, scene)
        fitting, others = split_by_fit(memories, self.wanted, _ANSWERS)
        about = f" about {self.about}" if self.about else ""
        if fitting:
            return f"Here is what I remember{about}:\n{lines(fitting, scene)}"
        noted = yield from _in_notes(self.wanted, scene)
        if noted:
            return noted
        near = f"\nThe nearest I have:\n{lines(others[:_NEAR], scene)}" if others else ""
        nothing = f"I remember nothing{about or ' that answers this'}. Tell me with “remember that …” and I will."
        return f"{self.otherwise or nothing}{near}"


def _in_notes(wanted: str, scene: Scene) -> Routine:
    """Returns the notes that hold most of the wanted words, or ""."""
    if "notes_search" not in scene.tools:
        return ""
    query = " ".join(content_words(wanted)) or wanted
    (found,) = yield (Call("notes_search", {"query": query, "limit": _NEAR}),)
    notes = () if found.is_error else read_notes(found, scene)
    fitting = [note for note in notes if coverage(wanted, f"{note.title} {note.text}") >= _ANSWERS]
    return f"Your notes say:\n{note_lines(fitting, scene)}" if fitting else ""


@dataclass(frozen=True)
class ListMemories:
    """Show what is remembered."""

    def run(self, scene: Scene) -> Routine:
        """Lists the newest memories."""
        (outcome,) = yield (Call("memory_list", {"limit": _LISTED}),)
        if outcome.is_error:
            return failure(outcome, "list what I remember")
        memories = read_memories(outcome, scene)
        if not memories:
            return "I remember nothing yet. Tell me with “remember that …”."
        more = "\nThere is more than I can show here." if as_mapping(outcome.data).get("next_cursor") else ""
        return f"What I remember, newest first:\n{lines(memories, scene)}{more}"


def _same_claim(old: Memory, new: str) -> float:
    """Returns how likely an old memory is about what a new sentence says, 0 for not at all.

    Two sentences are about the same when they share most words, or begin alike up to and with their verb. They are not
    when their subjects have no word in common: what Bob likes does not correct what Ana likes. Nor when the old one
    says something of somebody else as well, which would be lost.
    """
    old_subject, new_subject = _subject_words(old.text), _subject_words(new)
    if old_subject and new_subject and not old_subject & new_subject:
        return 0.0
    if old_subject and not is_only_about(old.text, subject_of(old.text)):
        return 0.0
    shared = common_start(old.text, new)
    begins_alike = any(word in VERBS for word in shared) and len(shared) > 1
    closeness = coverage(new, old.text)
    return closeness if closeness >= _SAME_CLAIM else _SAME_CLAIM if begins_alike else 0.0


def _subject_words(statement: str) -> frozenset[str]:
    """Returns what a statement is about; nothing when no verb is known or a pronoun may stand for anyone."""
    subject = subject_of(statement)
    return frozenset((subject.casefold(),)) if subject in ("I", "We") else stems(subject)


@dataclass(frozen=True)
class Correct:
    """Replace what is remembered by a new sentence."""

    body: str

    def run(self, scene: Scene) -> Routine:
        """Finds the memory the sentence corrects and gives it a new version; asks before it stores one of its own."""
        body = sentence(self.body)
        (found,) = yield (_search(body, _SHOWN),)
        if found.is_error:
            return failure(found, "look up what to correct")
        memories = read_memories(found, scene)
        same = next((memory for memory in memories if says_same(memory.text, body)), None)
        if same is not None:
            return f"That is what I remember already: {line(same, scene)}"
        ranked = sorted(memories, key=lambda memory: -_same_claim(memory, body))
        old = next((memory for memory in ranked if memory.id and _same_claim(memory, body) > 0), None)
        if old is None:
            if scene.agreed:
                return (yield from Remember(self.body).run(scene))
            return f"I have nothing older on that, and stored nothing.\n{SHALL_I_REMEMBER}"
        update = Call("memory_update", {"id": old.id, "body": body})
        replace = Call("memory_remember", {"body": body, "supersedes": old.id})
        (changed,) = yield (update if update.tool in scene.tools else replace,)
        if changed.is_error:
            return failure(changed, "correct that")
        return f"Corrected. I now remember: {body}\nBefore it was: {line(old, scene)}"


@dataclass(frozen=True)
class Forget:
    """Forget what was said about something; `claim` tells that the words say it, and do not only name it."""

    subject: str
    claim: bool = False

    def run(self, scene: Scene) -> Routine:
        """Forgets the memories that say that and nothing else; asks when others hold the words too."""
        if not content_words(self.subject):
            return "I forget one subject at a time: say “forget what I said about …”. I forgot nothing."
        (found,) = yield (_search(self.subject, _LISTED),)
        if found.is_error:
            return failure(found, "look up what to forget")
        memories = read_memories(found, scene)
        exact, others = split_by_fit(memories, self.subject, 1.0)
        near, _ = split_by_fit(others, self.subject, _ANSWERS)
        candidates = exact or near
        sure = [memory for memory in exact if says_same(memory.text, self.subject)] if self.claim else exact
        if not self.claim and not all(is_only_about(memory.text, self.subject) for memory in exact):
            sure = []
        if not candidates:
            return f"I remember nothing about {self.subject}, so there was nothing to forget."
        chosen = choose(candidates, scene.choice) if scene.choice is not None else sure
        if not chosen or (scene.choice is None and len(chosen) > _MOST_AT_ONCE):
            return f"I remember this about it:\n{numbered(line(each, scene) for each in candidates)}\n\n{WHICH_ONE}"
        outcomes = yield tuple(Call("memory_forget", {"id": memory.id}) for memory in chosen)
        failed = next((outcome for outcome in outcomes if outcome.is_error), None)
        gone = [memory for memory, outcome in zip(chosen, outcomes, strict=True) if not outcome.is_error]
        done = f"Forgotten:\n{lines(gone, scene)}" if gone else ""
        return "\n".join(filter(None, (done, failure(failed, "forget all of it") if failed else "")))
