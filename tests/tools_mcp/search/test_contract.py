"""One suite for every provider: the same questions, answered by recorded replies, must come to the same outcomes."""

import functools
import json
import logging
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from ddgs.engines import ENGINES
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.search_server import SearchServer, search_server
from tests.tools_mcp.search import replies
from tools_mcp.search.brave import BraveEngine
from tools_mcp.search.ddgs_engine import DdgsEngine
from tools_mcp.search.protocol import Hit, Outcome, SearchEngine, SearchRequest
from tools_mcp.search.searxng import SearxngEngine
from tools_mcp.search.tavily import TavilyEngine

KEY = "tvly-a-secret-key-0123456789"
REQUEST = SearchRequest("words")


@dataclass(frozen=True)
class Provider:
    """A provider under test: how to make it for an address, and its replies."""

    make: Callable[[str], SearchEngine]
    found: bytes
    empty: bytes
    blocked: tuple[tuple[int, bytes], ...]
    is_keyed: bool = False


def keyless(url: str) -> SearchEngine:
    """The library's own engine with its own HTTP client, pointed at our server."""

    def engine(at: str, _: str, timeout_s: int) -> Any:
        made = ENGINES["text"]["duckduckgo"](timeout=timeout_s)
        made.search_url = at
        return made

    return DdgsEngine(("duckduckgo",), new_engine=functools.partial(engine, url))


PROVIDERS = {
    "keyless": Provider(
        keyless,
        replies.DUCKDUCKGO,
        replies.DUCKDUCKGO_EMPTY,
        ((202, replies.CHALLENGE), (200, replies.CHALLENGE), (403, b"")),
    ),
    "searxng": Provider(
        SearxngEngine,
        replies.packed(replies.SEARXNG),
        replies.packed(replies.SEARXNG_EMPTY),
        ((202, replies.CHALLENGE), (403, b"<title>403 Forbidden</title>")),
    ),
    "brave": Provider(
        lambda url: BraveEngine(KEY, url),
        replies.packed(replies.BRAVE),
        replies.packed(replies.BRAVE_EMPTY),
        (
            (202, replies.CHALLENGE),
            (401, b""),
            (402, replies.brave_error(402, "QUOTA_LIMITED", KEY)),
            (403, b""),
            (422, replies.brave_error(422, "SUBSCRIPTION_TOKEN_INVALID", f"The token {KEY} is invalid.")),
        ),
        is_keyed=True,
    ),
    "tavily": Provider(
        lambda url: TavilyEngine(KEY, url),
        replies.packed(replies.TAVILY),
        replies.packed(replies.TAVILY_EMPTY),
        (
            (202, replies.CHALLENGE),
            (401, replies.packed({"detail": {"error": f"Unauthorized: {KEY}"}})),
            (403, b""),
            (432, replies.packed({"detail": {"error": "This request exceeds your plan's set usage limit."}})),
            (433, replies.packed({"detail": {"error": "This request exceeds the pay-as-you-go limit."}})),
        ),
        is_keyed=True,
    ),
}
every_provider = pytest.mark.parametrize("name", PROVIDERS)
JSON_PROVIDERS = sorted(PROVIDERS.keys() - {"keyless"})


@pytest.fixture
def web() -> Iterator[SearchServer]:
    with search_server() as server:
        yield server


async def ask(web: SearchServer, name: str, status: int, body: bytes, request: SearchRequest = REQUEST) -> Outcome:
    web.status, web.body = status, body
    engine = PROVIDERS[name].make(web.url)
    assert engine.name == name
    outcome = await engine.search(request, 5)
    assert bool(outcome.hits) is (outcome.status == "ok")
    assert bool(outcome.reason) is (outcome.status != "ok")
    assert KEY not in repr((engine, outcome))
    return outcome


@every_provider
async def test_results_are_read_cleaned_and_in_order(web: SearchServer, name: str) -> None:
    outcome = await ask(web, name, 200, PROVIDERS[name].found)
    first, second = outcome.hits

    assert (first.title, first.url) == ("One page", "https://example.org/one")
    assert first.snippet == f"The first. {replies.INJECTED}"
    assert first.published == (None if name == "keyless" else "2026-11-20T08:30:00")
    assert second == Hit("Two", "https://sub.example.net/two", "The second.")
    assert outcome.cost_usd is None


@every_provider
async def test_no_more_results_come_than_were_asked_for_and_only_from_the_site(web: SearchServer, name: str) -> None:
    one = await ask(web, name, 200, PROVIDERS[name].found, replace(REQUEST, max_results=1))
    there = await ask(web, name, 200, PROVIDERS[name].found, replace(REQUEST, site="example.net"))
    nowhere = await ask(web, name, 200, PROVIDERS[name].found, replace(REQUEST, site="ample.org"))

    assert [hit.title for hit in one.hits] == ["One page"]
    assert [hit.title for hit in there.hits] == ["Two"]
    assert nowhere.status != "ok"


@every_provider
async def test_nothing_found_is_empty(web: SearchServer, name: str) -> None:
    assert (await ask(web, name, 200, PROVIDERS[name].empty)).status == "empty"


@pytest.mark.parametrize(
    ("name", "status", "body"), [(name, *reply) for name, provider in PROVIDERS.items() for reply in provider.blocked]
)
async def test_a_challenge_a_refusal_and_a_key_that_is_not_accepted_are_blocked(
    web: SearchServer, name: str, status: int, body: bytes
) -> None:
    outcome = await ask(web, name, status, body)

    assert outcome.status == "blocked"
    assert not PROVIDERS[name].is_keyed or status == 202 or f"PROMETHEUS_{name.upper()}_API_KEY" in outcome.reason


@every_provider
async def test_too_many_requests_are_rate_limited(web: SearchServer, name: str) -> None:
    assert (await ask(web, name, 429, replies.brave_error(429, "RATE_LIMITED", "x"))).status == "rate_limited"


@pytest.mark.parametrize(
    ("name", "headers", "when"),
    [
        ("brave", {"X-RateLimit-Reset": "3, 1419704"}, "in 3 seconds"),
        ("brave", {"X-RateLimit-Reset": "0, 1419704"}, "in a minute"),
        ("tavily", {"Retry-After": "60"}, "in 60 seconds"),
        ("tavily", {"Retry-After": "Mon, 30 Nov 2026 20:00:00 GMT"}, "in a minute"),
        ("searxng", {"Retry-After": "9999999"}, "in a minute"),
        ("searxng", {"Retry-After": "\u00b2"}, "in a minute"),
    ],
)
async def test_the_answer_says_when_to_come_back(
    web: SearchServer, name: str, headers: dict[str, str], when: str
) -> None:
    web.headers = headers

    assert (await ask(web, name, 429, b"")).reason.endswith(f"try again {when}.")


@every_provider
@pytest.mark.parametrize("status", [400, 404, 500, 503])
async def test_an_error_of_the_providers_own_has_failed(web: SearchServer, name: str, status: int) -> None:
    assert (await ask(web, name, status, b"<html>oops</html>")).status == "failed"


@every_provider
async def test_silence_is_timed_out(web: SearchServer, name: str) -> None:
    web.silent = True

    assert (await PROVIDERS[name].make(web.url).search(REQUEST, 1)).status == "timed_out"


@every_provider
async def test_a_closed_port_has_failed(name: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    assert (await PROVIDERS[name].make(f"http://127.0.0.1:{port}").search(REQUEST, 5)).status == "failed"


@pytest.mark.parametrize("name", JSON_PROVIDERS)
@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"results": {}}', b"[" * 100_000, b"\xff", b"x" * 5_000_001])
async def test_what_is_no_answer_of_the_provider_has_failed(web: SearchServer, name: str, body: bytes) -> None:
    assert (await ask(web, name, 200, body)).status == "failed"


@pytest.mark.parametrize("name", JSON_PROVIDERS)
async def test_a_redirect_is_not_followed(web: SearchServer, name: str) -> None:
    web.headers = {"Location": "/elsewhere"}

    assert (await ask(web, name, 302, b"")).status == "failed"
    assert len(web.asked) == 1


@pytest.mark.parametrize("name", JSON_PROVIDERS)
@pytest.mark.parametrize(
    ("told", "cost"),
    [
        (0.004, 0.004),
        (0, 0.0),
        (-1, None),
        ("0.1", None),
        (True, None),
        (None, None),
        (float("nan"), None),
        (1e300, None),
    ],
)
async def test_a_cost_is_told_only_when_the_provider_tells_one(
    web: SearchServer, name: str, told: Any, cost: float | None
) -> None:
    answer = json.loads(PROVIDERS[name].found) | {"cost_usd": told}

    assert (await ask(web, name, 200, json.dumps(answer).encode())).cost_usd == cost


async def test_brave_is_asked_in_its_own_words(web: SearchServer) -> None:
    request = SearchRequest("a & b", 20, "month", "de-AT", "strict", "example.org")
    await ask(web, "brave", 200, PROVIDERS["brave"].found, request)
    asked = {key: values[0] for key, values in parse_qs(urlsplit(web.asked[0]).query).items()}

    assert asked == {
        "q": "a & b site:example.org",
        "count": "20",
        "safesearch": "strict",
        "text_decorations": "false",
        "result_filter": "web",
        "freshness": "pm",
        "search_lang": "de",
        "country": "AT",
    }
    assert web.sent_headers[0]["X-Subscription-Token"] == KEY
    await ask(web, "brave", 200, PROVIDERS["brave"].found, SearchRequest("word " * 80))
    assert len(parse_qs(urlsplit(web.asked[1]).query)["q"][0].split()) == 50


async def test_tavily_is_asked_in_its_own_words(web: SearchServer) -> None:
    request = SearchRequest("a & b", 20, "year", "de-AT", "off", "example.org")
    await ask(web, "tavily", 200, PROVIDERS["tavily"].found, request)

    assert json.loads(web.sent[0]) == {
        "query": "a & b",
        "max_results": 20,
        "search_depth": "basic",
        "time_range": "year",
        "include_domains": ["example.org"],
        "country": "austria",
    }
    assert web.sent_headers[0]["Authorization"] == f"Bearer {KEY}"
    await ask(web, "tavily", 200, PROVIDERS["tavily"].found, SearchRequest("x", region="is-IS"))
    assert "country" not in json.loads(web.sent[1])


@pytest.mark.parametrize("name", ["tavily", "keyless"])
async def test_a_provider_that_cannot_filter_strictly_is_not_asked_to(web: SearchServer, name: str) -> None:
    outcome = await ask(web, name, 200, PROVIDERS[name].found, replace(REQUEST, safe="strict"))

    assert outcome.status == "failed"
    assert web.asked == []


@pytest.mark.parametrize("name", [name for name, provider in PROVIDERS.items() if provider.is_keyed])
async def test_no_key_reaches_a_log(web: SearchServer, name: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for status, body in ((200, PROVIDERS[name].found), *PROVIDERS[name].blocked):
            await ask(web, name, status, body)

    assert KEY not in caplog.text
    assert KEY not in "".join(web.asked)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=10),
    lambda inside: (
        st.lists(inside, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ("results", "web", "type", "url", "title", "content", "unresponsive_engines", "cost_usd", "error")
            ),
            inside,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@settings(deadline=None, max_examples=80)
@given(st.sampled_from(JSON_PROVIDERS), json_values, st.sampled_from((200, 422)))
def test_any_json_comes_to_an_outcome(name: str, data: Any, status: int) -> None:
    from tools_mcp.search import brave, searxng, tavily
    from tools_mcp.search.json_api import Answer

    read = {"brave": brave._outcome, "searxng": searxng._outcome, "tavily": tavily._outcome}[name]
    outcome = read(
        Answer(status, {}, data if isinstance(data, dict) else {"results": data, "type": "search", "web": data}),
        REQUEST,
    )

    assert bool(outcome.hits) is (outcome.status == "ok")
