"""The reports server's tools: definitions only; the format is in `reading` and `blocks`, the folder in `store`."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastmcp import FastMCP
from fastmcp.tools.base import ToolResult
from pydantic import BeforeValidator, Field

from service_runtime.mcp_server import new_server
from service_runtime.settings import Settings
from service_runtime.tool_arguments import NOT_NULL
from tools_mcp.arguments import Cursor, Id, Limit
from tools_mcp.errors import ConflictError, InvalidInputError
from tools_mcp.paging import clamp, decode_cursor, encode_cursor, first_page, json_size
from tools_mcp.reports.answers import (
    DiffAnswer,
    Format,
    PageAnswer,
    ReportList,
    ReportRow,
    ReportText,
    SavedAnswer,
    Validation,
    difference_row,
    problem_line,
    problem_rows,
    report_row,
)
from tools_mcp.reports.checking import questions
from tools_mcp.reports.comparing import differences
from tools_mcp.reports.digest import digest
from tools_mcp.reports.model import MARKER, Reading, Report
from tools_mcp.reports.page import page
from tools_mcp.reports.reading import read_report
from tools_mcp.reports.store import MOST_BYTES, ReportFolder, Saved, open_reports
from tools_mcp.texts import many_lines, one_line
from tools_mcp.tool_definition import Kind, add_tool, answer

_INSTRUCTIONS = "Research reports in a fixed Markdown format: checked, kept, compared and shown as a page."
_PART_BYTES = 16_000  # of a text in one answer, as JSON; it is in there twice, as data and as text
_MOST_DIFFERENCES = 60
_Markdown = Annotated[str, Field(min_length=1, max_length=MOST_BYTES)]
_Scope = Annotated[str | None, Field(max_length=200)]
_MemoryId = Annotated[str, Field(max_length=200), NOT_NULL] | None
_Format = Annotated[Format, BeforeValidator(lambda value: "markdown" if value is None else value)]


def _seen(value: Any) -> Any:
    if isinstance(value, str):
        try:
            decoded = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return decoded if isinstance(decoded, list) else value
    return value


_Urls = Annotated[tuple[Annotated[str, Field(max_length=2000)], ...], Field(max_length=50)]
_Seen = Annotated[_Urls | None, BeforeValidator(_seen), Field(description="URLs fetched")]


def build(settings: Settings) -> "FastMCP[Any]":
    """Return the reports server of one home.

    Raises:
        SetupError: The home cannot be written or the configured zone is unknown.
    """
    tools = ReportTools(open_reports(settings))

    @asynccontextmanager
    async def lifespan(_: "FastMCP[Any]") -> AsyncIterator[dict[str, Any]]:
        yield {}

    server = new_server("reports", _INSTRUCTIONS, lifespan)
    add_tool(server, tools.validate, "report_validate", Kind.READ, Validation)
    add_tool(server, tools.save, "report_save", Kind.KEEP, SavedAnswer)
    add_tool(server, tools.get, "report_get", Kind.READ, ReportText)
    add_tool(server, tools.list_reports, "report_list", Kind.READ, ReportList)
    add_tool(server, tools.render, "report_render", Kind.KEEP, PageAnswer)
    add_tool(server, tools.diff, "report_diff", Kind.READ, DiffAnswer)
    server.resource("report://{id}/page.html", mime_type="text/html", name="The page of a report")(tools.page_of)
    return server


@dataclass(frozen=True)
class ReportTools:
    """One method per tool; its docstring is the description that models read."""

    folder: ReportFolder

    def validate(self, *, markdown: _Markdown, sources_seen: _Seen = None) -> ToolResult:
        """Check a report rule by rule, with line numbers."""
        reading, problems = _checked(markdown, sources_seen)
        rows = problem_rows(problems)
        more = len(problems) - len(rows) or None
        model = Validation(valid=reading.is_valid, problems=rows, more=more)
        verdict = "The report is valid." if model.valid else "The report is not valid."
        return answer(model, "\n".join([verdict, *(problem_line(row) for row in rows)]))

    def save(
        self, *, markdown: _Markdown, scope: _Scope = None, sources_seen: _Seen = None, memory_id: _MemoryId = None
    ) -> ToolResult:
        """Keep a report, even one that breaks rules; the same once."""
        reading, problems = _checked(markdown, sources_seen)
        if reading.report is None:
            raise InvalidInputError(f"The text holds no report; send one with the line {MARKER} before its title.")
        place = one_line(scope or "global", "scope", 200) or "global"
        is_new, saved = self.folder.save(reading.report, place, sources_seen, _clean_id(memory_id))
        rows = problem_rows(problems)
        model = SavedAnswer(
            status="saved" if is_new else "exists",
            report=self._row(saved),
            memory_id=saved.memory_id,
            valid=reading.is_valid,
            problems=rows,
        )
        told = "Report saved" if is_new else "This report is there already"
        broken = [] if reading.is_valid else ["It breaks rules of the format:"]
        return answer(
            model, "\n".join([f"{told}: {model.report.title} [{saved.id}]", *broken, *map(problem_line, rows)])
        )

    def get(self, *, id: Id, format: _Format = "markdown", cursor: Cursor = None) -> ToolResult:  # noqa: A002
        """Read a report, a long one in parts."""
        saved, text = self._text(id, format)
        start = 0
        if cursor:
            start, seen = decode_cursor(cursor, "report", (int, str))
            if seen != f"{saved.id} {format}":
                raise ConflictError("The cursor is of another report or format; ask again without cursor.")
        part = _part(text, max(0, start))
        end = max(0, start) + len(part)
        following = encode_cursor("report", end, f"{saved.id} {format}") if end < len(text) else None
        model = ReportText(report=self._row(saved), format=format, text=part, next_cursor=following)
        return answer(model, part or "Nothing follows.")

    def list_reports(self, *, scope: _Scope = None, limit: Limit = None, cursor: Cursor = None) -> ToolResult:
        """List reports, newest first."""
        after = decode_cursor(cursor, "reports", (int, str)) if cursor else None
        saved = [one for one in self.folder.newest(scope or None) if after is None or (one.saved_at_ms, one.id) < after]
        rows = [self._row(one) for one in saved]
        shown = first_page(rows, clamp(limit, 20, 100), json_size)
        last = saved[len(shown) - 1] if len(shown) < len(saved) else None
        following = encode_cursor("reports", last.saved_at_ms, last.id) if last else None
        lines = [f"{row.saved[:10]} {row.title} [{row.id}]" for row in shown] or ["No reports."]
        lines += ["There are more; ask again with next_cursor."] if following else []
        damaged = [] if cursor else self.folder.damaged()
        lines += [f"Not readable any more: {', '.join(damaged)}."] if damaged else []
        model = ReportList(reports=list(shown), damaged=damaged or None, next_cursor=following)
        return answer(model, "\n".join(lines))

    def render(self, *, id: Id) -> ToolResult:  # noqa: A002 - the argument's public name
        """Write a report as one HTML page."""
        saved, report, problems = self.folder.whole(id)
        html = self._page(saved, report)
        name = self.folder.write_page(saved.id, html)
        resource = f"report://{saved.id}/page.html"
        valid, rows = not any(one.severity == "error" for one in problems), problem_rows(problems)
        size = len(html.encode())
        model = PageAnswer(id=saved.id, file=name, resource=resource, size_bytes=size, valid=valid, problems=rows)
        told = f"The page is {name} in the reports folder, and the resource {resource}."
        broken = [] if valid else ["The report breaks rules of the format:"]
        return answer(model, "\n".join([told, *broken, *map(problem_line, rows)]))

    def diff(self, *, old: Id, new: Id) -> ToolResult:
        """Tell what changed from one report to a later one."""
        (before, first, _), (after, second, _) = self.folder.whole(old), self.folder.whole(new)
        found = differences(first, second)
        rows = first_page([difference_row(one) for one in found], _MOST_DIFFERENCES, json_size)
        more = len(found) - len(rows) or None
        model = DiffAnswer(old=before.id, new=after.id, differences=list(rows), more=more)
        lines = [f"{row.change} {row.what} {row.name}: {row.before or '-'} -> {row.after or '-'}" for row in rows]
        same = "Nothing changed." if first.text == second.text else "Only order, spacing or marking changed."
        return answer(model, "\n".join(lines) or same)

    def page_of(self, id: str) -> str:  # noqa: A002 - the argument's public name
        """A report as one HTML page."""
        saved, report, _ = self.folder.whole(id)
        return self._page(saved, report)

    def _page(self, saved: Saved, report: Report) -> str:
        return page(report, f"Saved {self.folder.local(saved.saved_at_ms):%d %B %Y, %H:%M %Z}")

    def _text(self, report_id: str, format: Format) -> tuple[Saved, str]:  # noqa: A002 - as the argument is called
        saved, report, _ = self.folder.whole(report_id)
        match format:
            case "markdown":
                return saved, report.text
            case "html":
                return saved, self._page(saved, report)
            case "digest":
                return saved, digest(report)
            case "json":
                return saved, json.dumps(asdict(report) | {"text": None}, ensure_ascii=False)

    def _row(self, saved: Saved) -> ReportRow:
        return report_row(saved.id, saved.title, saved.summary, saved.scope, self.folder.local(saved.saved_at_ms))


def _clean_id(memory_id: str | None) -> str | None:
    return one_line(memory_id or "", "memory_id", 200) or None


def _checked(markdown: str, seen: tuple[str, ...] | None) -> tuple[Reading, tuple[Any, ...]]:
    reading = read_report(many_lines(markdown, "markdown", MOST_BYTES))
    asked = questions(reading.report, seen) if reading.report else ()
    return reading, tuple(sorted((*reading.problems, *asked), key=lambda one: (one.severity, one.line)))


def _part(text: str, start: int) -> str:
    part = text[start : start + _PART_BYTES]
    while (size := len(json.dumps(part, ensure_ascii=False).encode())) > _PART_BYTES:
        part = part[: min(len(part) - 1, len(part) * _PART_BYTES // size)]
    return part
