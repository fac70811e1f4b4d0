"""Markdown in, a report and its problems out. A Markdown parser finds the structure, so that fences mislead nobody."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tools_mcp.reports.blocks import PREFIX, BlockError, read_block
from tools_mcp.reports.model import MARKER, SECTIONS, Block, Problem, Prose, Reading, Report, Section

DEFAULT_TITLE = "Research report"
MOST_BULLETS = 3

_BULLET = re.compile(r"[-*+]\s+(.*)", re.DOTALL)


def parser() -> MarkdownIt:
    """Return the parser of reports: CommonMark with tables. Raw HTML is found by it, and never shown."""
    return MarkdownIt("commonmark").enable("table")


def read_report(text: str) -> Reading:
    """Return the report in a text, from its marker to the end, and every rule of the format that it breaks."""
    text = text.removeprefix("\ufeff")  # what some editors begin a file with
    lines = text.split("\n")
    tokens = parser().parse(text)
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
    walk.run(_from(tokens, start))
    _check_sections(walk)
    report = Report(walk.title or DEFAULT_TITLE, _bullets(walk), tuple(walk.closed), "\n".join(lines[start:]))
    return Reading(report, tuple(sorted(problems, key=lambda problem: problem.line)))


def _markers(tokens: Sequence[Token], lines: Sequence[str]) -> list[int]:
    """Return the lines, from 0, that are the marker: a comment of its own at the top level, not text in code."""
    found = (token.map[0] for token in tokens if token.type == "html_block" and token.level == 0 and token.map)
    return [line for line in found if lines[line].strip() == MARKER]


def _from(tokens: Sequence[Token], start: int) -> Iterator[Token]:
    return (token for token in tokens if token.map is not None and token.map[1] > start)


@dataclass
class _Walk:
    """One pass over the tokens of a report, collecting sections and problems."""

    lines: Sequence[str]
    start: int
    problems: list[Problem]
    title: str = ""
    closed: list[Section] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)  # names of blocks that could not be read
    _name: str = ""
    _line: int = 0
    _parts: list[Prose | Block] = field(default_factory=list)

    def run(self, tokens: Iterator[Token]) -> None:
        """Take every token of the top level; what is inside another one is its text."""
        for token in tokens:
            first, last = token.map or (0, 0)
            if token.level:
                self._look_for_hidden_block(token)
            elif token.type == "heading_open" and token.tag == "h1":
                self._take_title(first)
            elif token.type == "heading_open" and token.tag == "h2":
                self._open(self.lines[first].lstrip("# ").strip(), first)
            elif token.type == "fence" and token.info.strip().startswith(PREFIX):
                self._take_block(token, first)
            elif first != self.start and token.nesting >= 0:
                self._take_prose(first, last)
        if not self.title:
            self.complain(self.start + 1, "report", "title", "line 2 of a report is its title: # and a name")
        self._close()

    def complain(self, line: int, block: str, rule: str, message: str) -> None:
        """Note a broken rule; `line` counts from 0."""
        self.problems.append(Problem(min(line + 1, len(self.lines)), block, rule, message))

    def _take_title(self, line: int) -> None:
        if self.title or self.closed or self._name or self._parts:
            self.complain(line, "report", "title", "there is one title, and it stands in line 2")
        if line != self.start + 1:
            self.complain(line, "report", "title", "the title stands in the line right after the marker")
        self.title = self.title or self.lines[line].lstrip("# ").strip()

    def _open(self, name: str, line: int) -> None:
        self._close()
        self._name, self._line, self._parts = name, line, []

    def _close(self) -> None:
        if self._name:
            self.closed.append(Section(self._name, self._line + 1, tuple(self._parts)))

    def _take_block(self, token: Token, line: int) -> None:
        name = token.info.strip()
        if not self._name:
            self.complain(line, name, "block-place", "the block stands before the first section")
            return
        try:
            self._parts.append(Block(line + 1, name, read_block(name, token.content)))
        except BlockError as error:
            self.broken.add(name)
            self.complain(line + error.line, name, error.rule, error.message)

    def _take_prose(self, first: int, last: int) -> None:
        if not self._name:
            self.complain(
                first, "report", "section-first", "text stands before the first section; begin with ## Summary"
            )
            return
        self._parts.append(Prose(first + 1, "\n".join(self.lines[first:last])))

    def _look_for_hidden_block(self, token: Token) -> None:
        if token.type == "fence" and token.info.strip().startswith(PREFIX):
            line = (token.map or (0, 0))[0]
            self.complain(
                line, token.info.strip(), "block-place", "the block stands inside a list or quote; move it out"
            )


def _check_sections(walk: _Walk) -> None:
    known = [section.name for section in walk.closed]
    places = [SECTIONS.index(name) for name in known if name in SECTIONS]
    for section in walk.closed:
        if section.name not in SECTIONS:
            walk.complain(section.line - 1, section.name, "section-name", f"use one of: {', '.join(SECTIONS)}")
        elif known.count(section.name) > 1:
            walk.complain(section.line - 1, section.name, "section-once", "the section stands more than once")
    if places != sorted(places):
        walk.complain(walk.start, "report", "section-order", f"the order is: {', '.join(SECTIONS)}")
    for name in (SECTIONS[0], SECTIONS[-1]):
        if name not in known:
            walk.complain(walk.start, "report", "section-required", f"## {name} is missing")
    for section in walk.closed:
        _check_section(walk, section)


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
        if not any(isinstance(part, Prose) and _is_table(part) for part in section.parts):
            walk.complain(line, "Findings", "findings-table", "the findings are a Markdown table")
    elif section.name == "Sources":
        blocks = [part for part in section.parts if isinstance(part, Block) and part.name == "prometheus-sources"]
        if len(blocks) != 1 and "prometheus-sources" not in walk.broken:
            walk.complain(line, "Sources", "sources-block", "it holds one prometheus-sources block")
        for part in section.parts:
            if part not in blocks:
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


def _is_table(prose: Prose) -> bool:
    return any(token.type == "table_open" for token in parser().parse(prose.markdown))
