"""The SearXNG provider: an instance of the person's own, asked for JSON over HTTP (docs.searxng.org, Search API)."""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from service_runtime.errors import SetupError
from tools_mcp.search.cleaning import clean_hits, plain
from tools_mcp.search.json_api import ACCEPTED, OK, TOO_MANY, Answer, Question, ask, cost_of, hits_from, rate_limited
from tools_mcp.search.protocol import Outcome, SearchRequest, Status

_SAFETY = {"off": "0", "moderate": "1", "strict": "2"}
_FORBIDDEN, _REDIRECTS = 403, range(300, 400)
_UNREACHABLE = "SearXNG cannot be reached; check that it runs and PROMETHEUS_SEARXNG_URL."
_ENGINE_TROUBLE: tuple[tuple[str, Status], ...] = (  # SearXNG's words for why one of its engines gave nothing
    ("too many requests", "rate_limited"),
    ("captcha", "blocked"),
    ("access denied", "blocked"),
    ("timeout", "timed_out"),
)


@dataclass(frozen=True)
class SearxngEngine:
    """One instance; `base_url` is where its front page is, `login` the user name and password before it, if any."""

    base_url: str
    login: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """The provider's name."""
        return "searxng"

    async def search(self, request: SearchRequest, timeout_s: float) -> Outcome:
        """Ask the instance; the request follows no redirect and reads at most 5 MB."""
        headers = {"Authorization": f"Basic {b64encode(self.login.encode()).decode()}"} if self.login else {}
        question = Question(f"{self.base_url.rstrip('/')}/search", _parameters(request), headers=headers)
        answer = await ask(question, "SearXNG", timeout_s, _UNREACHABLE)
        return answer if isinstance(answer, Outcome) else _outcome(answer, request)


def open_searxng(base_url: str) -> SearxngEngine:
    """Return the provider for the address in the settings; a login in it goes into a header, which no log shows.

    Raises:
        SetupError: It is no http or https address.
    """
    try:
        parts = urlsplit(base_url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SetupError("PROMETHEUS_SEARXNG_URL is no web address; set it to one such as http://127.0.0.1:8080.")
    login, _, host = parts.netloc.rpartition("@")
    return SearxngEngine(parts._replace(netloc=host).geturl(), unquote(login))


def _parameters(request: SearchRequest) -> dict[str, str]:
    parameters = {"q": request.words, "format": "json", "safesearch": _SAFETY[request.safe]}
    if request.freshness:
        parameters["time_range"] = request.freshness
    if request.region:
        parameters["language"] = request.region
    return parameters


def _outcome(answer: Answer, request: SearchRequest) -> Outcome:
    if answer.status == TOO_MANY:
        return rate_limited("SearXNG", answer.headers)
    if answer.status == _FORBIDDEN:
        return Outcome(
            "blocked",
            reason="SearXNG refused the request (HTTP 403); allow json in its settings, under search.formats.",
        )
    if answer.status == ACCEPTED:
        return Outcome("blocked", reason="SearXNG, or what is in front of it, answered with a challenge (HTTP 202).")
    if answer.status in _REDIRECTS:
        return Outcome(
            "failed", reason="SearXNG answered with a redirect; set PROMETHEUS_SEARXNG_URL to where it leads."
        )
    if answer.status != OK:
        return Outcome("failed", reason=f"SearXNG answered with HTTP {answer.status}; look at its log.")
    return _results(answer.data, request)


def _results(data: Mapping[str, Any] | None, request: SearchRequest) -> Outcome:
    if data is None or not isinstance(data.get("results"), list):
        return Outcome(
            "failed", reason="SearXNG's answer is not its JSON; check that PROMETHEUS_SEARXNG_URL is SearXNG."
        )
    raw = hits_from(data["results"], "content", "publishedDate")
    hits = clean_hits(raw, request.max_results, request.site)
    return Outcome("ok", hits, cost_usd=cost_of(data)) if hits else _nothing(data.get("unresponsive_engines"))


def _nothing(unresponsive: Any) -> Outcome:
    """No results: because there are none, or because the engines behind SearXNG gave none."""
    told = unresponsive if isinstance(unresponsive, list) else ()
    troubles = [item for item in told if isinstance(item, list) and len(item) > 1]
    if not troubles:
        return Outcome("empty", reason="SearXNG found nothing for this query; try other words.")
    said = " ".join(str(item[1]).casefold() for item in troubles)
    status: Status = next((status for words, status in _ENGINE_TROUBLE if words in said), "failed")
    return Outcome(status, reason=f"SearXNG found nothing because its engines did not answer: {_named(troubles)}.")


def _named(troubles: Iterable[list[Any]]) -> str:
    return plain(", ".join(f"{item[0]} ({item[1]})" for item in troubles), 200)
