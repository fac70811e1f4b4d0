"""Whether a report is new, or one that a tool of the turn returned. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from agent_host.providers.protocol import JsonValue
from agent_host.report_digest import MARKER, missing_sections, report_in
from agent_host.tracing.events import ToolCalled, TurnEvent


def was_shown(report: str, events: Iterable[TurnEvent]) -> bool:
    """Tells whether a tool of this turn returned this very report, so that a reply with it only shows it.

    Words after it do not count, and neither do white space and line breaks. Another report counts for nothing, and no
    more does a text that only holds the marker: a stranger's page must not keep a report from being saved. What the
    host looked up before the model was asked is a digest or a passage in the prompt, which no model can show whole.
    """
    said = _plain(report)
    calls = [event for event in events if isinstance(event, ToolCalled) and not (event.read_first or event.gated)]
    outcomes = [call.outcome for call in calls if not call.outcome.is_error]
    shown = (one for outcome in outcomes for one in reports_in([outcome.content, outcome.structured]))
    return any(not missing_sections(one) and said.startswith(_plain(one)) for one in shown)


def reports_in(value: JsonValue) -> Iterator[str]:
    """Yields the reports in a value's texts, at any depth; without recursion, as the depth is a server's choice."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            if MARKER in one and (report := report_in(one)):
                yield report
        elif isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, Sequence):
            waiting += one


def _plain(report: str) -> str:
    return " ".join(report.split())
