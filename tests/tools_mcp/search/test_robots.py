import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools_mcp.search.robots import Robots, Rule, read_robots

GROUPS = b"""\xef\xbb\xbf# a comment
User-agent: OtherBot
Disallow: /
Sitemap: https://example.org/map.xml

user-agent : Prometheus-Agent/1.0   # us
User-agent: Third
Disallow: /private # not here
Allow: /private/open
Crawl-delay: 10

User-agent: *
Disallow: /everything
"""


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("/", True), ("/private", False), ("/private/x", False), ("/private/open/x", True), ("/everything", True)],
)
def test_the_group_that_names_us_counts_and_its_longest_rule(path: str, allowed: bool) -> None:
    assert read_robots(GROUPS).allows(path) is allowed


@pytest.mark.parametrize(("agent", "path", "allowed"), [("third", "/private", False), ("new", "/everything", False)])
def test_others_have_their_own_group_or_the_one_for_all(agent: str, path: str, allowed: bool) -> None:
    assert read_robots(GROUPS, agent).allows(path) is allowed


def test_groups_for_the_same_agent_are_one_group() -> None:
    rules = read_robots(b"User-agent: *\nDisallow: /a\nUser-agent: x\nDisallow: /b\nUser-agent: *\nDisallow: /c")

    assert [rules.allows(path) for path in ("/a", "/b", "/c")] == [False, True, False]


def test_a_group_of_our_own_without_rules_allows_everything() -> None:
    rules = read_robots(b"User-agent: prometheus-agent\nDisallow:\n\nUser-agent: *\nDisallow: /")

    assert rules.allows("/x")


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("/fish", "/fish.html", True),
        ("/fish", "/Fish.html", False),
        ("/fish*", "/fishheads/yummy.html", True),
        ("/*.php", "/folder/filename.php?parameters", True),
        ("/*.php$", "/filename.php", True),
        ("/*.php$", "/filename.php?x", False),
        ("/*.php$", "/a.php/b.php", True),
        ("/fish*.php", "/fishheads/catfish.php?x", True),
        ("/fish*.php", "/Fish.PHP", False),
        ("/$", "/", True),
        ("/$", "/x", False),
        ("*", "/x", True),
        ("*$", "/x", True),
        ("/a*a$", "/a", False),
        ("/a*a$", "/aa", True),
        ("/foo/bar?baz=http://foo.bar", "/foo/bar?baz=http://foo.bar", True),
        ("/foo/bar/ツ", "/foo/bar/%E3%83%84", True),
        ("/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84", True),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz", True),
        ("/a%2fb", "/a/b", False),
        ("/a%2Fb", "/a%2fb", True),
        ("", "/x", False),
    ],
)
def test_a_pattern_matches_as_rfc_9309_has_it(pattern: str, path: str, matches: bool) -> None:
    rules = read_robots(f"User-agent: *\nDisallow: {pattern}".encode())

    assert rules.allows(path) is not matches


def test_of_equally_long_rules_the_one_that_allows_wins_whatever_comes_first() -> None:
    for lines in ("Allow: /page\nDisallow: /page", "Disallow: /page\nAllow: /page"):
        assert read_robots(f"User-agent: *\n{lines}".encode()).allows("/page")


def test_robots_txt_itself_may_always_be_fetched() -> None:
    assert Robots((Rule(allows=False, pattern="/"),)).allows("/robots.txt")


def test_a_page_of_html_instead_of_rules_allows_everything() -> None:
    assert read_robots(b"<!doctype html><html><body>Disallow: /</body></html>").allows("/x")


@pytest.mark.parametrize(
    "body",
    [
        b"User-agent: *\nDisallow: /" + b"*a" * 250_000 + b"$",
        b"User-agent: *\n" + b"Disallow: /*a*b*c\n" * 28_000,
        b"User-agent: x\n" * 36_000 + b"Disallow: /\n",
        b"User-agent: *\n" * 36_000 + b"Disallow: /*\n",
        b"%" * 512_000,
        b"\r" * 512_000,
        b":" * 512_000,
        b"User-agent: *\nDisallow: /" + b"%" * 511_000,
    ],
)
def test_a_hostile_file_takes_no_more_than_a_moment(body: bytes) -> None:
    began = time.process_time()
    read_robots(body).allows("/" + "a" * 1999)

    assert time.process_time() - began < 2


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=300), st.text(max_size=60))
def test_anything_is_read(body: bytes, path: str) -> None:
    assert read_robots(b"User-agent: *\nDisallow: " + body).allows(path) in {True, False}
    assert read_robots(body).allows(path) in {True, False}


@settings(deadline=None)
@given(st.text(alphabet="ab/*$", min_size=1, max_size=12), st.text(alphabet="ab/", max_size=12))
def test_patterns_match_like_the_regular_expression_they_stand_for(pattern: str, rest: str) -> None:
    import re

    body, end = (pattern[:-1], "$") if pattern.endswith("$") else (pattern, "")
    expected = re.match("".join(".*" if c == "*" else re.escape(c) for c in body) + end.replace("$", r"\Z"), f"/{rest}")

    assert Robots((Rule(allows=False, pattern=pattern),)).allows(f"/{rest}") is (expected is None)
