"""Markdown in, a report and its problems out. A Markdown parser finds the structure, so that fences mislead nobody."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tools_mcp.reports.blocks import PREFIX, BlockError, looks_like, read_block
from tools_mcp.reports.model import (
    MARKER,
    SECTIONS,
    Block,
    Broken,
    Part,
    Problem,
    Prose,
    Reading,
    Report,
    Section,
    Severity,
)

DEFAULT_TITLE = "Research report"
MOST_BULLETS = 3
SOURCES_BLOCK = f"{PREFIX}sources"

_BULLET = re.compile(r"[-*+]\s+(.*)", re.DOTALL)


def parser() -> MarkdownIt:
    """Return the parser of reports: CommonMark with tables. Raw HTML is found by it, and never shown."""
    return MarkdownIt("commonmark").enable("table")


def definitions(text: str) -> dict[str, Any]:
    """Return the link definitions of a text, as the parser's environment takes them."""
    environment: dict[str, Any] = {}
    _structure(text, environment)
    return {"references": environment.get("references", {})}


def read_report(text: str) -> Reading:
    """Return the report in a text, from its marker to the end, and every rule of the format that it breaks."""
    text = text.removeprefix("\ufeff")  # what some editors begin a file with
    lines = text.split("\n")
    environment: dict[str, Any] = {}
    tokens = _structure(text, environment)
    markers = _markers(tokens, lines)
    if not markers:
        return Reading(
            None, (Problem(1, "report", "marker", f"there is no line {MARKER} outside code; begin with it"),)
        )
    start = markers[0]
    problems = [
        Problem(line + 1, "report", "marker", "the marker stands a second time; a text holds one report")
        for line in markers[1:]
    ]
    walk = _Walk(lines, start, problems)
    walk.run(tokens)
    _check_sections(walk)
    _check_definitions(walk, environment)
    sections = (*walk.before, *walk.closed)
    report = Report(walk.title or DEFAULT_TITLE, _bullets(walk), sections, "\n".join(lines[start:]))
    return Reading(report, tuple(sorted(problems, key=lambda problem: problem.line)))


def _structure(text: str, environment: dict[str, Any]) -> list[Token]:
    """Parse what stands where, and no text inside it, which takes time that grows with its square."""
    return parser().disable("inline").parse(text, environment)


def _markers(tokens: Sequence[Token], lines: Sequence[str]) -> list[int]:
    """Return the lines, from 0, that are the marker: a comment of its own at the top level, not text in code."""
    found = (token.map[0] for token in tokens if token.type == "html_block" and token.level == 0 and token.map)
    return [line for line in found if lines[line].strip() == MARKER]


@dataclass
class _Walk:
    """One pass over the tokens of a report, collecting sections and problems."""

    lines: Sequence[str]
    start: int
    problems: list[Problem]
    title: str = ""
    before: list[Section] = field(default_factory=list)  # what stands before the first section
    closed: list[Section] = field(default_factory=list)
    tables: set[int] = field(default_factory=set)  # the lines, from 1, that a table begins in
    _name: str | None = None
    _line: int = 0
    _parts: list[Part] = field(default_factory=list)

    def run(self, tokens: Sequence[Token]) -> None:
        """Take every token of the top level; what is inside another one is its text."""
        for token, following in pairwise([*tokens, Token("end", "", 0)]):
            if token.map is None or token.map[1] <= self.start:
                continue
            first, last = token.map
            if token.level:
                self._look_for_hidden_block(token)
            elif token.type == "heading_open" and token.tag == "h1":
                self._take_title(following.content.strip(), first, last)
            elif token.type == "heading_open" and token.tag == "h2":
                self._open(following.content.strip(), first)
            elif token.type == "fence":
                self._take_fence(token, first, last)
            elif first != self.start and token.nesting >= 0:
                self._take_prose(token.type, first, last)
        if not self.title:
            self.complain(self.start + 1, "report", "title", "line 2 of a report is its title: # and a name")
        self._close()

    def complain(self, line: int, block: str, rule: str, message: str, severity: Severity = "error") -> None:
        """Note a broken rule; `line` counts from 0."""
        self.problems.append(Problem(min(line + 1, len(self.lines)), block, rule, message, severity))

    def _take_title(self, text: str, line: int, last: int) -> None:
        if self.title or self.closed or self._name is not None or self._parts:
            self.complain(line, "report", "title", "there is one title, and it stands in line 2")
        if line != self.start + 1:
            self.complain(line, "report", "title", "the title stands in the line right after the marker")
        if self.title:
            self._parts.append(self._prose(line, last))
        self.title = self.title or text

    def _open(self, name: str, line: int) -> None:
        self._close()
        self._name, self._line, self._parts = name, line, []

    def _close(self) -> None:
        section = Section(self._name or "", self._line + 1, tuple(self._parts))
        if self._name is not None:
            self.closed.append(section)
        elif self._parts:
            self.before.append(section)

    def _take_fence(self, token: Token, line: int, last: int) -> None:
        info = token.info.strip()
        if info.startswith(PREFIX):
            self._take_block(info, token.content, line)
            return
        meant = looks_like(info, token.content)
        if meant:
            self.complain(line, info[:80], "block-name", f"this is shown as code; {meant} may be meant", "warning")
        self._take_prose(token.type, line, last)

    def _take_block(self, name: str, content: str, line: int) -> None:
        if self._name is None:
            self.complain(line, name, "block-place", "the block stands before the first section")
        elif name == SOURCES_BLOCK and self._name != SECTIONS[-1]:
            self.complain(line, name, "block-place", "the block stands in the section Sources and nowhere else")
        try:
            self._parts.append(Block(line + 1, name, read_block(name, content)))
        except BlockError as error:
            place = line + error.line
            self.complain(place, name, error.rule, error.message)
            self._parts.append(Broken(min(place + 1, len(self.lines)), name, error.rule, error.message, content))

    def _take_prose(self, kind: str, first: int, last: int) -> None:
        if self._name is None:
            self.complain(
                first, "report", "section-first", "text stands before the first section; begin with ## Summary"
            )
        if kind == "table_open":
            self.tables.add(first + 1)
        self._parts.append(self._prose(first, last))

    def _prose(self, first: int, last: int) -> Prose:
        return Prose(first + 1, "\n".join(self.lines[first:last]))

    def _look_for_hidden_block(self, token: Token) -> None:
        if token.type == "fence" and token.info.strip().startswith(PREFIX):
            line = (token.map or (0, 0))[0]
            self.complain(
                line, token.info.strip(), "block-place", "the block stands inside a list or quote; move it out"
            )


def _check_sections(walk: _Walk) -> None:
    known = Counter(section.name for section in walk.closed)
    places = [SECTIONS.index(section.name) for section in walk.closed if section.name in SECTIONS]
    for section in walk.closed:
        if section.name not in SECTIONS:
            walk.complain(section.line - 1, section.name or "##", "section-name", f"use one of: {', '.join(SECTIONS)}")
        elif known[section.name] > 1:
            walk.complain(section.line - 1, section.name, "section-once", "the section stands more than once")
    if places != sorted(places):
        walk.complain(walk.start, "report", "section-order", f"the order is: {', '.join(SECTIONS)}")
    for name in (SECTIONS[0], SECTIONS[-1]):
        if name not in known:
            walk.complain(walk.start, "report", "section-required", f"## {name} is missing")
    for section in walk.closed:
        _check_section(walk, section)


def _check_definitions(walk: _Walk, environment: Mapping[str, Any]) -> None:
    """Find link definitions after the sources: the parser keeps them aside, with no token where they stand."""
    last = next((section.line for section in walk.closed if section.name == SECTIONS[-1]), None)
    if last is None:
        return
    kept: Iterable[Mapping[str, Any]] = (
        *environment.get("references", {}).values(),
        *environment.get("duplicate_refs", ()),
    )
    for one in kept:
        if one["map"][0] >= last:
            walk.complain(one["map"][0], "Sources", "sources-last", "nothing but its block stands here, or after it")


def _check_section(walk: _Walk, section: Section) -> None:
    line = section.line - 1
    if section.name == "Summary":
        bullets = [one for part in section.parts if isinstance(part, Prose) for one in _items(part)]
        plain = [part for part in section.parts if not isinstance(part, Prose) or not _items(part)]
        if not 1 <= len(bullets) <= MOST_BULLETS:
            walk.complain(
                line, "Summary", "summary-bullets", f"it has {len(bullets)} bullets; give 1 to {MOST_BULLETS}"
            )
        if plain:
            walk.complain(plain[0].line - 1, "Summary", "summary-bullets", "only bullets stand here")
    elif section.name == "Findings":
        if not any(part.line in walk.tables for part in section.parts):
            walk.complain(line, "Findings", "findings-table", "the findings are a Markdown table")
    elif section.name == "Sources":
        blocks = [part for part in section.parts if not isinstance(part, Prose) and part.name == SOURCES_BLOCK]
        if len(blocks) != 1:
            walk.complain(line, "Sources", "sources-block", "it holds one prometheus-sources block")
        for part in section.parts:
            if isinstance(part, Prose) or part.name != SOURCES_BLOCK:
                walk.complain(
                    part.line - 1, "Sources", "sources-last", "nothing but its block stands here, or after it"
                )


def _bullets(walk: _Walk) -> tuple[str, ...]:
    summary = next((section for section in walk.closed if section.name == "Summary"), None)
    parts = summary.parts if summary else ()
    return tuple(one for part in parts if isinstance(part, Prose) for one in _items(part))[:MOST_BULLETS]


def _items(prose: Prose) -> list[str]:
    """Return the bullets of a list, None of them for text that is no list."""
    items: list[str] = []
    for line in prose.markdown.split("\n"):
        bullet = _BULLET.fullmatch(line.strip()) if not line.startswith("  ") else None
        if bullet:
            items.append(bullet[1].strip())
        elif items and line.strip():
            items[-1] += " " + line.strip()
        elif line.strip():
            return []
    return items
