"""The readers of what strangers send, with spoilt and hostile input: always an answer, in bounded time and memory."""

# ruff: noqa: RUF001, S311 - letters that look like others are the point; the same chance in every run is too

import random
import time
import zlib
from collections.abc import Callable

import pytest

from tests.tools_mcp.search.pdfs import assembled, pdf, stream
from tests.tools_mcp.search.test_reader import children
from tests.tools_mcp.search.test_reading import ARTICLE
from tests.tools_mcp.search.test_robots import GROUPS
from tools_mcp.search.addresses import Refusal, Target, read_target
from tools_mcp.search.decoding import Unpacker, UnreadableBodyError
from tools_mcp.search.reader import ReaderProcess
from tools_mcp.search.reading import MOST_TEXT, Kind, Raw, Reading, read
from tools_mcp.search.robots import read_robots

pytestmark = [pytest.mark.fuzz, pytest.mark.timeout(600)]

LIMIT_S = 10.0
"""Of CPU time for one spoilt input; the originals take milliseconds."""
HTML_PIECES = (
    *(
        b"<table>",
        b"</div>",
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b"&#x0;",
        b"&#xD800;",
        b"<svg><title>",
        b"<p " + b"a=1 " * 50,
    ),
    *(
        b"<a href='http://[::1'>",
        b"<base href='javascript:1'>",
        b"<meta charset=utf-16>",
        b"\0",
        b"<frameset>",
        b"\xff\xfe",
    ),
    *(b"<time datetime='99999-99-99'>", b'<script type="application/ld+json">{"@graph":[{}]}</script>', b"<" * 99),
)
PDF_PIECES = (
    *(
        b"/Length 999999999",
        b"/Length -1",
        b"<<" * 99,
        b"[" * 99,
        b"5 0 R",
        b"0 0 R",
        b"99999999999 0 R",
        b"endobj",
        b"stream\n",
    ),
    *(
        b"/Filter [/ASCIIHexDecode /LZWDecode /RunLengthDecode]",
        b"/Count 4294967295",
        b"/Kids [2 0 R 2 0 R]",
        b"(((",
        b"\\(",
    ),
    *(b"/Type /ObjStm /N 99999 /First 1", b"startxref\n9\n%%EOF", b"/Encrypt << /Filter /Standard /V 5 >>", b"/Prev 9"),
)
ROBOTS_PIECES = (
    b"User-agent: *\n",
    b"Disallow: /*$*$",
    b"\r",
    b"%",
    b"%zz",
    b"#",
    b":",
    b"\0",
    b"\xff",
    b"*" * 99,
    b"Allow:",
)


def spoilt(original: bytes, pieces: tuple[bytes, ...], chance: random.Random) -> bytes:
    """Return the original after some cuts, copies, flips and insertions."""
    body = bytearray(original)
    for _ in range(chance.randint(1, 8)):
        at, other = sorted(chance.randrange(len(body) + 1) for _ in range(2))
        kind = chance.randrange(5)
        if kind == 0:
            del body[at : min(other, at + 200)]
        elif kind == 1:
            body[at:at] = body[at:other]
        elif kind == 2:
            body[at:at] = chance.choice(pieces)
        elif kind == 3 and at < len(body):
            body[at] = chance.randrange(256)
        else:
            body[at:other] = bytes(chance.randrange(256) for _ in range(min(other - at, 20)))
    return bytes(body[:100_000])


def in_time(work: Callable[[], object]) -> None:
    began = time.process_time()
    work()
    assert time.process_time() - began < LIMIT_S


def check(reading: Reading) -> None:
    assert bool(reading.text) is not bool(reading.problem)
    assert len(reading.text) <= MOST_TEXT
    reading.text.encode()
    reading.title.encode()
    assert "\0" not in reading.text


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("kind", "original", "pieces", "count"),
    [
        ("html", ARTICLE.encode(), HTML_PIECES, 60),
        ("pdf", pdf("one", "two", title="T"), PDF_PIECES, 150),
        ("pdf", pdf("one", "two", packed=True), PDF_PIECES, 150),
        ("text", ARTICLE.encode("utf-16"), HTML_PIECES, 200),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_spoilt_page_is_read_or_a_problem(
    seed: int, kind: Kind, original: bytes, pieces: tuple[bytes, ...], count: int
) -> None:
    chance = random.Random(seed)
    for _ in range(count):
        body = spoilt(original, pieces, chance)
        charset = chance.choice(["", "utf-8", "utf-16", "shift_jis", "nonsense"])
        raw = Raw(
            kind, body, charset, "https://example.org/", chance.choice(["markdown", "text"]), chance.random() < 0.3
        )
        in_time(lambda raw=raw: check(read(raw)))  # type: ignore[misc] # a default binds the loop's value


@pytest.mark.parametrize("seed", range(4))
def test_a_spoilt_robots_txt_is_read(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(2_000):
        body = spoilt(GROUPS, ROBOTS_PIECES, chance)
        in_time(lambda body=body: read_robots(body).allows("/private/" + "a*$%" * 400))  # type: ignore[misc] # same


@pytest.mark.parametrize("seed", range(4))
def test_a_spoilt_packed_body_is_unpacked_or_unreadable(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(2_000):
        body, unpacker = (
            spoilt(zlib.compress(GROUPS * 9), (b"\x78\x9c", b"\x1f\x8b\x08\0"), chance),
            Unpacker("deflate", 999),
        )
        try:
            for at in range(0, len(body), 50):
                unpacker.feed(body[at : at + 50])
        except UnreadableBodyError:
            pass
        assert len(unpacker.body) <= 999


@pytest.mark.parametrize("seed", range(4))
def test_a_spoilt_address_is_read_or_refused(seed: int) -> None:
    chance = random.Random(seed)
    parts = (
        "http",
        "://",
        "https://",
        "127.0.0.1",
        "[::1]",
        "@",
        "%",
        "%00",
        "0x7f",
        ".",
        "..",
        "/",
        "\\",
        ":80",
        ":",
        "１",
        "。",
    )
    for _ in range(20_000):
        url = "http://" * chance.randrange(2) + "".join(
            chance.choice((*parts, "example", "org")) for _ in range(chance.randrange(9))
        )
        found = read_target(url)
        assert isinstance(found, Refusal) or read_target(found.url) == found
        assert not (isinstance(found, Target) and found.is_literal)


def bomb(size: int, filters: int = 1) -> bytes:
    data = b"BT /F1 12 Tf (x) Tj ET " * (size // 23)
    for _ in range(filters):
        data = zlib.compress(data, 9)
    return stream(data, f"/Filter [{'/FlateDecode ' * filters}]")


def with_contents(contents: bytes, *more: bytes) -> bytes:
    """A PDF of one page that shows this."""
    page = b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << >> >>"
    return assembled(
        [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page, contents, *more], ""
    )


HOSTILE: dict[str, Callable[[], Raw]] = {
    "deep": lambda: Raw("html", b"<div>" * 400_000 + b"x"),
    "deep inline": lambda: Raw("html", b"<b><i>" * 300_000 + b"x"),
    "many attributes": lambda: Raw("html", b"<p " + b"".join(b"a%d=1 " % number for number in range(300_000)) + b">x"),
    "one long attribute": lambda: Raw("html", b"<p a='" + b"x" * 4_000_000 + b"'>text"),
    "never closed": lambda: Raw("html", b"<" * 1_000_000),
    "comments": lambda: Raw("html", b"<!--" * 500_000),
    "entities": lambda: Raw("html", b"<p>" + b"&amp;" * 900_000),
    "tables": lambda: Raw("html", b"<table><tr><td>" * 100_000 + b"x"),
    "paragraphs": lambda: Raw("html", b"<p>word word word</p>" * 200_000),
    "links": lambda: Raw("html", b"<a href='/x'>word</a> " * 200_000),
    "formatting": lambda: Raw("html", b"<p>" + b"<b>a</b><i>b</i>" * 200_000),
    "one line": lambda: Raw("text", b"x" * 5_000_000),
    "unknown letters": lambda: Raw("text", b"\x81\x8d\x8f\x90\x9d" * 1_000_000),
    "bidi": lambda: Raw("text", "\u202e".encode() * 1_600_000),
    "pdf bomb": lambda: Raw("pdf", with_contents(bomb(400_000_000))),
    "pdf bomb in a bomb": lambda: Raw("pdf", with_contents(bomb(60_000_000, 3))),
    "pdf of itself": lambda: Raw("pdf", assembled([b"<< /Type /Catalog /Pages 1 0 R /Kids [1 0 R] /Count 9 >>"], "")),
    "pdf of many pages": lambda: Raw("pdf", pdf(*["x"] * 9_000)),
    "pdf of brackets": lambda: Raw("pdf", with_contents(stream(b"[" * 4_000_000))),
    "pdf of quotes": lambda: Raw("pdf", with_contents(stream(b"(" * 4_000_000))),
    "pdf of noise": lambda: Raw("pdf", b"%PDF-1.7\n" + random.Random(1).randbytes(4_000_000)),
    "pdf of objects": lambda: Raw("pdf", b"%PDF-1.7\n" + b"1 0 obj\n" * 500_000),
}
"""Made when their test runs: some take a second."""


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_page_ends_with_an_answer_when_its_time_is_over(name: str) -> None:
    before = children()
    check(await ReaderProcess().read(HOSTILE[name](), 12))

    assert children() <= before
