import gzip
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools_mcp.search.decoding import Unpacker, UnreadableBodyError, text_of


def raw_deflate(body: bytes) -> bytes:
    machine = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return machine.compress(body) + machine.flush()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "identity": bytes,
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
}


@pytest.mark.parametrize("encoding", PACKERS)
@pytest.mark.parametrize("step", [1, 7, 10_000])
def test_a_body_is_unpacked_in_whatever_pieces_it_comes(encoding: str, step: int) -> None:
    body = bytes(range(256)) * 9
    packed = PACKERS[encoding](body)
    unpacker = Unpacker(encoding, 10_000)
    for at in range(0, len(packed), step):
        unpacker.feed(packed[at : at + step])

    assert (bytes(unpacker.body), unpacker.is_cut) == (body, False)


def test_deflate_without_its_header_and_gzip_in_two_members_are_read_too() -> None:
    deflated, twice = Unpacker("deflate", 1000), Unpacker("gzip", 1000)
    deflated.feed(raw_deflate(b"hello" * 20))
    twice.feed(gzip.compress(b"one ") + gzip.compress(b"two"))

    assert bytes(deflated.body) == b"hello" * 20
    assert bytes(twice.body) == b"one two"


@pytest.mark.parametrize("encoding", PACKERS)
def test_a_body_beyond_the_bound_is_cut_at_it(encoding: str) -> None:
    unpacker = Unpacker(encoding, 1000)
    unpacker.feed(PACKERS[encoding](b"a" * 5_000_000))
    unpacker.feed(b"more")

    assert bytes(unpacker.body) == b"a" * 1000
    assert unpacker.is_cut


def test_a_packed_body_that_says_nothing_for_long_is_cut_too() -> None:
    unpacker = Unpacker("deflate", 1000)
    empty_block = b"\x00\x00\x00\xff\xff"
    unpacker.feed(empty_block * 300)

    assert unpacker.is_cut


@pytest.mark.parametrize(
    ("encoding", "body"), [("br", b""), ("zstd", b""), ("gzip, br", b""), ("gzip", b"xx"), ("deflate", b"\xff\xff")]
)
def test_what_is_not_packed_as_it_says_is_unreadable(encoding: str, body: bytes) -> None:
    with pytest.raises(UnreadableBodyError):
        Unpacker(encoding, 1000).feed(body)


@settings(deadline=None)
@given(st.sampled_from(sorted(PACKERS)), st.binary(max_size=400), st.integers(1, 300))
def test_any_bytes_are_unpacked_within_the_bound_or_unreadable(encoding: str, body: bytes, most: int) -> None:
    unpacker = Unpacker(encoding, most)
    try:
        unpacker.feed(body)
    except UnreadableBodyError:
        assert encoding in {"gzip", "x-gzip", "deflate"}

    assert len(unpacker.body) <= most


@pytest.mark.parametrize(
    ("body", "declared", "text"),
    [
        ("Größe".encode(), "", "Größe"),
        ("Größe".encode("latin-1"), "ISO-8859-1", "Größe"),
        ("“quoted”".encode("cp1252"), "latin1", "“quoted”"),
        ("日本".encode("shift_jis"), '"Shift_JIS"', "日本"),
        ("中文".encode("gb18030"), "gb2312", "中文"),
        (b"\xef\xbb\xbfhello", "latin-1", "hello"),
        ("hello".encode("utf-16"), "", "hello"),
        (b'<meta charset="windows-1251"><p>' + "Привет".encode("cp1251"), "", "Привет"),
        (
            b'<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">' + "Привет".encode("koi8-r"),
            "",
            "Привет",
        ),
        ("Größe".encode(), "no-such-set", "Größe"),
        ("Größe".encode(), "unicode_escape", "Größe"),
        (b"a+AGE-", "utf-7", "a+AGE-"),
        ("Größe".encode()[:-4], "", "Gr"),
        (b"\x41" * 5, "hex", "AAAAA"),
        (b"x", "rot13", "x"),
        (b"x", "\0", "x"),
        (b"", "", ""),
    ],
)
def test_text_is_read_in_its_own_character_set(body: bytes, declared: str, text: str) -> None:
    assert text_of(body, declared, is_html=True).replace("\ufffd", "").endswith(text)


def test_only_the_bodys_word_is_ignored_for_plain_text() -> None:
    assert text_of(b'<meta charset="utf-16">', is_html=False) == '<meta charset="utf-16">'


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=300), st.text(max_size=20), st.booleans())
def test_any_bytes_are_read_as_some_text(body: bytes, declared: str, is_html: bool) -> None:
    assert text_of(body, declared, is_html=is_html).encode("utf-8", "surrogatepass") is not None


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, raw_deflate])
@pytest.mark.parametrize("step", [1, 10_000])
def test_a_packed_body_without_its_end_is_told_as_cut(pack: Callable[[bytes], bytes], step: int) -> None:
    packed = pack(bytes(range(256)) * 40)
    half = packed[: len(packed) // 2]
    unpacker = Unpacker("gzip" if pack is gzip.compress else "deflate", 100_000)
    for at in range(0, len(half), step):
        unpacker.feed(half[at : at + step])
    unpacker.end()

    assert unpacker.is_cut


@pytest.mark.parametrize("trailing", [b"\0\0\0\0", b"\0", b"padding of a careless server"])
def test_what_follows_a_whole_gzip_body_is_let_be(trailing: bytes) -> None:
    unpacker = Unpacker("gzip", 1000)
    unpacker.feed(gzip.compress(b"words") + trailing)
    unpacker.end()

    assert (bytes(unpacker.body), unpacker.is_cut) == (b"words", False)


def test_a_page_that_calls_itself_utf_16_in_a_tag_of_one_byte_letters_is_utf_8() -> None:
    page = b'<meta charset="utf-16"><p>Gr\xc3\xb6\xc3\x9fe</p>'

    assert text_of(page, is_html=True).endswith("<p>Größe</p>")
