"""Saves the research report in a reply whole, once a turn, and leaves of it in the reply that it was saved.

A report goes to memory, where the next research reads it first, and to the reports server where there is one, together
with the addresses that were really fetched in the turn, so that a source nobody read is told (agent.md rows 56 to 58).
It is the host that saves: by its own calls, which no words of a web page can have asked for, and as text of the web
when the turn read any. A reply stays as it is, and says why, when its report cannot be saved or is none; and without a
word when it only shows a report that a tool of this turn returned.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from agent_host.calling import call_tool
from agent_host.consolidation.facts import COMPANY_SCOPE, GLOBAL_SCOPE
from agent_host.consolidation.reading import heard_outside
from agent_host.consolidation.sending import REMEMBER
from agent_host.constrained.call import run_constrained_ai
from agent_host.constrained.options import CallOptions
from agent_host.constrained.specs import shipped_spec
from agent_host.identifiers import new_use_id
from agent_host.loop import Reply
from agent_host.mcp_clients.protocol import ToolBox, ToolOutcome
from agent_host.providers.protocol import JsonValue, Message, Text, ToolSpec, ToolUse
from agent_host.report_digest import missing_sections, report_in, report_title, summary_bullets
from agent_host.report_shown import reports_in, was_shown
from agent_host.tracing.events import Notice, ReportSaved, ToolCalled, TurnEvent
from agent_host.tracing.turn_events import TurnEvents

_KEEP, _FETCH, _SEARCH = "report_save", "search_fetch", "search_web"
_STORES: Final[Mapping[str, str]] = {REMEMBER: "memory", "memory_update": "memory", _KEEP: "reports"}
"""The tools that store where the host saves a report, and their servers."""
_REFUSED: Final = "A report is saved whole after the reply, once; answer with it and leave the saving to that."
_MOST_SOURCES: Final = 50
_MOST_BULLETS: Final = 3

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class OneReport:
    """A tool box that refuses to store a report on the model's word: the host saves it, whole and once."""

    inner: ToolBox

    async def specs(self) -> tuple[ToolSpec, ...]:
        """Returns the tools there are."""
        return await self.inner.specs()

    async def call(self, name: str, arguments: Mapping[str, JsonValue], meta: Mapping[str, str]) -> ToolOutcome:
        """Calls a tool, unless it would store a report beside the one that the host saves (agent.md row 58)."""
        if name in _STORES and any(reports_in(arguments)) and await _can_save(self.inner):
            return ToolOutcome(_STORES[name], name, _REFUSED, None, is_error=True, duration_ms=0)
        return await self.inner.call(name, arguments, meta)

    def problems(self) -> tuple[str, ...]:
        """Returns which servers cannot be used."""
        return self.inner.problems()

    async def close(self) -> None:
        """Closes the tool box."""
        await self.inner.close()


async def with_report_saved(
    reply: Reply, tools: ToolBox, calls: CallOptions | None, events: TurnEvents, *, shown_outside: bool = False
) -> Reply:
    """Returns the reply with its report saved and taken out; the same reply when there is none to save.

    `shown_outside`: the prompt shows what an earlier turn read of other people, which the report may be about. `calls`
    asks a model which scope it belongs to; without it, and when that fails, it is `global`. Never raises, but
    for a cancellation: whatever goes wrong, the reply is there.
    """
    report = report_in(reply.text)
    if report is None or was_shown(report, events.kept):
        return reply
    if missing := missing_sections(report):
        events.emit(Notice(f"The report in the reply has no {' and no '.join(missing)}, so it was not saved as one."))
        return reply
    try:
        saved = await _Saving(report, tools, events, shown_outside).everywhere(calls)
    except Exception:  # a fault of ours must not cost the reply that holds the report
        logger.exception("the report of %s could not be saved", events.turn_id)
        events.emit(Notice("The report was not saved, by an error of this program; see its log."))
        return reply
    if not saved:
        return reply
    text = _shortened(reply.text, report)
    return replace(reply, text=text, messages=(*reply.messages[:-1], Message("assistant", (Text(text),))))


@dataclass(frozen=True)
class _Saving:
    """One report on its way; each call is a tool event of the turn."""

    report: str
    tools: ToolBox
    events: TurnEvents
    shown_outside: bool

    async def everywhere(self, calls: CallOptions | None) -> bool:
        """Saves it in memory, then with the reports server; returns whether memory has it."""
        names = {spec.name for spec in await self.tools.specs()}
        if REMEMBER not in names:
            return False
        scope = await _scope(self.report, calls, self.events)
        memory_id = await self._to_memory(scope)
        if memory_id is None:
            return False
        if _KEEP in names:
            await self._to_reports(scope, memory_id)
        bullets = tuple(summary_bullets(self.report)[:_MOST_BULLETS])
        self.events.emit(ReportSaved(report_title(self.report), memory_id, scope, bullets))
        return True

    async def _to_memory(self, scope: str) -> str | None:
        """Returns the memory's id, None when it could not be stored."""
        answer = await self._called(
            REMEMBER,
            {
                "body": self.report,
                "kind": "semantic",
                "scope": scope,
                "subject": report_title(self.report),
                "tags": ["report"],
                "trust": "web" if self.shown_outside or heard_outside(self.events.kept) else "agent",
                "idempotency_key": f"{self.events.turn_id}:report",
            },
        )
        memory = answer.get("memory") if answer else None
        return str(memory["id"]) if isinstance(memory, dict) and memory.get("id") else None

    async def _to_reports(self, scope: str, memory_id: str) -> None:
        """Keeps it as a file too, and says what the reports server has against it."""
        seen = list(dict.fromkeys(_fetched(self.events.kept)))[:_MOST_SOURCES]
        told = {"markdown": self.report, "scope": scope, "sources_seen": seen, "memory_id": memory_id}
        answer = await self._called(_KEEP, told)
        problems = answer.get("problems") if answer else None
        remarks = [str(one.get("message")) for one in problems or () if isinstance(one, dict)]
        if remarks:
            self.events.emit(Notice(f"The report was saved with remarks: {'; '.join(remarks)}."))

    async def _called(self, name: str, arguments: Mapping[str, JsonValue]) -> Mapping[str, Any] | None:
        """Returns what a tool answered, None when it failed, which is told."""
        use, emit = ToolUse(new_use_id(), name, arguments), self.events.emit
        outcome = await call_tool(self.tools, use, emit, self.events.turn_id, by_host=True)
        if outcome.is_error and not (outcome.permission and outcome.permission.answer == "unasked"):  # that is told
            emit(Notice(f"The report could not be saved with {name}: {outcome.content}"))
        return outcome.structured if isinstance(outcome.structured, dict) and not outcome.is_error else None


async def _can_save(tools: ToolBox) -> bool:
    return REMEMBER in {spec.name for spec in await tools.specs()}


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
    return COMPANY_SCOPE if output.get("company_research") is True else GLOBAL_SCOPE


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
