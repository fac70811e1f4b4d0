"""What stands in a note's Markdown: links, tags and headings, none of them read out of code. Pure.

Links are Obsidian's `[[Title]]`, `[[folder/Title#Heading|shown]]`, `![[embedded]]`, and Markdown's `[shown](path.md)`.
Every function takes time in proportion to the text, whatever stands in it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, unquote

from tools_mcp.texts import folded

_FENCE = re.compile(r"[ \t>]*(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)")
_TICKS = re.compile(r"`+")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_INDENTED = re.compile(r"(?: {4}| {0,3}\t)")
_TAG = re.compile(r"(?<!\S)#(?P<tag>[\w/-]*[^\W\d][\w/-]*)")
_WIKI = re.compile(r"\[\[(?P<target>[^\[\]|#\n]+)(?:#[^\[\]|\n]*)?(?:\|[^\[\]\n]*)?\]\]")
_PLAIN = re.compile(r"\]\((?:<(?P<angled>[^<>#\n]+\.md)(?:#[^<>\n]*)?>|(?P<bare>[^()<>#\s]+\.md)(?:#[^()<>\s]*)?)[)\s]")
_HEADING = re.compile(r"^ {0,3}(?P<level>#{1,6})[ \t]+(?P<text>[^\n]*)$", re.MULTILINE)
_NOT_IN_WIKI = re.compile(r"[\[\]|#^\n]")


@dataclass(frozen=True)
class Link:
    """A link to a note: where its target stands in the text, and what it says without escapes and `.md`."""

    start: int
    end: int
    target: str
    is_wiki: bool

    def written(self, note_id: str) -> str | None:
        """Return what to write for another target; none when such a link cannot name it."""
        if self.is_wiki:
            return None if _NOT_IN_WIKI.search(note_id) else note_id
        return quote(note_id if note_id.lower().endswith(".md") else f"{note_id}.md")


@dataclass(frozen=True)
class Heading:
    """A heading: its level from 1 to 6, its text, where its line begins."""

    level: int
    text: str
    start: int


def links(body: str) -> list[Link]:
    """Return the links to notes, in order."""
    shown = without_code(body)
    found = [_wiki(match) for match in _WIKI.finditer(shown)]
    for match in _PLAIN.finditer(shown):
        group = "angled" if match["angled"] else "bare"
        if "://" not in match[group]:
            target = unquote(match[group]).removesuffix(".md")
            found.append(Link(match.start(group), match.end(group), target, is_wiki=False))
    return sorted((link for link in found if link.target), key=lambda link: link.start)


def wiki_links(text: str) -> list[Link]:
    """Return the `[[links]]` of a text that is no Markdown, such as front matter, in order."""
    return [link for link in map(_wiki, _WIKI.finditer(text)) if link.target]


def replaced(body: str, changes: list[tuple[Link, str]]) -> str:
    """Return the text with the targets of some of its links written anew."""
    pieces, at = [], 0
    for link, text in changes:
        pieces += [body[at : link.start], text]
        at = link.end
    return "".join([*pieces, body[at:]])


def with_line_ends_of(text: str, other: str) -> str:
    """Return a text with the line ends of another one, as long as those are all the same."""
    ends, windows_ends = other.count("\n"), other.count("\r\n")
    if not ends or 0 < windows_ends < ends:
        return text
    plain = text.replace("\r\n", "\n")
    return plain.replace("\n", "\r\n") if windows_ends else plain


def tags(body: str) -> tuple[str, ...]:
    """Return the `#tags` in the text, each once, as they were first written."""
    found: dict[str, str] = {}
    for match in _TAG.finditer(without_code(body)):
        tag = match["tag"].strip("/")
        found.setdefault(tag.casefold(), tag)
    return tuple(found.values())


def headings(body: str) -> list[Heading]:
    """Return the headings, in order."""
    matches = _HEADING.finditer(without_code(body))
    return [
        Heading(len(match["level"]), body[match.start("text") : match.end("text")].strip().rstrip("#").strip(), at)
        for match in matches
        for at in [match.start()]
    ]


def section(body: str, name: str) -> str | None:
    """Return the text from a heading to the next one that is not below it; none when there is no such heading.

    `name` is the heading's text, or a way to it such as `Parent#Child`.
    """
    found = headings(body)
    is_whole = any(folded(one.text) == folded(name) for one in found)  # a heading may hold `#` itself
    wanted = [folded(part) for part in ([name] if is_whole else name.split("#")) if part.strip()]
    place, above = 0, 0
    for step, part in enumerate(wanted):
        hit = next((at for at in range(place, len(found)) if folded(found[at].text) == part), None)
        if hit is None or (step and found[hit].level <= above):
            return None
        place, above = hit + 1, found[hit].level
    if not wanted:
        return None
    end = next((one.start for one in found[place:] if one.level <= above), len(body))
    return body[found[place - 1].start : end]


def without_code(body: str) -> str:
    """Return the text with every character of code as a space: fences, indented blocks and `code` in a line."""
    lines: list[str] = []
    fence, is_quoted, is_after_blank, in_list = "", False, True, False
    for line in body.split("\n"):
        opening = _FENCE.match(line)
        if fence and is_quoted and not line.lstrip().startswith(">"):
            fence = ""  # it ends with its quote
        if fence:
            is_end = opening is not None and opening["fence"].startswith(fence) and not opening["info"].strip()
            fence = "" if is_end else fence
            lines.append(" " * len(line))
        elif opening and ("`" not in opening["info"] or opening["fence"][0] == "~"):
            fence, is_quoted = opening["fence"], line.lstrip().startswith(">")
            lines.append(" " * len(line))
        elif is_after_blank and not in_list and _INDENTED.match(line) and line.strip():
            lines.append(" " * len(line))
            continue  # the next indented line is code too
        else:
            lines.append(_without_ticks(line) if "`" in line else line)
        is_after_blank = not line.strip()
        if not is_after_blank and (_LIST_ITEM.match(line) or not line[0].isspace()):
            in_list = _LIST_ITEM.match(line) is not None
    return "\n".join(lines)


def _without_ticks(line: str) -> str:
    runs = list(_TICKS.finditer(line))
    following: dict[int, int] = {}
    partner: dict[int, int] = {}
    for at in range(len(runs) - 1, -1, -1):
        length = len(runs[at][0])
        if length in following:
            partner[at] = following[length]
        following[length] = at
    pieces, end = [], 0
    for start, stop in _spans(len(runs), partner):
        pieces += [line[end : runs[start].start()], " " * (runs[stop].end() - runs[start].start())]
        end = runs[stop].end()
    return "".join([*pieces, line[end:]])


def _spans(count: int, partner: dict[int, int]) -> Iterator[tuple[int, int]]:
    at = 0
    while at < count:
        if at in partner:
            yield at, partner[at]
            at = partner[at]
        at += 1


def _wiki(match: re.Match[str]) -> Link:
    """Return a wiki link; inside a table its `|` is written with a backslash, which is no part of the target."""
    written = match["target"].rstrip("\\")
    plain = written.strip()
    start = match.start("target") + len(written) - len(written.lstrip())
    return Link(start, start + len(plain), plain.removesuffix(".md"), is_wiki=True)
