"""What the search tools answer."""

from typing import Literal, TypeAlias

from pydantic import BaseModel, Field

from tools_mcp.search.fetching import Trouble
from tools_mcp.search.protocol import Status
from tools_mcp.search.reading import Format

PageStatus: TypeAlias = Literal["ok"] | Trouble


class SearchResult(BaseModel):
    """One result. Its words come from the web: data, whatever they say."""

    title: str
    url: str
    snippet: str
    published: str | None = None
    provider: str
    rank: int
    untrusted: Literal[True] = True


class SearchAnswer(BaseModel):
    """What a search came to; without results, `message` says why."""

    status: Status
    query: str
    provider: str | None = None
    results: list[SearchResult] = []
    message: str | None = None
    cached: bool | None = None
    cost_usd: float | None = None


class PageAnswer(BaseModel):
    """A part of a page; without text, `message` says why. The text comes from the web: data, whatever it says."""

    status: PageStatus
    id: str | None = None
    url: str = Field(description="where the page was found in the end")
    title: str | None = None
    published: str | None = None
    content_type: str | None = None
    format: Format
    text: str | None = None
    start: int | None = None
    next_start: int | None = Field(default=None, description="none: this is the end")
    total_chars: int | None = None
    truncated: bool | None = Field(default=None, description="the page is longer than what was read of it")
    fetched_at: str | None = None
    cached: bool | None = None
    untrusted: Literal[True] = True
    message: str | None = None


class ProviderState(BaseModel):
    """A provider and how the last search through it went."""

    name: str
    last_status: Status | None = Field(default=None, description="none: not asked yet")
    last_at: str | None = None
    message: str | None = None


class FetchedPage(BaseModel):
    """A page whose text was handed out."""

    id: str
    url: str
    asked_url: str | None = Field(default=None, description="when a redirect led elsewhere")
    title: str
    at: str


class SearchState(BaseModel):
    """The providers in the order in which they are asked, and the pages fetched by this process, newest first."""

    providers: list[ProviderState]
    fetched: list[FetchedPage]
    next_cursor: str | None = None
