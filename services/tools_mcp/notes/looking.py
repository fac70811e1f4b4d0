"""Looking at notes: reading, searching, listing, and what links where."""

import posixpath
from dataclasses import dataclass
from typing import Literal

from tools_mcp.errors import ConflictError, InvalidInputError, NotFoundError
from tools_mcp.notes import markdown
from tools_mcp.notes.index import Filter, NoteIndex
from tools_mcp.notes.links import ALIAS, Names, links_of, names_of, sought
from tools_mcp.notes.model import Listed, Note
from tools_mcp.notes.names import NoteId
from tools_mcp.notes.queries import passage, read_query
from tools_mcp.notes.vault import Vault
from tools_mcp.texts import folded, shown

MOST_SOURCES = 200
"""How many linking notes are looked at to tell the backlinks of one."""

_MOST_LISTED = 5
_MOST_HEADINGS = 12


@dataclass(frozen=True)
class Match:
    """A note that a search found."""

    listed: Listed
    snippet: str


@dataclass(frozen=True)
class Surroundings:
    """Where a note's links go and which notes link to it, by id; `missing` are targets that no note has."""

    links: tuple[str, ...]
    missing: tuple[str, ...]
    backlinks: tuple[str, ...]
    has_more: bool = False
    """Whether more notes link here than were looked at."""


@dataclass(frozen=True)
class NoteReader:
    """The notes of one person, to look at."""

    vault: Vault
    index: NoteIndex

    def read(self, note_id: str | None, title: str | None) -> Note:
        """Return a note by id, or by title when only one has it.

        Raises:
            InvalidInputError: Neither was given, or the id leads out of the vault.
            NotFoundError: There is no such note.
            ConflictError: Several notes have the title.
        """
        if note_id:
            return self.vault.read(note_id)
        if not title:
            raise InvalidInputError("Neither id nor title was given; send one of them.")
        self.index.refresh()
        found = self.only(self.called(title, None), title, "send one of these ids")
        if found is None:
            raise NotFoundError(f"No note has the title {shown(title)}; look for it with notes_search.")
        return self.vault.read(found)

    def called(self, title: str, folder: str | None, *, with_aliases: bool = True) -> list[str]:
        """Return the ids of the notes that a title means: by title, else by file name, else by alias."""
        found = self.index.titled(title, folder) or self.index.filed(title, folder)
        if found or not with_aliases:
            return found
        named = [NoteId.read(name.note_id) for name in self.index.names({folded(title)}) if name.kind == ALIAS]
        return sorted(str(place) for place in named if folder is None or "/".join(place.folder) == folder)

    def search(
        self, query: str, chosen: Filter, limit: int, offset: int
    ) -> tuple[list[Match], Literal["all", "any"] | None]:
        """Return the notes with all words of the query, else those with any telling one; best first."""
        words = read_query(query)
        if words is None:
            return [], None
        self.index.refresh()
        matched: Literal["all", "any"] = "all"
        found = self.index.search(words.all_words, chosen, limit, offset)
        if not found and words.any_word and not self.index.search(words.all_words, chosen, 1, 0):
            matched = "any"
            found = self.index.search(words.any_word, chosen, limit, offset)
        return [Match(listed, self._passage(listed.id, words.words)) for listed in found], matched if found else None

    def newest(self, chosen: Filter, limit: int, after: tuple[int, str] | None) -> list[Listed]:
        """Return notes, last modified first."""
        self.index.refresh()
        return self.index.newest(chosen, limit, after)

    def surroundings(self, note: Note) -> Surroundings:
        """Return a note's links and the notes that link to it; of very many of those, the first `MOST_SOURCES`."""
        self.index.refresh()
        own = {name.name for name in names_of(note.id, note.title, note.aliases)}
        outgoing = links_of(note)
        linking = [source for source in self.index.linking(own) if source != note.id]
        incoming = [
            (source, link)
            for source in map(self.vault.look, linking[:MOST_SOURCES])
            for link in (links_of(source) if source else ())
            if own & sought([link])
        ]
        names = Names.of(self.index.names(own | sought(outgoing) | sought(link for _, link in incoming)))
        found = {link.target: names.resolve(link, note.id) for link in outgoing}
        back = (source.id for source, link in incoming if source and names.resolve(link, source.id) == note.id)
        missing = [target for target, note_id in found.items() if note_id is None]
        files = [target for target in missing if posixpath.splitext(target)[1]]
        attached = self.vault.attached(files, note.folder) if files else set()
        return Surroundings(
            links=tuple(dict.fromkeys(note_id for note_id in found.values() if note_id)),
            missing=tuple(target for target in missing if target not in attached),
            backlinks=tuple(dict.fromkeys(back)),
            has_more=len(linking) > MOST_SOURCES,
        )

    def trashed(self, limit: int, after: tuple[int, str] | None) -> list[Listed]:
        """Return the notes in the trash, last modified first, those after a position as in `newest`."""
        found = [
            Listed(note_id, NoteId.read(note_id).stem, (), stamp[0] // 1_000_000)
            for note_id, stamp in self.vault.trashed().notes.items()
        ]

        def place(modified_at_ms: int, note_id: str) -> tuple[int, str]:
            return -modified_at_ms, note_id

        ordered = sorted(found, key=lambda one: place(one.modified_at_ms, one.id))
        return [one for one in ordered if not after or place(one.modified_at_ms, one.id) > place(*after)][:limit]

    def only(self, ids: list[str], title: str, advice: str) -> str | None:
        """Return the one id in a list, or none when it is empty; `advice` is what to do when there are several.

        Raises:
            ConflictError: There are several.
        """
        if len(ids) > 1:
            listed = ", ".join(shown(note_id) for note_id in ids[:_MOST_LISTED])
            raise ConflictError(f"{len(ids)} notes have the title {shown(title)}; {advice}: {listed}.")
        return ids[0] if ids else None

    def _passage(self, note_id: str, words: tuple[str, ...]) -> str:
        try:
            return passage(self.vault.read(note_id).body, words)
        except (NotFoundError, InvalidInputError):
            return ""


def section_of(note: Note, name: str) -> str:
    """Return the part of a note under a heading, the heading included.

    Raises:
        NotFoundError: The note has no such heading.
    """
    found = markdown.section(note.body, name)
    if found is None:
        there = [heading.text for heading in markdown.headings(note.body)]
        told = f"it has {', '.join(map(shown, there[:_MOST_HEADINGS]))}" if there else "it has no headings"
        raise NotFoundError(f"The note {shown(note.id)} has no heading {shown(name)}; {told}.")
    return found
