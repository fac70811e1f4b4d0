"""Reports as the reports server returned them, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from textwrap import indent

from agent_host.providers.offline.results import as_list, moment_of, rows_of, text_of
from agent_host.providers.offline.routine import Outcome, Scene
from agent_host.providers.offline.times.format import show_day
from agent_host.providers.offline.wording import bullets, clip
from agent_host.providers.protocol import JsonValue

_LONGEST_TITLE = 150
_LONGEST_LINE = 200
_LONGEST_TEXT = 6000
_SHOWN = 15


@dataclass(frozen=True)
class Report:
    """One saved report, as a tool returned it."""

    id: str
    title: str
    summary: str
    saved: datetime | None

    @property
    def words(self) -> str:
        """All that a person may name it by: title, summary, id, and the day it was saved."""
        return f"{self.title} {self.summary} {self.id} {f'{self.saved:%A %d %B %Y}' if self.saved else ''}"


def read_report(row: Mapping[str, JsonValue], scene: Scene) -> Report:
    """Reads one report; what is missing reads as nothing."""
    summary = " ".join(line for line in as_list(row.get("summary")) if isinstance(line, str))
    title = clip(text_of(row, "title"), _LONGEST_TITLE) or "(no title)"
    saved = moment_of(row.get("saved"), scene.zone) or moment_of(row.get("saved_utc"), scene.zone)
    return Report(str(row.get("id") or ""), title, summary, saved)


def read_reports(outcome: Outcome, scene: Scene) -> list[Report]:
    """Reads a list of reports, in its order: newest first."""
    return [read_report(row, scene) for row in rows_of(outcome, "reports", "items")]


def name_of(report: Report, scene: Scene) -> str:
    """Returns "“Solar in Spain” (Tuesday 1 December)"."""
    saved = f" ({show_day(report.saved.date(), scene.today)})" if report.saved else ""
    return f"“{report.title}”{saved}"


def report_lines(reports: Iterable[Report], scene: Scene) -> str:
    """Returns reports as a list: title, day, how the summary begins."""
    return bullets(
        f"{name_of(report, scene)}{f': {clip(report.summary, _LONGEST_LINE)}' if report.summary else ''}"
        for report in reports
    )


def report_text(outcome: Outcome) -> str:
    """Returns what was read of a report, set in by two spaces; a long one is cut and says so."""
    text = (text_of(outcome.data, "text") or outcome.content).strip()
    goes_on = len(text) > _LONGEST_TEXT or text_of(outcome.data, "next_cursor")
    return indent(text[:_LONGEST_TEXT] or "(empty)", "  ") + ("\n  … it goes on." if goes_on else "")


def difference_lines(outcome: Outcome) -> str:
    """Returns what changed from one report to another, a line each; "" when nothing did."""
    rows = rows_of(outcome, "differences")
    left_out = len(rows) - _SHOWN
    more = f"\n… and {left_out} more." if left_out > 0 else ""
    return bullets(map(_difference, rows[:_SHOWN])) + more


def _difference(row: Mapping[str, JsonValue]) -> str:
    name = clip(text_of(row, "name"), _LONGEST_LINE)
    before, after = (clip(text_of(row, side), _LONGEST_LINE) for side in ("before", "after"))
    what = text_of(row, "what")
    kind = f"{what} " if what and what != name else ""
    told = {"added": after, "removed": before}.get(text_of(row, "change"), f"{before or '-'} → {after or '-'}")
    verb = {"added": "new: ", "removed": "gone: "}.get(text_of(row, "change"), "")
    return f"{verb}{kind}{name}" + (f": {told}" if told and told != name else "")
