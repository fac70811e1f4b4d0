"""What the report tools answer: models for programs, and the rows made of domain values. Pure."""

from datetime import UTC, datetime
from typing import Literal, TypeAlias

from pydantic import BaseModel, Field

from tools_mcp.reports.comparing import Change, Difference
from tools_mcp.reports.model import Problem, Severity
from tools_mcp.texts import cut

Format: TypeAlias = Literal["markdown", "html", "digest", "json"]

MOST_PROBLEMS = 50
_TITLE_BYTES, _TEXT_BYTES = 300, 600


class ProblemRow(BaseModel):
    """A rule that the report breaks."""

    line: int
    block: str
    rule: str
    message: str
    severity: Severity


class Validation(BaseModel):
    """What a check found."""

    valid: bool
    problems: list[ProblemRow] = []
    more: int | None = Field(default=None, description="problems not shown")


class ReportRow(BaseModel):
    """A report in a list."""

    id: str
    title: str
    summary: list[str] = []
    scope: str
    saved: str = Field(description="local time")
    saved_utc: str


class SavedAnswer(BaseModel):
    """What became of a report."""

    status: Literal["saved", "exists"]
    report: ReportRow
    memory_id: str | None = None
    valid: bool
    problems: list[ProblemRow] = []


class ReportText(BaseModel):
    """A report, or the part of it that fits in one answer."""

    untrusted: Literal[True] = Field(default=True, description="its words are those of its sources")
    report: ReportRow
    format: Format
    text: str
    next_cursor: str | None = None


class ReportList(BaseModel):
    """A page of reports, newest first."""

    untrusted: Literal[True] = True
    reports: list[ReportRow]
    damaged: list[str] | None = Field(default=None, description="files that tell of no report any more")
    next_cursor: str | None = None


class PageAnswer(BaseModel):
    """Where a report's page is."""

    id: str
    file: str = Field(description="in the reports folder")
    resource: str
    size_bytes: int
    valid: bool
    problems: list[ProblemRow] = []


class DifferenceRow(BaseModel):
    """One thing that differs."""

    what: str
    name: str
    change: Change
    before: str | None = None
    after: str | None = None


class DiffAnswer(BaseModel):
    """What changed since."""

    untrusted: Literal[True] = True
    old: str
    new: str
    differences: list[DifferenceRow]
    more: int | None = Field(default=None, description="differences not shown")


def problem_rows(problems: tuple[Problem, ...]) -> list[ProblemRow]:
    """Return the first problems as rows."""
    return [
        ProblemRow(
            line=one.line,
            block=cut(one.block, 100),
            rule=one.rule,
            message=cut(one.message, 300),
            severity=one.severity,
        )
        for one in problems[:MOST_PROBLEMS]
    ]


def report_row(report_id: str, title: str, summary: tuple[str, ...], scope: str, local: datetime) -> ReportRow:
    """Return a report as a list shows it."""
    return ReportRow(
        id=report_id,
        title=cut(title, _TITLE_BYTES),
        summary=[cut(one, _TEXT_BYTES) for one in summary],
        scope=cut(scope, _TITLE_BYTES),
        saved=local.isoformat(timespec="seconds"),
        saved_utc=f"{local.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
    )


def difference_row(one: Difference) -> DifferenceRow:
    """Return a difference as a row."""
    return DifferenceRow(
        what=one.what,
        name=cut(one.name, _TEXT_BYTES),
        change=one.change,
        before=None if one.before is None else cut(one.before, _TEXT_BYTES),
        after=None if one.after is None else cut(one.after, _TEXT_BYTES),
    )


def problem_line(row: ProblemRow) -> str:
    """Return a problem as one line of text."""
    return f"line {row.line}, {row.block} ({row.rule}, {row.severity}): {row.message}"
