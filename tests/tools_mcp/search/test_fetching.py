"""Fetching over real sockets: what is asked for, where a fetch goes, and what is never connected to."""

import re

import pytest

from tests.tools_mcp.search.fetching_here import ARTICLE, TEXT, InThisProcess, failure, page
from tests.tools_mcp.search.ssrf import NEVER_FETCHED
from tests.tools_mcp.search.web_of_ours import PUBLIC, Canned, Web, to, web_of_ours
from tools_mcp.search.fetching import Failure, Fetcher, Page


async def test_a_page_is_fetched_from_the_address_that_was_judged_under_its_own_name(
    web: Web, fetcher: Fetcher
) -> None:
    web.pages["https://site.example/a?b=c"] = Canned(ARTICLE)
    found = await page(fetcher, " https://Site.Example/a?b=c#part ")

    assert (found.asked, found.url, found.content_type) == (*["https://site.example/a?b=c"] * 2, "text/html")
    assert "first paragraph" in found.reading.text
    assert "Menu" not in found.reading.text
    assert web.asked == ["https://site.example/robots.txt", "https://site.example/a?b=c"]
    assert web.resolved == ["site.example"] * 2  # each connection its own look-up and judgement
    assert web.connected == [(PUBLIC, 443)] * 2
    assert set(web.greeted) == {"site.example"}
    assert web.headers[-1]["Host"] == "site.example"
    assert web.headers[-1]["User-Agent"] == "prometheus-agent"
    assert not {"Cookie", "Authorization", "Referer"} & web.headers[-1].keys()


@pytest.mark.parametrize("url", NEVER_FETCHED)
async def test_what_is_never_fetched_is_refused_before_a_name_is_looked_up_or_a_connection_made(url: str) -> None:
    web = Web()
    found = await failure(Fetcher(web, InThisProcess()), url)

    assert found.status == "refused"
    assert (web.resolved, web.connected) == ([], [])


@pytest.mark.parametrize("url", [url for url in NEVER_FETCHED if re.match(r"[a-z]+:(//[^/]|\\|[a-z]+[:/(])", url)])
async def test_a_redirect_to_what_is_never_fetched_is_refused_before_a_connection_is_made(url: str) -> None:
    location = url.replace("\n", "%0A").replace("\t", " ").encode("utf-8").decode("latin-1")
    with web_of_ours() as web:
        web.pages["http://site.example/"] = to(location)
        found = await failure(Fetcher(web, InThisProcess()), "http://site.example/")

    assert found.status == "refused"
    assert {address for address, _ in web.connected} == {PUBLIC}
    assert set(web.resolved) == {"site.example"}


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["10.1.2.3"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["fe80::1%eth0"],
        ["169.254.169.254"],
        [PUBLIC, "192.168.0.1"],
        ["64:ff9b::7f00:1", PUBLIC],
    ],
)
async def test_a_name_that_leads_to_a_private_place_is_refused_before_a_connection_is_made(
    web: Web, fetcher: Fetcher, addresses: list[str]
) -> None:
    web.names["site.example"] = [addresses]

    assert (await failure(fetcher, "https://site.example/")).status == "refused"
    assert web.connected == []


async def test_a_resolver_that_changes_its_answer_gains_nothing(web: Web, fetcher: Fetcher) -> None:
    web.pages["https://site.example/"] = Canned(ARTICLE)
    web.names["site.example"] = [[PUBLIC], ["127.0.0.1"]]
    found = await failure(fetcher, "https://site.example/")
    web.resolved.clear()
    web.names["site.example"] = [[PUBLIC], ["127.0.0.1"]]  # robots.txt is known by now if it was answered
    again = await page(fetcher, "https://site.example/")

    assert found.status == "refused"
    assert again.url == "https://site.example/"
    assert {address for address, _ in web.connected} == {PUBLIC}
    assert web.resolved == ["site.example"]


async def test_a_redirect_back_to_the_same_name_is_looked_up_and_judged_again(web: Web, fetcher: Fetcher) -> None:
    web.pages["https://site.example/"] = to("/second")
    web.pages["https://site.example/second"] = Canned(ARTICLE)
    web.names["site.example"] = [[PUBLIC], [PUBLIC], ["127.0.0.1"]]

    assert (await failure(fetcher, "https://site.example/")).status == "refused"
    assert web.connected == [(PUBLIC, 443)] * 2


async def test_up_to_five_redirects_are_followed_and_each_site_is_asked(web: Web, fetcher: Fetcher) -> None:
    for number in range(7):
        web.pages[f"https://site.example/{number}"] = to(
            f"//{'ab'[number % 2]}.site.example/{number + 1}", 301 + number % 3
        )
        web.pages[f"https://site.example/{number}?again"] = web.pages[f"https://site.example/{number}"]
        web.pages[f"https://{'ab'[number % 2]}.site.example/{number + 1}"] = to(
            f"https://site.example/{number + 2}", 308
        )
    web.pages["https://site.example/end"] = to("/six#part")
    web.pages["https://site.example/six"] = Canned(ARTICLE)
    web.pages["https://site.example/4"] = to("https://b.site.example/5", 307)
    web.pages["https://b.site.example/5"] = Canned(ARTICLE)

    assert (await page(fetcher, "https://site.example/end")).url == "https://site.example/six"
    assert (await page(fetcher, "https://site.example/0")).url == "https://b.site.example/5"
    web.pages["https://b.site.example/5"] = to("https://site.example/six")
    web.pages["https://site.example/six"] = to("https://site.example/seven")
    found = await failure(fetcher, "https://site.example/0?again")
    assert found.status == "failed"
    assert "5 times" in found.reason
    assert {url for url in web.asked if "robots" in url} == {
        f"https://{name}.example/robots.txt" for name in ("site", "a.site", "b.site")
    }


async def test_a_redirect_may_be_written_in_any_letters(web: Web, fetcher: Fetcher) -> None:
    web.pages["http://site.example/"] = to("/größe".encode().decode("latin-1"))
    web.pages["http://site.example/gr%C3%B6%C3%9Fe"] = Canned(ARTICLE)

    assert (await page(fetcher, "http://site.example/")).url == "http://site.example/gr%C3%B6%C3%9Fe"


async def test_a_space_in_a_redirect_is_written_out_as_browsers_do(web: Web, fetcher: Fetcher) -> None:
    web.pages["http://site.example/"] = to(" /a b ")
    web.pages["http://site.example/a%20b"] = Canned(ARTICLE)

    assert (await page(fetcher, "http://site.example/")).url == "http://site.example/a%20b"


async def test_a_redirect_from_https_to_http_is_refused_and_the_other_way_is_followed(
    web: Web, fetcher: Fetcher
) -> None:
    web.pages["https://site.example/down"] = to("http://site.example/")
    web.pages["http://site.example/up"] = to("https://site.example/")
    web.pages["https://site.example/"] = Canned(ARTICLE)

    assert (await failure(fetcher, "https://site.example/down")).status == "refused"
    assert (80 in {port for _, port in web.connected}) is False
    assert (await page(fetcher, "http://site.example/up")).url == "https://site.example/"


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        (b"User-agent: *\nDisallow: /", "/", False),
        (b"User-agent: *\nDisallow: /private", "/public", True),
        (b"User-agent: prometheus-agent\nDisallow: /\n\nUser-agent: *\nAllow: /", "/x", False),
        (b"", "/", True),
    ],
)
async def test_what_robots_txt_asks_is_done(web: Web, fetcher: Fetcher, rules: bytes, path: str, allowed: bool) -> None:
    web.pages["http://site.example/robots.txt"] = Canned(rules, headers=TEXT)
    web.pages[f"http://site.example{path}"] = Canned(ARTICLE)
    found, _ = await fetcher.fetch(f"http://site.example{path}", "text")

    assert isinstance(found, Page) is allowed
    assert bool(web.pages_asked) is allowed
    assert allowed or (isinstance(found, Failure) and found.status == "disallowed")


@pytest.mark.parametrize(
    ("status", "ends"), [(404, "ok"), (401, "ok"), (500, "disallowed"), (503, "disallowed"), (429, "disallowed")]
)
async def test_a_robots_txt_that_is_missing_allows_and_one_that_fails_does_not(
    web: Web, fetcher: Fetcher, status: int, ends: str
) -> None:
    web.pages["http://site.example/robots.txt"] = Canned(b"User-agent: *\nDisallow: /", status)
    web.pages["http://site.example/"] = Canned(ARTICLE)
    found, _ = await fetcher.fetch("http://site.example/", "text")

    assert (found.status if isinstance(found, Failure) else "ok") == ends


async def test_the_robots_txt_of_the_place_a_redirect_leads_to_counts(web: Web, fetcher: Fetcher) -> None:
    web.pages["http://site.example/"] = to("http://other.example/secret")
    web.pages["http://other.example/robots.txt"] = to("/moved.txt", 301)
    web.pages["http://other.example/moved.txt"] = Canned(b"User-agent: *\nDisallow: /secret", headers=TEXT)

    assert (await failure(fetcher, "http://site.example/")).status == "disallowed"
    assert "http://other.example/secret" not in web.asked


async def test_a_robots_txt_that_leads_to_a_private_place_is_not_followed(web: Web, fetcher: Fetcher) -> None:
    web.pages["http://site.example/robots.txt"] = to("http://169.254.169.254/latest/meta-data")

    assert (await failure(fetcher, "http://site.example/")).status == "refused"
    assert web.connected == [(PUBLIC, 80)]


async def test_a_name_that_is_not_known_has_failed(web: Web, fetcher: Fetcher) -> None:
    web.names["site.example"] = [[]]
    found = await failure(fetcher, "https://site.example/")

    assert found.status == "failed"
    assert "not found" in found.reason


async def test_a_page_is_kept_for_a_while_in_each_format_and_a_failure_is_not(web: Web, fetcher: Fetcher) -> None:
    ticks = [0.0]
    fetcher.pages.clock = lambda: ticks[0]
    web.pages["http://site.example/"] = Canned(ARTICLE)
    first, kept, other = [
        await fetcher.fetch("http://site.example/", form) for form in ("markdown", "markdown", "text")
    ]
    ticks[0] = 901
    later = await fetcher.fetch("http://site.example/", "markdown")

    assert [is_kept for _, is_kept in (first, kept, other, later)] == [False, True, False, False]
    assert kept[0] is first[0]
    assert len(web.pages_asked) == 3
    await failure(fetcher, "http://site.example/gone")
    await failure(fetcher, "http://site.example/gone")
    assert len(web.pages_asked) == 5
