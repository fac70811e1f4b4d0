"""The search seam: one request, and one of six answers. A failure is a value, and never becomes an invented result."""

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

Freshness: TypeAlias = Literal["day", "week", "month", "year"]
Safety: TypeAlias = Literal["off", "moderate", "strict"]
Status: TypeAlias = Literal[
    "ok",
    "empty",  # the provider answered, and there is nothing
    "blocked",  # it took us for a robot, or does not serve us
    "rate_limited",  # too many requests: later is fine
    "timed_out",
    "failed",  # not reachable, an error of its own, or an answer we cannot read
]


@dataclass(frozen=True)
class SearchRequest:
    """What to look for. `region` is a language and a country such as `en-US`, `site` a host such as `example.org`."""

    query: str
    max_results: int = 5
    freshness: Freshness | None = None
    region: str | None = None
    safe: Safety = "moderate"
    site: str | None = None

    @property
    def words(self) -> str:
        """The query with the site in the way that most engines understand."""
        return f"{self.query} site:{self.site}" if self.site else self.query


@dataclass(frozen=True)
class Hit:
    """One result as the provider gave it, cleaned: one line of text each, an http or https address."""

    title: str
    url: str
    snippet: str = ""
    published: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What a search came to. `reason` says in one sentence what happened, unless it is `ok`.

    `cost_usd` is there only when the provider itself said what it charged, in dollars.
    """

    status: Status
    hits: tuple[Hit, ...] = ()
    reason: str = ""
    cost_usd: float | None = None


class SearchEngine(Protocol):
    """A provider of web search."""

    @property
    def name(self) -> str:
        """The provider's name in answers and settings."""
        ...

    async def search(self, request: SearchRequest, timeout_s: float) -> Outcome:
        """Search, in at most `timeout_s` seconds; never raises for what the provider or the network does."""
        ...
