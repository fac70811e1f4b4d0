"""The Brave provider: its Web Search API, with a key (api-dashboard.search.brave.com, Web Search API reference)."""

from dataclasses import dataclass, field

from tools_mcp.search.cleaning import clean_hits
from tools_mcp.search.json_api import NO_ACCESS, Answer, Question, ask, found, hits_from, trouble_with_key, unreadable
from tools_mcp.search.protocol import Outcome, SearchRequest

SETTING = "PROMETHEUS_BRAVE_API_KEY"
_URL = "https://api.search.brave.com/res/v1/web/search"
_FRESHNESS = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}
_INVALID = 422
_MOST_WORDS, _MOST_CHARACTERS = 50, 400


@dataclass(frozen=True)
class BraveEngine:
    """Brave Search with the person's own key."""

    key: str = field(repr=False)
    url: str = _URL

    @property
    def name(self) -> str:
        """The provider's name."""
        return "brave"

    async def search(self, request: SearchRequest, timeout_s: float) -> Outcome:
        """Ask Brave once."""
        headers = {"X-Subscription-Token": self.key, "Accept": "application/json"}
        question = Question(self.url, _parameters(request), headers=headers)
        answer = await ask(question, "Brave", timeout_s, "Brave cannot be reached; check that this machine is online.")
        return answer if isinstance(answer, Outcome) else _outcome(answer, request)


def _parameters(request: SearchRequest) -> dict[str, str]:
    parameters = {"q": _bounded(request.words), "count": str(request.max_results), "safesearch": request.safe}
    parameters |= {"text_decorations": "false", "result_filter": "web"}
    if request.freshness:
        parameters["freshness"] = _FRESHNESS[request.freshness]
    if request.region:
        language, _, country = request.region.partition("-")
        parameters |= {"search_lang": language.lower(), "country": country.upper()}
    return parameters


def _bounded(words: str) -> str:
    """Return at most what the API takes: 50 words of 400 characters together."""
    return " ".join(words.split()[:_MOST_WORDS])[:_MOST_CHARACTERS]


def _outcome(answer: Answer, request: SearchRequest) -> Outcome:
    no_access = NO_ACCESS | {_INVALID} if _is_about_the_key(answer) else NO_ACCESS
    if trouble := trouble_with_key(answer, "Brave", SETTING, no_access):
        return trouble
    if answer.data is None or answer.data.get("type") != "search":
        return unreadable("Brave")
    web = answer.data.get("web")  # left out when there are no web results
    results = web.get("results") if isinstance(web, dict) else None
    raw = hits_from(results, "description", "page_age")
    return found(clean_hits(raw, request.max_results, request.site), "Brave", answer.data)


def _is_about_the_key(answer: Answer) -> bool:
    """Whether an invalid request is one because of the key: Brave then says 422 and SUBSCRIPTION_TOKEN_INVALID."""
    error = (answer.data or {}).get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return answer.status == _INVALID and isinstance(code, str) and "TOKEN" in code
