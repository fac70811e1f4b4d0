"""What can be done with research reports, and how it is done."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agent_host.providers.offline.reports.replies import (
    Report,
    difference_lines,
    name_of,
    read_reports,
    report_lines,
    report_text,
)
from agent_host.providers.offline.results import as_mapping, failure, text_of
from agent_host.providers.offline.routine import Call, Routine, Scene
from agent_host.providers.offline.wording import clip, coverage, stems

_LIST = Call("report_list", {"limit": 100})
_FITS = 0.99
_SHOWN = 20
_TWO = 2
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class ListReports:
    """Show which reports there are, or those about something."""

    about: str = ""

    def run(self, scene: Scene) -> Routine:
        """Lists the reports, newest first."""
        (outcome,) = yield (_LIST,)
        if outcome.is_error:
            return failure(outcome, "list your reports")
        reports = read_reports(outcome, scene)
        fitting = _fitting(reports, self.about)
        if not fitting:
            return _none(reports, self.about, scene)
        more = "\nThere are more than I can show here." if _has_more(fitting, outcome.data) else ""
        return f"Your reports, newest first:\n{report_lines(fitting[:_SHOWN], scene)}{more}"


@dataclass(frozen=True)
class ShowReport:
    """Show one report: in short, or `whole`."""

    about: str = ""
    whole: bool = False

    def run(self, scene: Scene) -> Routine:
        """Reads the newest report that fits and names the others."""
        (listed,) = yield (_LIST,)
        if listed.is_error:
            return failure(listed, "look into your reports")
        reports = read_reports(listed, scene)
        fitting = _fitting(reports, self.about)
        if not fitting:
            return _none(reports, self.about, scene)
        report = fitting[0]
        wanted = "markdown" if self.whole else "digest"
        (read,) = yield (Call("report_get", {"id": report.id, "format": wanted}),)
        if read.is_error:
            return failure(read, f"open {name_of(report, scene)}")
        others = f"\n\nAlso:\n{report_lines(fitting[1:_SHOWN], scene)}" if fitting[1:] else ""
        hint = "" if self.whole else "\nThat is its digest; say “show the whole report on …” for all of it."
        return f"Report {name_of(report, scene)}:\n{report_text(read)}{hint}{others}"


@dataclass(frozen=True)
class RenderReport:
    """Make a page of a report."""

    about: str = ""

    def run(self, scene: Scene) -> Routine:
        """Renders the newest report that fits."""
        (listed,) = yield (_LIST,)
        if listed.is_error:
            return failure(listed, "look into your reports")
        reports = read_reports(listed, scene)
        fitting = _fitting(reports, self.about)
        if not fitting:
            return _none(reports, self.about, scene)
        (made,) = yield (Call("report_render", {"id": fitting[0].id}),)
        if made.is_error:
            return failure(made, f"make a page of {name_of(fitting[0], scene)}")
        file = clip(text_of(made.data, "file"), 200) or "an HTML file"
        return f"{name_of(fitting[0], scene)} is a page now: {file} in the reports folder."


@dataclass(frozen=True)
class CompareReports:
    """Tell what changed between two reports; without `other`, between the two newest that fit."""

    one: str = ""
    other: str = ""

    def run(self, scene: Scene) -> Routine:
        """Compares the earlier with the later, whichever was named first."""
        (listed,) = yield (_LIST,)
        if listed.is_error:
            return failure(listed, "look into your reports")
        reports = read_reports(listed, scene)
        pair = self._pair(reports)
        if len(pair) < _TWO:
            return self._no_pair(reports, pair, scene)
        new, old = sorted(
            pair, key=lambda report: report.saved or datetime.max.replace(tzinfo=scene.zone), reverse=True
        )
        (found,) = yield (Call("report_diff", {"old": old.id, "new": new.id}),)
        if found.is_error:
            return failure(found, "compare them")
        lines = difference_lines(found)
        head = f"From {name_of(old, scene)} to {name_of(new, scene)}"
        return f"{head}:\n{lines}" if lines else f"{head}, nothing changed that can be compared."

    def _pair(self, reports: Sequence[Report]) -> list[Report]:
        """Returns the two reports meant, or fewer; the same words twice mean the two newest."""
        first = _fitting(reports, self.one)
        if not self.other:
            return first[:_TWO]
        second = _fitting(reports, self.other)
        pairs = ([left, right] for left in first for right in second if left.id != right.id)
        return next(pairs, first[:1] or second[:1])

    def _no_pair(self, reports: Sequence[Report], found: Sequence[Report], scene: Scene) -> str:
        if not found:
            return _none(reports, " ".join(filter(None, (self.one, self.other))), scene)
        return f"I found only {name_of(found[0], scene)}, and it takes two reports to compare."


def _fitting(reports: Sequence[Report], about: str) -> list[Report]:
    """Returns the reports that hold all wanted words; what the title holds counts before the rest."""
    if not about:
        return list(reports)
    titled = [report for report in reports if _holds(about, report.title)]
    return titled or [report for report in reports if _holds(about, report.words)]


def _holds(about: str, text: str) -> bool:
    """Tells whether a text holds all wanted words; "A" counts as one when nothing else is wanted."""
    if stems(about):
        return coverage(about, text) >= _FITS
    return set(_WORD.findall(about.casefold())) <= set(_WORD.findall(text.casefold()))


def _has_more(fitting: Sequence[Report], data: object) -> bool:
    return len(fitting) > _SHOWN or bool(as_mapping(data).get("next_cursor"))  # type: ignore[arg-type]


def _none(reports: Sequence[Report], about: str, scene: Scene) -> str:
    """Says that no report fits, and which there are when they are few."""
    if not reports:
        return "You have no reports yet."
    there = f" These are there:\n{report_lines(reports[:_SHOWN], scene)}" if reports else ""
    return f"I found no report on “{clip(about, 80)}”.{there}"
