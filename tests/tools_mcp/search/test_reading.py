import pytest

from tests.tools_mcp.search.pdfs import assembled, pdf, stream
from tools_mcp.search.reading import MOST_PAGES, MOST_TEXT, Kind, Raw, kind_of, read

WORDS = "This paragraph has quite a number of words, so that it is taken for the main text of the page."
ARTICLE = f"""<html><head><title>The title</title><meta property="article:published_time" content="2026-11-02"></head>
<body><nav><a href="/menu">Menu</a></nav><article><h1>Heading</h1><p>{WORDS} A <a href="/next?a=b">link</a> too.</p>
<p>{WORDS}</p><table><tr><th>year</th><th>sum</th></tr><tr><td>2025</td><td>17</td></tr></table></article>
<script>alert("script")</script><style>body {{}}</style><footer>Imprint</footer></body></html>"""


def html(text: str, *, whole: bool = False) -> Raw:
    return Raw("html", text.encode(), "utf-8", "https://example.org/a/", whole=whole)


def test_the_main_text_comes_as_markdown_with_absolute_links() -> None:
    found = read(html(ARTICLE))

    assert (found.title, found.published, found.problem) == ("Heading", "2026-11-02", "")
    assert "# Heading" in found.text
    assert "[link](https://example.org/next?a=b)" in found.text
    assert "| 2025 | 17 |" in found.text
    assert not any(word in found.text for word in ("Menu", "alert", "Imprint"))


def test_the_main_text_comes_as_plain_text() -> None:
    found = read(Raw("html", ARTICLE.encode(), "utf-8", "https://example.org/a/", "text"))

    assert WORDS in found.text
    assert "](" not in found.text
    assert "# Heading" not in found.text


def test_a_page_without_a_main_text_gives_all_of_it() -> None:
    found = read(html("<title>T</title><p>tiny <b>page</b><script>no</script><style>no</style>"))

    assert ("tiny" in found.text, "page" in found.text, "no" in found.text.split()) == (True, True, False)


def test_all_of_a_page_is_read_when_that_is_asked_for() -> None:
    found = read(html(ARTICLE, whole=True))

    assert found.title == "The title"
    assert all(word in found.text for word in ("Menu", "Heading", "Imprint"))
    assert not any(word in found.text for word in ("alert", "body {"))


@pytest.mark.parametrize(
    "body",
    ["", " ", "<html></html>", "<!-- -->", "\0", "<script>x</script>", "<html><head><title>T</title></head></html>"],
)
def test_a_page_that_says_nothing_is_a_problem(body: str) -> None:
    assert read(html(body)).problem == "has no text"


def test_what_hides_in_text_is_taken_out_and_letters_that_need_joiners_keep_them() -> None:
    found = read(
        Raw(
            "text",
            "a\u202eb\u200bc\0d\u2028e\r\nf\rg \u0645\u06cc\u200c\u062e\u0648 👩\u200d💻\U000e0041".encode(),
            "utf-8",
        )
    )

    assert found.text == "abcd\ne\nf\ng \u0645\u06cc\u200c\u062e\u0648 👩\u200d💻"


def test_a_very_long_text_is_cut_and_says_so() -> None:
    found = read(Raw("text", b"x" * (MOST_TEXT + 1)))

    assert (len(found.text), found.is_cut) == (MOST_TEXT, True)
    assert not read(Raw("text", b"x" * MOST_TEXT)).is_cut


@pytest.mark.parametrize("packed", [False, True])
def test_a_pdf_gives_its_pages_and_its_title(packed: bool) -> None:
    found = read(Raw("pdf", pdf("Hello page one", "", "And page three", title="The paper", packed=packed)))

    assert found.title == "The paper"
    assert found.text == "[page 1]\nHello page one\n\n[page 3]\nAnd page three"
    assert not found.is_cut


def test_a_pdf_of_many_pages_is_cut_and_says_so() -> None:
    found = read(Raw("pdf", pdf(*["word"] * (MOST_PAGES + 3))))

    assert found.is_cut
    assert f"[page {MOST_PAGES}]" in found.text
    assert f"[page {MOST_PAGES + 1}]" not in found.text


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"%PDF-1.4", "is a PDF that cannot be read"),
        (b"", "is a PDF that cannot be read"),
        (pdf("x")[:200], "is a PDF that cannot be read"),
        (pdf("", ""), "is a PDF without text, perhaps of scanned images"),
        (pdf(), "is a PDF without text, perhaps of scanned images"),
        (
            assembled(
                [
                    b"<< /Type /Catalog /Pages 2 0 R >>",
                    b"<< /Type /Pages /Kids [2 0 R] /Count 1 >>",
                    stream(b""),
                    b"<< >>",
                ]
            ),
            "is a PDF",
        ),
    ],
)
def test_a_pdf_that_cannot_be_read_is_a_problem(body: bytes, problem: str) -> None:
    assert read(Raw("pdf", body)).problem.startswith(problem)


def test_a_pdf_with_a_password_is_a_problem() -> None:
    import io

    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf("secret"))))
    writer.encrypt("a password", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)

    assert read(Raw("pdf", out.getvalue())).problem == "is a PDF with a password"


@pytest.mark.parametrize(
    ("content_type", "body", "kind"),
    [
        ("text/html", b"", "html"),
        ("TEXT/HTML; charset=x", b"", "html"),
        ("application/xhtml+xml", b"", "html"),
        ("application/pdf", b"", "pdf"),
        ("text/plain", b"%PDF-1.7", "pdf"),
        ("application/octet-stream", b"%PDF-1.7", "pdf"),
        ("text/markdown", b"", "text"),
        ("text/plain", b"<html>", "text"),
        ("application/json", b"", "text"),
        ("application/ld+json", b"", "text"),
        ("application/atom+xml", b"", "text"),
        ("", b"hello", "text"),
        ("", b"  <!DOCTYPE HTML><p>", "html"),
        ("application/octet-stream", b"<html>", "html"),
        ("application/octet-stream", b"hello", None),
        ("", b"\0", None),
        ("image/png", b"", None),
        ("application/msword", b"", None),
        ("nonsense", b"hello", None),
    ],
)
def test_the_type_or_the_beginning_tells_what_a_body_is(content_type: str, body: bytes, kind: Kind | None) -> None:
    assert kind_of(content_type, body) == kind
