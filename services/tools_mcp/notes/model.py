"""What the notes folder keeps and what its tools answer."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import BaseModel, Field

Mode: TypeAlias = Literal["create", "append", "replace"]
Status: TypeAlias = Literal[
    "created", "exists", "appended", "replaced", "edited", "moved", "unchanged", "restored", "deleted"
]


def each_once(tags: Iterable[str]) -> tuple[str, ...]:
    """Return tags without those that differ from an earlier one in letter case only."""
    found: dict[str, str] = {}
    for tag in tags:
        found.setdefault(tag.casefold(), tag)
    return tuple(found.values())


@dataclass(frozen=True)
class Note:
    """One Markdown file as it was read."""

    id: str
    title: str
    body: str
    tags: tuple[str, ...]
    created: str
    header: str
    """The front matter as it stands in the file, fences included; empty when there is none."""
    content_hash: str
    """SHA-256 of the file's bytes, lower hex."""
    modified_at_ms: int
    aliases: tuple[str, ...] = ()
    inline_tags: tuple[str, ...] = ()
    """Those written as `#tag` in the body; `tags` are those of the front matter."""
    size_bytes: int = 0
    unreadable: str = ""
    """Why the text could not be read: the end of a sentence about the note."""

    @property
    def all_tags(self) -> tuple[str, ...]:
        """Every tag once, those of the front matter first."""
        return each_once((*self.tags, *self.inline_tags))

    @property
    def folder(self) -> str:
        """The folder in the vault; empty for the vault itself."""
        return self.id.rpartition("/")[0]


@dataclass(frozen=True)
class Listed:
    """A note as the index knows it."""

    id: str
    title: str
    tags: tuple[str, ...]
    modified_at_ms: int


class NoteRow(BaseModel):
    """A note in a list."""

    id: str
    title: str
    tags: list[str] = []
    modified: str = Field(description="local time")
    modified_utc: str
    snippet: str | None = Field(default=None, description="matches marked <<…>>")


class NoteList(BaseModel):
    """A page of notes."""

    notes: list[NoteRow]
    next_cursor: str | None = None
    matched: Literal["all", "any"] | None = Field(default=None, description="whether all words matched, or only some")
    unnamed: int | None = Field(default=None, description="files that are not listed because of their names")


class NoteText(BaseModel):
    """A note's text, or the part of it that fits in one answer."""

    id: str
    title: str
    body: str
    tags: list[str] = []
    created: str | None = None
    modified: str = Field(description="local time")
    modified_utc: str
    content_hash: str
    section: str | None = Field(default=None, description="the one heading that was asked for")
    links: list[str] = Field(default=[], description="ids of the notes it links to")
    missing_links: list[str] = Field(default=[], description="links to notes that are not there")
    backlinks: list[str] = Field(default=[], description="ids of the notes that link to it")
    more_links: bool | None = Field(default=None, description="true when there are more than are told here")
    next_cursor: str | None = None


class NoteAnswer(BaseModel):
    """What became of one note."""

    status: Status
    id: str
    title: str
    tags: list[str] = []
    content_hash: str
    size_bytes: int
    replacements: int | None = None
    links_updated: int | None = Field(default=None, description="links in notes that were written anew")
    links_left: list[str] = Field(default=[], description="notes whose links could not be written anew")
    undo: str | None = Field(default=None, description="how to take it back")
