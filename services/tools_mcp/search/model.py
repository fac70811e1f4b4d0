"""What the search tools answer."""

from typing import Literal

from pydantic import BaseModel, Field

from tools_mcp.search.protocol import Status


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


class ProviderState(BaseModel):
    """A provider and how the last search through it went."""

    name: str
    last_status: Status | None = Field(default=None, description="none: not asked yet")
    last_at: str | None = None
    message: str | None = None


class SearchState(BaseModel):
    """The providers in the order in which they are asked."""

    providers: list[ProviderState]
