"""Which note a link means, and how to write it so that it still means that one after a move. Pure.

A target is looked for as Obsidian does: a path from the vault, or the end of one, or a file name, letter case aside;
and beyond that as a title or an alias, because a title need not be its file's name. Of several the one whose whole path
it is counts, then the one in the folder of the linking note, then the one nearest to the top.
"""

import posixpath
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from tools_mcp.notes.frontmatter import has_same_form
from tools_mcp.notes.markdown import Link, links, replaced, wiki_links
from tools_mcp.notes.model import Note
from tools_mcp.texts import folded

FILE, TITLE, ALIAS = 0, 1, 2
"""What a note is called by, strongest first."""


@dataclass(frozen=True)
class Name:
    """One of a note's names, folded, and what kind of name it is."""

    name: str
    kind: int
    note_id: str


@dataclass(frozen=True)
class Move:
    """A note that goes from one id to another."""

    old: str
    new: str


@dataclass(frozen=True)
class Names:
    """Notes by name, as many of the vault as a question needs."""

    rows: Mapping[str, tuple[Name, ...]]

    @classmethod
    def of(cls, names: Iterable[Name]) -> "Names":
        """Return names to look in."""
        rows: dict[str, tuple[Name, ...]] = {}
        for name in names:
            rows[name.name] = (*rows.get(name.name, ()), name)
        return cls(rows)

    def resolve(self, link: Link, source: str) -> str | None:
        """Return the id of the note that a link in the note `source` means."""
        folder = source.rpartition("/")[0]
        if not link.is_wiki or link.target.startswith("."):
            near = posixpath.normpath(posixpath.join(folder, link.target))
            if found := [note_id for note_id in self._ends_with(near) if folded(note_id) == folded(near)]:
                return min(found)
        target = link.target.lstrip("/")
        whole = folded(target)
        found = self._ends_with(target) if "/" in target else []
        if not found:
            named = self.rows.get(whole, ())
            best = min((name.kind for name in named), default=None)
            found = [name.note_id for name in named if name.kind == best]

        def rank(note_id: str) -> tuple[bool, bool, int, str]:
            return folded(note_id) != whole, note_id.rpartition("/")[0] != folder, note_id.count("/"), note_id

        return min(found, key=rank, default=None)

    def after(self, move: Move, names: Iterable[Name]) -> "Names":
        """Return these names once a note has moved; `names` are its new ones."""
        kept = (name for row in self.rows.values() for name in row if name.note_id != move.old)
        return Names.of([*kept, *names])

    def _ends_with(self, path: str) -> list[str]:
        whole = folded(path)
        files = self.rows.get(folded(path.rpartition("/")[2]), ())
        return [name.note_id for name in files if name.kind == FILE and _ends(folded(name.note_id), whole)]


def file_name(note_id: str) -> str:
    """Return the name of a note's file as names are looked up."""
    return folded(note_id.rpartition("/")[2])


def names_of(note_id: str, title: str, aliases: Collection[str]) -> list[Name]:
    """Return what a note is called."""
    named = [(note_id.rpartition("/")[2], FILE), (title, TITLE), *((alias, ALIAS) for alias in aliases)]
    return [Name(folded(text), kind, note_id) for text, kind in named if text.strip()]


def sought(found: Iterable[Link]) -> set[str]:
    """Return the names under which the notes that links mean are found."""
    targets = [link.target.lstrip("/") for link in found]
    return {folded(target) for target in targets} | {folded(target.rpartition("/")[2]) for target in targets}


def links_of(note: Note) -> list[Link]:
    """Return the links of a note, those in its front matter (`up: "[[Plan]]"`) first."""
    return [*wiki_links(note.header), *links(note.body)]


def kept(body: str, source: Move, move: Move, before: Names, after: Names) -> tuple[str, int]:
    """Return the text of a note with the links written anew that would otherwise mean another note after a move.

    `source` is the note with the text: before the move and after it. The second value says how many were changed.
    """
    changes = _changes(links(body), source, move, before, after)
    return replaced(body, changes), len(changes)


def kept_header(header: str, source: Move, move: Move, before: Names, after: Names) -> tuple[str, int | None]:
    """Return a note's front matter in the same way; with no number when its form allows no change."""
    changes = _changes(wiki_links(header), source, move, before, after)
    now = header
    for link, text in reversed(changes):
        choices = (text, text.replace("'", "''"))  # the second one is how it is written inside '…' of YAML
        tried = (replaced(now, [(link, choice)]) for choice in choices)
        written = next((choice for choice in tried if has_same_form(now, choice)), None)
        if written is None:
            return header, None
        now = written
    return now, len(changes)


def _changes(found: Iterable[Link], source: Move, move: Move, before: Names, after: Names) -> list[tuple[Link, str]]:
    changes = []
    for link in found:
        meant = before.resolve(link, source.old)
        if meant is None:
            continue
        wanted = move.new if meant == move.old else meant
        if after.resolve(link, source.new) != wanted and (text := _written(link, source.new, wanted, after)):
            changes.append((link, text))
    return changes


def _written(link: Link, source: str, wanted: str, names: Names) -> str | None:
    """Return the shortest target that means a note; a path stays a path, from where it started."""
    stem, near = wanted.rpartition("/")[2], posixpath.relpath(wanted, source.rpartition("/")[0] or ".")
    if link.target.startswith("."):
        choices: tuple[str, ...] = (near if near.startswith(".") else f"./{near}",)
    else:
        choices = (wanted,) if "/" in link.target or not link.is_wiki else (stem, wanted)
    for target in choices:
        text = link.written(target)
        if text and names.resolve(Link(0, 0, target, link.is_wiki), source) == wanted:
            return text
    return None


def _ends(path: str, end: str) -> bool:
    return path == end or path.endswith(f"/{end}")
