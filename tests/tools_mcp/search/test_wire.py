"""One request over real sockets: TLS, bodies of every kind and size, and sites that misbehave."""

import gzip
import ssl
import time
import zlib
from http.server import BaseHTTPRequestHandler

import pytest

from tests.tools_mcp.search.fetching_here import ARTICLE, TEXT, InThisProcess, failure, page
from tests.tools_mcp.search.web_of_ours import OTHER_PUBLIC, PUBLIC, Answering, Canned, Certificates, Web
from tools_mcp.search.fetching import MOST_BYTES, Fetcher


async def test_the_next_address_is_tried_when_one_does_not_answer(web: Web, fetcher: Fetcher) -> None:
    web.pages["https://site.example/"] = Canned(ARTICLE)
    web.names["site.example"] = [[OTHER_PUBLIC, PUBLIC]]
    web.unanswered = {OTHER_PUBLIC}
    await page(fetcher, "https://site.example/")
    web.unanswered = {OTHER_PUBLIC, PUBLIC}

    assert web.connected == [(OTHER_PUBLIC, 443), (PUBLIC, 443)] * 2
    assert (await failure(fetcher, "https://site.example/other")).status == "failed"


async def test_a_certificate_for_another_name_or_of_nobody_is_not_accepted(web: Web, fetcher: Fetcher) -> None:
    web.pages["https://other.example/"] = Canned(ARTICLE)
    wrong_name = await failure(fetcher, "https://other.example/")
    unknown = await failure(Fetcher(web, InThisProcess(), ssl.create_default_context()), "https://site.example/")

    assert {wrong_name.status, unknown.status} == {"failed"}
    assert "certificate" in wrong_name.reason
    assert "certificate" in unknown.reason
    assert web.asked == []


@pytest.mark.parametrize(
    ("status", "ends"),
    [
        (202, "blocked"),
        (401, "blocked"),
        (403, "blocked"),
        (404, "failed"),
        (429, "rate_limited"),
        (500, "failed"),
        (304, "failed"),
        (206, "failed"),
    ],
)
async def test_http_statuses_have_their_own_words(web: Web, fetcher: Fetcher, status: int, ends: str) -> None:
    web.pages["http://site.example/"] = Canned(ARTICLE, status)
    found = await failure(fetcher, "http://site.example/")

    assert found.status == ends
    assert str(status) in found.reason


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("image/png", b"\x89PNG\r\n"),
        ("application/zip", b"PK"),
        ("video/mp4", b""),
        ("application/octet-stream", b"\0\1"),
        ("application/octet-stream", b"plain"),
        ("", b"\0\0\0"),
        ("application/pdf", b"%PDF-1.4 broken"),
        ("text/html", b""),
        ("text/plain", b" \n\t "),
    ],
)
async def test_what_is_no_text_is_unreadable(web: Web, fetcher: Fetcher, content_type: str, body: bytes) -> None:
    web.pages["http://site.example/"] = Canned(body, headers={"Content-Type": content_type})

    assert (await failure(fetcher, "http://site.example/")).status == "unreadable"


async def test_a_body_that_is_too_long_is_cut_and_says_so(web: Web, fetcher: Fetcher) -> None:
    web.pages["http://site.example/"] = Canned(b"x" * (MOST_BYTES + 1), headers=TEXT)
    web.pages["http://site.example/pdf"] = Canned(
        b"%PDF-" + b"x" * MOST_BYTES, headers={"Content-Type": "application/pdf"}
    )
    found = await page(fetcher, "http://site.example/")
    reader = fetcher.reader

    assert isinstance(reader, InThisProcess)
    assert len(reader.read_so_far[0].body) == MOST_BYTES
    assert found.reading.is_cut
    assert "5 MB" in (await failure(fetcher, "http://site.example/pdf")).reason


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "deflate"])
async def test_a_packed_bomb_costs_no_more_than_any_page(web: Web, fetcher: Fetcher, encoding: str) -> None:
    bomb = (zlib if encoding == "deflate" else gzip).compress(b"a" * 60_000_000)
    web.pages["http://site.example/"] = Canned(bomb, headers=TEXT | {"Content-Encoding": encoding})
    await page(fetcher, "http://site.example/")
    reader = fetcher.reader

    assert isinstance(reader, InThisProcess)
    assert len(reader.read_so_far[0].body) == MOST_BYTES


@pytest.mark.parametrize(
    ("encoding", "body"), [("br", b"x"), ("gzip", b"not gzip"), ("zstd", b"x"), ("gzip, gzip", b"")]
)
async def test_a_body_packed_in_another_way_is_unreadable(
    web: Web, fetcher: Fetcher, encoding: str, body: bytes
) -> None:
    web.pages["http://site.example/"] = Canned(body, headers=TEXT | {"Content-Encoding": encoding})

    assert (await failure(fetcher, "http://site.example/")).status == "unreadable"


def silent(handler: BaseHTTPRequestHandler) -> None:
    """Says nothing until the client is gone."""
    handler.connection.settimeout(20)
    handler.connection.recv(1)


def endless(handler: BaseHTTPRequestHandler) -> None:
    """Sends a byte now and then, for as long as the client listens."""
    handler.send_response(200)
    handler.send_header("Content-Type", "text/plain")
    handler.end_headers()
    for _ in range(400):
        handler.wfile.write(b"x")
        time.sleep(0.02)


def broken(handler: BaseHTTPRequestHandler) -> None:
    """Promises more than it sends."""
    handler.send_response(200)
    handler.send_header("Content-Type", "text/plain")
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    handler.wfile.write(b"half")


def nonsense(handler: BaseHTTPRequestHandler) -> None:
    """Does not speak HTTP."""
    handler.wfile.write(b"220 mail.site.example ESMTP\r\n")


def headers_without_end(handler: BaseHTTPRequestHandler) -> None:
    """Sends headers for as long as the client listens."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    for _ in range(5_000):
        handler.wfile.write(b"X-Filler: " + b"y" * 1000 + b"\r\n")


@pytest.mark.parametrize("behaviour", [silent, endless])
async def test_a_site_that_takes_its_time_is_given_up(web: Web, papers: Certificates, behaviour: Answering) -> None:
    web.pages["http://site.example/"] = behaviour
    fetcher = Fetcher(web, InThisProcess(), papers.trust, timeout_s=0.4)

    assert (await failure(fetcher, "http://site.example/")).status == "timed_out"


@pytest.mark.parametrize("behaviour", [broken, nonsense, headers_without_end])
async def test_a_site_that_breaks_http_has_failed(web: Web, fetcher: Fetcher, behaviour: Answering) -> None:
    web.pages["http://site.example/"] = behaviour

    assert (await failure(fetcher, "http://site.example/")).status == "failed"


async def test_latin_and_japanese_pages_are_read_in_their_own_letters(web: Web, fetcher: Fetcher) -> None:
    for label, text in (("iso-8859-1", "Größe café"), ("shift_jis", "日本語のページ"), ("windows-1251", "Привет мир")):
        web.pages[f"http://site.example/{label}"] = Canned(
            f"<p>{text}</p>".encode(label), headers={"Content-Type": f'text/html; charset="{label}"'}
        )
        assert text in (await page(fetcher, f"http://site.example/{label}")).reading.text
