"""The Tavily provider: its Search API, with a key (docs.tavily.com, API reference, Search; help.tavily.com, errors).

Tavily counts credits, not dollars, so its answers carry no cost here. It has no setting for adult content that every
plan may use, so a strict search is left to the next provider.
"""

from dataclasses import dataclass, field
from typing import Any

from tools_mcp.search.cleaning import clean_hits
from tools_mcp.search.json_api import NO_ACCESS, Answer, Question, ask, found, hits_from, trouble_with_key, unreadable
from tools_mcp.search.protocol import Outcome, SearchRequest

SETTING = "PROMETHEUS_TAVILY_API_KEY"
_URL = "https://api.tavily.com/search"
_PLAN_USED_UP = frozenset((432, 433))
_COUNTRIES = {  # Tavily names countries in words; in those that are not here it searches without one
    "AR": "argentina",
    "AT": "austria",
    "AU": "australia",
    "BE": "belgium",
    "BR": "brazil",
    "CA": "canada",
    "CH": "switzerland",
    "CN": "china",
    "DE": "germany",
    "DK": "denmark",
    "ES": "spain",
    "FI": "finland",
    "FR": "france",
    "GB": "united kingdom",
    "GR": "greece",
    "IE": "ireland",
    "IN": "india",
    "IT": "italy",
    "JP": "japan",
    "KR": "south korea",
    "MX": "mexico",
    "NL": "netherlands",
    "NO": "norway",
    "NZ": "new zealand",
    "PL": "poland",
    "PT": "portugal",
    "SE": "sweden",
    "US": "united states",
    "ZA": "south africa",
}


@dataclass(frozen=True)
class TavilyEngine:
    """Tavily with the person's own key."""

    key: str = field(repr=False)
    url: str = _URL

    @property
    def name(self) -> str:
        """The provider's name."""
        return "tavily"

    async def search(self, request: SearchRequest, timeout_s: float) -> Outcome:
        """Ask Tavily once, in its basic depth; not at all for a strict search."""
        if request.safe == "strict":
            return Outcome(
                "failed", reason="Tavily cannot filter strictly; leave out safe, or set up another provider."
            )
        question = Question(self.url, body=_body(request), headers={"Authorization": f"Bearer {self.key}"})
        answer = await ask(
            question, "Tavily", timeout_s, "Tavily cannot be reached; check that this machine is online."
        )
        return answer if isinstance(answer, Outcome) else _outcome(answer, request)


def _body(request: SearchRequest) -> dict[str, Any]:
    body: dict[str, Any] = {"query": request.query, "max_results": request.max_results, "search_depth": "basic"}
    if request.freshness:
        body["time_range"] = request.freshness
    if request.site:
        body["include_domains"] = [request.site]
    if country := _COUNTRIES.get((request.region or "").rpartition("-")[2].upper()):
        body["country"] = country
    return body


def _outcome(answer: Answer, request: SearchRequest) -> Outcome:
    if trouble := trouble_with_key(answer, "Tavily", SETTING, NO_ACCESS | _PLAN_USED_UP):
        return trouble
    results = answer.data.get("results") if answer.data is not None else None
    if answer.data is None or not isinstance(results, list):
        return unreadable("Tavily")
    raw = hits_from(results, "content", "published_date")
    return found(clean_hits(raw, request.max_results, request.site), "Tavily", answer.data)
