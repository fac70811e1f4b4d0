"""Which words ask for the web: search and research."""

from __future__ import annotations

from agent_host.providers.offline.patterns import one_of, pattern
from agent_host.providers.offline.routine import Request
from agent_host.providers.offline.web.requests import Research, SearchWeb
from agent_host.providers.offline.wording import tidy

_SEARCH = pattern(
    one_of(
        "(?:search|look|check|browse)(?: on| in)? (?:the )?(?:web|internet|online|google|net)(?: for| about)?",
        "(?:do a )?(?:web|internet|google|online) search(?: for| on| about)?", "google", "look up", "search for",
        "search",
        "find (?:me )?(?=(?:a|an|the|some|good|cheap) )",
        "find (?:me )?(?:information|info|articles|something|results)(?: online| on the web)? (?:about|on|for)",
    ),
    r"(?:\s*:)?\s*(?P<query>.*?)(?: (?:on the web|on the internet|online|on google))?",
)  # fmt: skip
_NEWS = pattern(
    one_of("(?:find (?:me )?|what(?:.?s| is) )?(?:the )?(?:latest )?news", "what(?:.?s| is) the latest"),
    " (?:on|about|in|from|with) (?P<query>.+)",
)
_FIND_ONLINE = pattern(r"(?:find|check|look for)\s+(?P<query>.+?) (?:on the web|on the internet|online)")
_RESEARCH = pattern(
    one_of(
        "(?:do (?:some |a bit of |me )?)?research(?: (?:on|about|into))?", "look into", "investigate",
        "find out (?:more )?about", "write (?:me )?a report (?:on|about)", "report on",
    ),
    r"(?:\s*:)?\s+(?P<subject>.+)",
)  # fmt: skip


def search_web(text: str) -> Request | None:
    """Reads "search the web for …", "google …", "look up …"."""
    plain = text.rstrip(" ?.!")
    news = _NEWS.fullmatch(plain)
    if news is not None:
        return SearchWeb(f"{tidy(news['query'])} news")
    match = _SEARCH.fullmatch(plain) or _FIND_ONLINE.fullmatch(plain)
    return SearchWeb(tidy(match["query"]).strip('"“”')) if match is not None else None


def research(text: str) -> Request | None:
    """Reads "research the competitors of mem0"."""
    match = _RESEARCH.fullmatch(text.rstrip(" ?.!"))
    return Research(tidy(match["subject"])) if match is not None else None
