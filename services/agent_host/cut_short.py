"""The reply of a turn that ended without an answer: what was said, why it ended, and what it had done by then. Pure.

A person reads all three. A model later reads what it had said, or that there was no answer, with the note of the tools
that ran: it must know that it acted (agent.md row 9), and the host's sentences are not its words.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from typing import Final

from agent_host.calling import CANCELLED_CALL
from agent_host.chat_log import UNANSWERED
from agent_host.constrained.specs import FAILURE_MESSAGE
from agent_host.errors import BrokenOffError, ProviderError
from agent_host.loop import Reply
from agent_host.providers.protocol import Message, Text
from agent_host.tool_note import tool_note, with_note
from agent_host.tracing.events import ToolCalled, TurnEvent
from agent_host.tracing.turn_events import TurnEvents

_DISK: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})


def cut_short(reason: str, events: TurnEvents) -> Reply:
    """Returns the reply of a turn that ends here; `reason` is a sentence, or nothing where the words said will do."""
    said = events.streamed_text
    done = deeds(events.kept)
    text = "\n\n".join(part for part in (said, reason, done) if part.strip())
    row = with_note(said.strip() or UNANSWERED, tool_note(events.kept))
    return Reply(text, (Message("assistant", (Text(row),)),), limit_reached=False)


def no_answer(error: ProviderError) -> str:
    """Returns, for a person, why a model's answer is missing, or its end: what it said first stands above."""
    return str(error) if isinstance(error, BrokenOffError) else f"{FAILURE_MESSAGE} {error}"


def deeds(events: Iterable[TurnEvent]) -> str:
    """Returns a sentence on what the turn changed, or may have changed; empty when nothing."""
    writes = [
        event
        for event in events
        if isinstance(event, ToolCalled) and not (event.read_only or event.read_first or event.gated)
    ]
    done = [call.name for call in writes if not call.outcome.is_error]
    perhaps = [call.name for call in writes if call.outcome.is_error and call.outcome.content == CANCELLED_CALL]
    told = (
        f"{what}: {', '.join(names)}."
        for what, names in (("Done before that", done), ("Perhaps done", perhaps))
        if names
    )
    return " ".join(told)


def is_of_the_disk(error: Exception) -> bool:
    """Tells whether an error says that the disk takes no more."""
    return isinstance(error, OSError) and error.errno in _DISK


def fault(error: Exception) -> str:
    """Returns, for a person, what an unexpected error means."""
    if isinstance(error, OSError) and is_of_the_disk(error):
        return f"The turn failed: the disk refused a write ({error.strerror}). Free some space and ask again."
    return f"The turn failed on an error of this program ({type(error).__name__}); see its log."
