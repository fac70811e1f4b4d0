import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools_mcp.search.cleaning import clean_hits, plain
from tools_mcp.search.protocol import Hit


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<b>bold</b> &amp; <i>more</i>", "bold & more"),
        ("a\n\tb\x00c\u2028d", "a b c d"),
        ("zero\u200bwidth \u202edirection", "zerowidth direction"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("half \ud83d", "half"),
        ("x" * 41, "x" * 39 + "…"),
    ],
)
def test_text_becomes_one_plain_line(text: str, shown: str) -> None:
    assert plain(text, 40) == shown


@settings(deadline=None)
@given(st.text(max_size=200))
def test_plain_text_is_always_short_encodable_and_on_one_line(text: str) -> None:
    shown = plain(text, 50)

    assert len(shown) <= 50
    assert "\n" not in shown
    assert shown.encode().decode() == shown


@pytest.mark.parametrize(
    "url",
    [
        *("", "javascript:alert(1)", "file:///etc/passwd", "ftp://x.org/", "http://", "https:///path", "//x.org"),
        *("https://x.org/a b", "https://x.org/\n", "http://[::1", "data:text/html,x", "https://x.org/" + "a" * 1000),
    ],
)
def test_what_is_no_web_address_is_left_out(url: str) -> None:
    assert clean_hits([Hit("t", f"{url}\x7f" if url.endswith("\n") else url)], 5) == ()


def test_results_keep_their_order_once_each_up_to_the_limit() -> None:
    raw = [
        Hit("a", "https://a.org/"),
        Hit("b", " http://b.org/x "),
        Hit("again", "https://a.org/"),
        Hit("c", "https://c.org"),
    ]

    assert [hit.title for hit in clean_hits(raw, 3)] == ["a", "b", "c"]
    assert [hit.url for hit in clean_hits(raw, 2)] == ["https://a.org/", "http://b.org/x"]


def test_a_result_without_a_title_shows_its_address() -> None:
    assert clean_hits([Hit("<i></i>", "https://a.org/", "x" * 500, " ")], 1) == (
        Hit("https://a.org/", "https://a.org/", "x" * 399 + "…", None),
    )
