import functools
import itertools
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from ddgs.engines import ENGINES
from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException
from ddgs.results import TextResult
from lxml.etree import ParserError  # type: ignore[import-untyped] # lxml publishes no types

from tests.fakes.search_server import SearchServer, search_server
from tools_mcp.search.ddgs_engine import DdgsEngine
from tools_mcp.search.protocol import Outcome, SearchRequest

REQUEST = SearchRequest("x")
PAGE = b"""<html><body><div class="links_main links_deep result__body">
<h2><a href="https://example.org/one">One page</a></h2><a href="https://example.org/one">The first.</a>
</div></body></html>"""
NO_RESULTS = b"<html><body><p>No results.</p></body></html>"
CHALLENGE = b'<html><body><form id="anomaly-modal">Prove that you are no robot.</form></body></html>'


@pytest.fixture
def web() -> Iterator[SearchServer]:
    with search_server() as server:
        yield server


def real_engine(url: str, _: str, timeout_s: int) -> Any:
    """The library's own DuckDuckGo engine with its own HTTP client, pointed at our server."""
    engine = ENGINES["text"]["duckduckgo"](timeout=timeout_s)
    engine.search_url = url
    return engine


class Scripted:
    """An engine that raises or returns what the test says."""

    def __init__(self, outcome: BaseException | list[TextResult] | None) -> None:
        self.outcome = outcome
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.http_client = type("Client", (), {"request": staticmethod(lambda: None)})()

    def search(self, query: str, **options: Any) -> list[TextResult] | None:
        self.asked.append((query, options))
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


def found(number: int) -> list[TextResult]:
    return [TextResult(title="One", href=f"https://example.org/{number}", body="text")]


def scripted(**outcomes: Any) -> DdgsEngine:
    return DdgsEngine(tuple(outcomes), new_engine=lambda name, _: Scripted(outcomes[name]))


async def at(web: SearchServer, status: int, body: bytes) -> Outcome:
    web.status, web.body = status, body
    engine = DdgsEngine(("duckduckgo",), new_engine=functools.partial(real_engine, web.url))
    return await engine.search(REQUEST, 10)


async def test_a_page_with_results_is_read(web: SearchServer) -> None:
    outcome = await at(web, 200, PAGE)

    assert outcome.status == "ok"
    assert [(hit.title, hit.url) for hit in outcome.hits] == [("One page", "https://example.org/one")]


@pytest.mark.parametrize(
    ("code", "body", "status"),
    [
        (200, NO_RESULTS, "empty"),
        (200, CHALLENGE, "blocked"),
        (202, CHALLENGE, "blocked"),
        (403, b"", "blocked"),
        (429, b"", "rate_limited"),
        (500, b"", "failed"),
        (200, b"", "failed"),
    ],
)
async def test_the_http_status_and_the_page_tell_the_failures_apart(
    web: SearchServer, code: int, body: bytes, status: str
) -> None:
    outcome = await at(web, code, body)

    assert outcome.status == status
    assert outcome.hits == ()
    assert "duckduckgo: " in outcome.reason


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (RatelimitException("202 Ratelimit"), "rate_limited", "too many requests"),
        (TimeoutException("timed out"), "timed_out", "no answer in time"),
        (DDGSException("DNSError: DNSError('error resolving DNS')"), "failed", "not reachable"),
        (DDGSException("ConnectError: refused"), "failed", "not reachable"),
        (DDGSException("something else"), "failed", "an error"),
        (ParserError("Document is empty"), "failed", "cannot be read"),
        (AttributeError("'NoneType' object has no attribute 'group'"), "failed", "cannot be read"),
        (IndexError("list index out of range"), "failed", "cannot be read"),
    ],
)
async def test_the_librarys_exceptions_become_answers(error: BaseException, status: str, words: str) -> None:
    outcome = await scripted(brave=error).search(REQUEST, 10)

    assert outcome.status == status
    assert f"brave: {words}" in outcome.reason or words in outcome.reason


async def test_the_next_engine_is_asked_until_one_has_results() -> None:
    engine = scripted(one=RatelimitException(""), two=None, three=found(3), four=found(4))

    assert [hit.url for hit in (await engine.search(REQUEST, 10)).hits] == ["https://example.org/3"]


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ({"one": None, "two": None}, "empty"),
        ({"one": None, "two": TimeoutException("")}, "timed_out"),
        ({"one": DDGSException("x"), "two": TimeoutException("")}, "timed_out"),
        ({"one": DDGSException("x"), "two": RatelimitException(""), "three": None}, "rate_limited"),
    ],
)
async def test_empty_means_that_every_engine_said_so(outcomes: dict[str, Any], status: str) -> None:
    outcome = await scripted(**outcomes).search(REQUEST, 10)

    assert outcome.status == status
    assert all(f"{name}: " in outcome.reason for name in outcomes)


async def test_an_engine_that_hangs_does_not_hold_the_answer() -> None:
    over = threading.Event()

    class Hanging(Scripted):
        def search(self, query: str, **options: Any) -> list[TextResult] | None:
            over.wait(timeout=30)
            return super().search(query, **options)

    outcome = await DdgsEngine(("one",), new_engine=lambda *_: Hanging(None)).search(REQUEST, 0.2)
    over.set()

    assert outcome.status == "timed_out"


async def test_no_engine_is_started_without_time_for_it() -> None:
    ticks = itertools.count(0, 6)
    asked: list[tuple[str, int]] = []

    def new_engine(name: str, timeout_s: int) -> Scripted:
        asked.append((name, timeout_s))
        return Scripted(TimeoutException(""))

    engine = DdgsEngine(("one", "two", "three", "four"), new_engine, clock=lambda: float(next(ticks)))
    outcome = await engine.search(REQUEST, 19)

    assert asked == [("one", 6), ("two", 6), ("three", 1)]
    assert outcome.status == "timed_out"


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (SearchRequest("x"), ("us-en", "moderate", None)),
        (SearchRequest("x", 5, "month", "de-AT", "strict"), ("at-de", "on", "m")),
        (SearchRequest("x", 5, "day", "pt-br", "off"), ("br-pt", "off", "d")),
    ],
)
async def test_the_request_is_put_in_the_librarys_words(request_: SearchRequest, expected: tuple[str, ...]) -> None:
    one = Scripted(found(1))
    await DdgsEngine(("one",), new_engine=lambda *_: one).search(request_, 10)
    names = ("region", "safesearch", "timelimit")

    assert one.asked == [("x", dict(zip(names, expected, strict=True)))]


def test_every_engine_we_ask_is_one_the_library_has() -> None:
    assert set(DdgsEngine().engines) <= set(ENGINES["text"])


@pytest.mark.parametrize(
    ("request_", "asked"),
    [
        (SearchRequest("x"), ["duckduckgo", "brave", "mojeek"]),
        (SearchRequest("x", safe="strict"), ["brave", "mojeek"]),
        (SearchRequest("x", freshness="day"), ["duckduckgo", "brave"]),
        (SearchRequest("x", freshness="day", safe="strict"), ["brave"]),
    ],
)
async def test_engines_that_would_ignore_a_filter_are_not_asked(request_: SearchRequest, asked: list[str]) -> None:
    names: list[str] = []

    def new_engine(name: str, _: int) -> Scripted:
        names.append(name)
        return Scripted(None)

    await DdgsEngine(new_engine=new_engine).search(request_, 10)

    assert names == asked
