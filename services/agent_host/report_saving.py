"""Saves the research report in a reply whole, once a turn, and leaves of it in the reply that it was saved.

A report goes to memory, where the next research reads it first, and to the reports server where there is one, together
with the addresses that were really fetched in the turn, so that a source nobody read is told (agent.md rows 56 to 58).
A reply stays as it is when its report cannot be saved, or was only shown: a tool of this turn had returned it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from agent_host.constrained.call import run_constrained_ai
from agent_host.constrained.options import CallOptions
from agent_host.constrained.specs import shipped_spec
from agent_host.identifiers import new_use_id
from agent_host.loop import Reply
from agent_host.mcp_clients.protocol import ToolBox, ToolOutcome
from agent_host.providers.protocol import JsonValue, Message, Text, ToolSpec
from agent_host.report_digest import MARKER, report_in, report_title, summary_bullets
from agent_host.tracing.events import Notice, ReportSaved, ToolCalled, ToolStarted, TurnEvent
from agent_host.tracing.turn_events import TurnEvents

COMPANY_SCOPE: Final = "project:Company brain"
_REMEMBER, _KEEP, _FETCH, _SEARCH = "memory_remember", "report_save", "search_fetch", "search_web"
_REFUSED: Final = "A report is saved whole after the reply, once; answer with it and leave the saving to that."
_MOST_SOURCES: Final = 50
_MOST_BULLETS: Final = 3

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class OneReport:
    """A tool box that refuses to store a report as a memory on the model's word: the host saves it, whole and once."""

    inner: ToolBox

    async def specs(self) -> tuple[ToolSpec, ...]:
        """Returns the tools there are."""
        return await self.inner.specs()

    async def call(self, name: str, arguments: Mapping[str, JsonValue], meta: Mapping[str, str]) -> ToolOutcome:
        """Calls a tool, unless it would store a report beside the one that the host saves (agent.md row 58)."""
        if name == _REMEMBER and report_in(str(arguments.get("body", ""))) is not None:
            return ToolOutcome("memory", name, _REFUSED, None, is_error=True, duration_ms=0)
        return await self.inner.call(name, arguments, meta)

    def problems(self) -> tuple[str, ...]:
        """Returns which servers cannot be used."""
        return self.inner.problems()

    async def close(self) -> None:
        """Closes the tool box."""
        await self.inner.close()


async def with_report_saved(reply: Reply, tools: ToolBox, calls: CallOptions | None, events: TurnEvents) -> Reply:
    """Returns the reply with its report saved and taken out; the same reply when there is none to save.

    `calls` asks a model which scope it belongs to; without it, and when that fails, it is `global`.
    """
    report = report_in(reply.text)
    names = {spec.name for spec in await tools.specs()}
    if report is None or _REMEMBER not in names or _was_shown(events.kept):
        return reply
    saving = _Saving(report, tools, events)
    scope = await _scope(report, calls, events)
    memory_id = await saving.to_memory(scope)
    if memory_id is None:
        return reply
    if _KEEP in names:
        await saving.to_reports(scope)
    events.emit(ReportSaved(report_title(report), memory_id, scope, tuple(summary_bullets(report)[:_MOST_BULLETS])))
    text = _shortened(reply.text, report)
    return replace(reply, text=text, messages=(*reply.messages[:-1], Message("assistant", (Text(text),))))


@dataclass(frozen=True)
class _Saving:
    """One report on its way; each call is a tool event of the turn."""

    report: str
    tools: ToolBox
    events: TurnEvents

    async def to_memory(self, scope: str) -> str | None:
        """Returns the memory's id, None when it could not be stored."""
        answer = await self._called(
            _REMEMBER,
            {
                "body": self.report,
                "kind": "semantic",
                "scope": scope,
                "subject": report_title(self.report),
                "tags": ["report"],
                "idempotency_key": f"{self.events.turn_id}:report",
            },
        )
        memory = answer.get("memory") if answer else None
        return str(memory["id"]) if isinstance(memory, dict) and memory.get("id") else None

    async def to_reports(self, scope: str) -> None:
        """Keeps it as a file too, and says what the reports server has against it."""
        seen = list(dict.fromkeys(_fetched(self.events.kept)))[:_MOST_SOURCES]
        answer = await self._called(_KEEP, {"markdown": self.report, "scope": scope, "sources_seen": seen})
        problems = answer.get("problems") if answer else None
        told = [str(one.get("message")) for one in problems or () if isinstance(one, dict)]
        if told:
            self.events.emit(Notice(f"The report was saved with remarks: {'; '.join(told)}."))

    async def _called(self, name: str, arguments: Mapping[str, JsonValue]) -> Mapping[str, Any] | None:
        self.events.emit(ToolStarted(name))
        outcome = await self.tools.call(name, arguments, {"turn_id": self.events.turn_id})
        self.events.emit(ToolCalled(new_use_id(), name, arguments, outcome))
        return outcome.structured if isinstance(outcome.structured, dict) and not outcome.is_error else None


async def _scope(report: str, calls: CallOptions | None, events: TurnEvents) -> str:
    """Returns where a report belongs: company research into the company's memory, anything else into one's own."""
    if calls is None or calls.provider is None:
        return "global"
    spec = shipped_spec("report-scope", calls.provider.identity)
    options = replace(calls, kind="report", turn_id=events.turn_id, emit=events.emit)
    told = {"title": report_title(report), "summary": "\n".join(summary_bullets(report))}
    try:
        decision = await run_constrained_ai(spec, told, options)
    except Exception:  # a classifier that cannot be asked is no reason to lose a report
        logger.exception("the scope of a report of %s could not be asked", events.turn_id)
        return "global"
    output = decision.output if isinstance(decision.output, Mapping) else {}
    return COMPANY_SCOPE if output.get("company_research") is True else "global"


def _was_shown(events: Sequence[TurnEvent]) -> bool:
    """Tells whether a tool of this turn returned a report, or saved one already: then the reply's is no new one."""
    called = [event for event in events if isinstance(event, ToolCalled) and not event.outcome.is_error]
    return any(event.name == _KEEP or (MARKER in event.outcome.content and not event.read_first) for event in called)


def _fetched(events: Sequence[TurnEvent]) -> Iterator[str]:
    """Yields the addresses that this turn's searches returned and its fetches read."""
    for event in events:
        answer = event.outcome.structured if isinstance(event, ToolCalled) and not event.outcome.is_error else None
        if not isinstance(event, ToolCalled) or not isinstance(answer, dict):
            continue
        if event.name == _FETCH:
            yield from (str(told) for told in (answer.get("url"), event.arguments.get("url")) if told)
        elif event.name == _SEARCH:
            yield from (
                str(row["url"]) for row in answer.get("results") or () if isinstance(row, dict) and "url" in row
            )


def _shortened(text: str, report: str) -> str:
    """Returns what is left of a reply: its words before the report, else the summary; and that it was saved."""
    before = text[: len(text) - len(report)].strip()
    words = before or "\n".join(f"- {bullet}" for bullet in summary_bullets(report)[:_MOST_BULLETS])
    return "\n\n".join(part for part in (words, f"Report saved: {report_title(report)}.") if part)
