"""A saved report in few words, as a prompt carries it (agent.md rows 53 and 56). Pure; shares no code with the server.

A report begins at a line that is the marker, outside code fences (agent.md section 7); its digest is the title, the
bullets of its Summary and the tiles of its metrics, without any tile about what the run cost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

MARKER = "<!-- prometheus-report v1 -->"
DEFAULT_TITLE = "Research report"
DIGEST_CHARACTERS = 1_500
REQUIRED_SECTIONS = ("Summary", "Sources")

_HEADING_MARKS = re.compile(r"^\s*(?:#+(?:\s+|$))+")
_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$")
# What a tile about the cost of the run says, as the reports server rules it (`tools_mcp/reports/run_cost.py`).
_MONEY = r"\b(?:costs?|costing|spen[dt]|spending|expenses?|charged?|billed)\b"
_WORK = r"(?:run|turn|session|report|research|query)(?![-\w])"
_TOTAL = r"^(?:(?:total|overall|api|model|llm|agent) )?"
_HAS_MONEY = re.compile(_MONEY)
_NOW = re.compile(r"\b(?:this|the current) (?:run|turn|session|query|request|conversation|chat)(?![-\w])")
_SAID = re.compile(
    rf"{_MONEY} (?:of|for|on|to (?:make|write|produce|prepare|generate)) (?:this {_WORK}|the {_WORK}$)"
    rf"|\b(?:this|the) {_WORK}(?:'s)? (?:costs?|spend|expenses?)$"
    rf"|{_TOTAL}{_WORK}(?:'s)? (?:costs?|spend|spending|expenses?)$"
    rf"|{_TOTAL}(?:costs?|spend) (?:of|for) {_WORK}$"
)


def report_in(text: str) -> str | None:
    """Returns the report in a text, from its marker to the end; None when there is none."""
    lines = text.split("\n")
    for at, (line, info) in enumerate(_outside_code(lines)):
        if info is None and line.strip() == MARKER:
            return "\n".join(lines[at:])
    return None


def report_title(report: str) -> str:
    """Returns the first `# ` heading outside code, else `DEFAULT_TITLE`."""
    found = (line[2:].strip() for line, info in _outside_code(report.split("\n")) if info is None and line[:2] == "# ")
    return next((title for title in found if title), DEFAULT_TITLE)


def summary_bullets(report: str) -> list[str]:
    """Returns the bullets under `## Summary`."""
    found: list[str] = []
    in_summary = False
    for line, info in _outside_code(report.split("\n")):
        if info is None and line.startswith("#"):
            in_summary = line.strip("#").strip().casefold() == "summary"
        elif info is None and in_summary and line.lstrip()[:2] in {"- ", "* "}:
            found.append(line.lstrip()[2:].strip())
    return found


def missing_sections(report: str) -> tuple[str, ...]:
    """Returns which of the two sections that every report has are not there (agent.md 2.2)."""
    lines = _outside_code(report.split("\n"))
    found = {line.strip("# ").casefold() for line, info in lines if info is None and line.startswith("## ")}
    return tuple(name for name in REQUIRED_SECTIONS if name.casefold() not in found)


def report_digest(report: str) -> str:
    """Returns title, summary and tiles, a line each, in at most `DIGEST_CHARACTERS` characters.

    No line begins with a heading's marks: what a report says must not look like a part of the prompt.
    """
    lines = [_HEADING_MARKS.sub("", report_title(report))]
    lines += [f"- {_HEADING_MARKS.sub('', bullet)}" for bullet in summary_bullets(report)]
    lines += [_HEADING_MARKS.sub("", tile) for tile in _tiles(report)]
    text = "\n".join(" ".join(line.split()) for line in lines)
    return text if len(text) <= DIGEST_CHARACTERS else f"{text[: DIGEST_CHARACTERS - 1].rstrip()}…"


def _tiles(report: str) -> Iterator[str]:
    lines = [line for line, info in _outside_code(report.split("\n")) if info == "prometheus-metrics"]
    for tile in _tiles_in("\n".join(lines)):
        label, value, note = (str(tile.get(name) or "").strip() for name in ("label", "value", "note"))
        if label and value and not _is_about_run_cost(label, value, note):
            yield f"{label}: {value}" + (f" ({note})" if note else "")


def _is_about_run_cost(*fields: str) -> bool:
    told = [" ".join(field.casefold().split()) for field in fields]
    whole = " / ".join(told)
    is_now = _HAS_MONEY.search(whole) and _NOW.search(whole)
    return bool(is_now) or any(_SAID.search(field) for field in told)


def _tiles_in(body: str) -> list[dict[str, Any]]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return []
    return [tile for tile in value if isinstance(tile, dict)] if isinstance(value, list) else []


def _outside_code(lines: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yields each line with the info word of the fence it is in, None outside; a fence's own lines are inside it."""
    fence, info = "", ""
    for line in lines:
        match = _FENCE.match(line)
        if fence:
            is_end = match is not None and match["fence"].startswith(fence) and not match["info"].strip()
            yield line, "" if is_end else info
            fence = "" if is_end else fence
        elif match:
            fence, info = match["fence"], match["info"].strip()
            yield line, ""
        else:
            yield line, None
