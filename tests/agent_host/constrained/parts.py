"""What the tests of constrained calls are made of: a small spec, a clock, and a desk with a real store and spool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_host.constrained import CallOptions, RuntimeAISpec
from agent_host.constrained.store import CallStore
from agent_host.errors import WriterUnavailableError
from agent_host.providers.protocol import JsonValue, ModelRequest, Provider, Usage
from agent_host.receipts.drafts import DecisionDraft
from agent_host.receipts.log import ReceiptLog
from agent_host.receipts.openings import OpeningStore
from agent_host.receipts.spool import Spool
from agent_host.tracing.events import ModelCalled, TurnEvent
from tests.fakes.scripted_provider import IDENTITY, Line, ScriptedProvider, says
from tests.fakes.writer import FakeWriter

MESSAGE = {"message": "zebra question"}
GOOD = '{"mood": "glad", "note": "as it seems"}'
SURE = '{"mood": "glad", "note": "", "confidence": 9000}'
UNSURE = '{"mood": "glad", "note": "", "confidence": 1200}'
DEFAULT: JsonValue = {"mood": "unknown", "note": ""}
SURE_DEFAULT: JsonValue = {"mood": "unknown", "note": "", "confidence": 0}

FIELDS: dict[str, Any] = {
    "spec_id": "mood-reader",
    "display_name": "Mood reader",
    "description": "Says how a person sounds.",
    "category": "classifier",
    "input_schema": {
        "type": "object",
        "properties": {"message": {"type": "string", "maxLength": 2000}, "lines": {"type": "integer"}},
        "required": ["message"],
        "additionalProperties": False,
    },
    "output_schema": {
        "type": "object",
        "properties": {
            "mood": {"type": "string", "enum": ["glad", "sad", "unknown"]},
            "note": {"type": "string", "maxLength": 40},
        },
        "required": ["mood", "note"],
        "additionalProperties": False,
    },
    "prompt_template": {"system": "You read moods.", "user": "Message: {{message}}"},
    "model_identity": IDENTITY,
    "reviewer_gate": "never",
    "max_latency_ms": 20_000,
    "fallback_behavior": "retry-once-then-default",
    "deterministic_default": DEFAULT,
}


def spec(**changes: Any) -> RuntimeAISpec:
    """Returns the mood reader with some fields changed."""
    return RuntimeAISpec(**{**FIELDS, **changes})


def sure_spec(**changes: Any) -> RuntimeAISpec:
    """Returns a mood reader that states its confidence, and is reviewed when that is below 0.6."""
    schema = FIELDS["output_schema"]
    confidence = {"type": "integer", "minimum": 0, "maximum": 10_000}
    told: dict[str, Any] = {
        "output_schema": {
            **schema,
            "properties": {**schema["properties"], "confidence": confidence},
            "required": ["mood", "note", "confidence"],
        },
        "reviewer_gate": "on-low-confidence",
        "low_confidence_threshold": 6000,
        "deterministic_default": SURE_DEFAULT,
    }
    return spec(**{**told, **changes})


class Clock:
    """A clock that only moves when somebody waits on it; `waits` are the seconds that were slept."""

    def __init__(self) -> None:
        self.ms = 1_000_000
        self.waits: list[float] = []

    def now_ms(self) -> int:
        """Returns the time."""
        return self.ms

    async def sleep(self, seconds: float) -> None:
        """Moves the time on."""
        self.waits.append(seconds)
        self.ms += round(seconds * 1000)


class Desk:
    """Everything a constrained call touches, on a real disk, before an in-memory writer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writer = FakeWriter()
        self.openings = OpeningStore(folder / "openings.db")
        self.store = CallStore(folder / "calls.db")
        self.clock = Clock()
        self.events: list[TurnEvent] = []
        self.draws = [0.5]

        async def ensure() -> None:
            if self.writer.away:
                raise WriterUnavailableError("The receipt writer does not answer.")

        self.spool = Spool(folder / "spool.jsonl")
        self.ledger = ReceiptLog(self.writer, self.spool, self.openings, ensure)

    def options(self, provider: Provider | None, **changes: Any) -> CallOptions:
        """Returns options of this desk for a provider."""
        made = CallOptions(
            ledger=self.ledger,
            provider=provider,
            store=self.store,
            emit=self.events.append,
            cost=lambda usage: usage.input_tokens,
            now_ms=self.clock.now_ms,
            draw=lambda: self.draws[-1],
            sleep=self.clock.sleep,
        )
        return replace(made, **changes)

    def saying(self, *lines: str | Line | Callable[[ModelRequest], Line], **changes: Any) -> CallOptions:
        """Returns options for a model that says these lines, a line a request."""
        script = [says(line) if isinstance(line, str) else line for line in lines]
        return self.options(ScriptedProvider(*script), **changes)

    @property
    def entry(self) -> DecisionDraft:
        """The one entry there is."""
        (draft,) = self.writer.decisions
        return draft

    @property
    def usage(self) -> Usage:
        """The tokens of the one call there was."""
        (event,) = (event for event in self.events if isinstance(event, ModelCalled))
        return event.usage

    def close(self) -> None:
        """Closes the files."""
        self.openings.close()
        self.store.close()
