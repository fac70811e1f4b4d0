"""From the bytes of a page to its main text: HTML, PDF and plain text. Pure; run in a process of its own (`reader`).

Raises nothing for what a stranger sends: what cannot be read is a `Reading` with `problem` set.
"""

import io
import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tools_mcp.search.decoding import text_of

Format: TypeAlias = Literal["markdown", "text"]
Kind: TypeAlias = Literal["html", "pdf", "text"]
MOST_TEXT = 1_000_000
MOST_PAGES = 100
_TITLE_CHARACTERS = 300
_HTML_SIGNS = (b"<!doctype html", b"<html", b"<head", b"<body")
_TEXT_TYPES = re.compile(r"text/[a-z0-9.+-]+|application/(?:[a-z0-9.+-]+\+)?(?:json|xml|yaml|javascript|x-ndjson|toml)")
_HTML_TYPES = frozenset(("text/html", "application/xhtml+xml"))
_PARSER_ERRORS = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, AssertionError, RecursionError)
"""What parsers written for well-formed files run into, beside errors of their own."""

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
"""What a reader does not see: it can hide text, turn it around, or end a line for some programs only."""


@dataclass(frozen=True)
class Raw:
    """A body to read; `kind` and `charset` as the headers had them, `whole` to skip the search for the main text."""

    kind: Kind
    body: bytes
    charset: str = ""
    url: str = ""
    format: Format = "markdown"
    whole: bool = False


@dataclass(frozen=True)
class Reading:
    """The text of a page, cleaned and at most `MOST_TEXT` characters; `problem` completes "The page …"."""

    text: str = ""
    title: str = ""
    published: str = ""
    is_cut: bool = False
    problem: str = ""


def kind_of(content_type: str, body: bytes) -> Kind | None:
    """Return what a body is, by its type or, where that says nothing, by its beginning; None for what is not read."""
    media = content_type.partition(";")[0].strip().lower()
    start = body[:1024].lstrip().lower()
    if media in _HTML_TYPES:
        return "html"
    if body.startswith(b"%PDF-") or media == "application/pdf":
        return "pdf"
    if _TEXT_TYPES.fullmatch(media):
        return "text"
    if media in {"", "application/octet-stream"} and b"\0" not in body[:4096]:
        return "html" if start.startswith(_HTML_SIGNS) else "text" if not media else None
    return None


def read(raw: Raw) -> Reading:
    """Return the text of a page."""
    if raw.kind == "pdf":
        return _read_pdf(raw.body)
    text = text_of(raw.body, raw.charset, is_html=raw.kind == "html").replace("\0", "")
    return _read_html(text, raw) if raw.kind == "html" else _cleaned(text)


def _read_html(text: str, raw: Raw) -> Reading:
    import trafilatura
    from lxml.etree import LxmlError  # type: ignore[import-untyped] # lxml publishes no types

    if raw.whole:
        return _whole(text)
    is_markdown = raw.format == "markdown"
    try:
        found = trafilatura.extract(
            text,
            url=raw.url or None,
            output_format="markdown" if is_markdown else "txt",
            include_links=is_markdown,
            include_comments=False,
        )
        known: Any = trafilatura.extract_metadata(text, default_url=raw.url or None)
    except (*_PARSER_ERRORS, LxmlError):
        return _whole(text)
    if not found:
        return _whole(text)
    return _cleaned(found, known.title or "" if known else "", known.date or "" if known else "")


def _whole(text: str) -> Reading:
    """Return all text of the body, without scripts and styles; what is left when no main text can be told apart."""
    from lxml import html  # type: ignore[import-untyped] # same
    from lxml.etree import LxmlError

    try:
        tree = html.document_fromstring(text.encode("utf-8", "replace"), parser=html.HTMLParser(encoding="utf-8"))
    except (*_PARSER_ERRORS, LxmlError):
        return Reading(problem="has no text")
    title = " ".join("".join(tree.xpath("string(//title)")).split())
    for element in tree.xpath("//script|//style|//noscript|//template|//head"):
        element.drop_tree() if element.getparent() is not None else None
    pieces = ("".join(part.split("\r")).strip() for part in tree.itertext())
    return _cleaned("\n".join(piece for piece in pieces if piece), title)


def _read_pdf(body: bytes) -> Reading:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, DeprecationError, PyPdfError

    parts: list[str] = []
    length, count, title = 0, 0, ""
    try:
        reader = PdfReader(io.BytesIO(body))
        if reader.is_encrypted and not reader.decrypt(""):
            return Reading(problem="is a PDF with a password")
        count = len(reader.pages)
        title = str((reader.metadata.title if reader.metadata else "") or "")
        for number, page in enumerate(reader.pages[:MOST_PAGES], start=1):
            said = page.extract_text().strip()
            parts.append(f"[page {number}]\n{said}" if said else "")
            length += len(said)
            if length > MOST_TEXT:
                break
    except (*_PARSER_ERRORS, PyPdfError, DeprecationError):
        if not any(parts):
            return Reading(problem="is a PDF that cannot be read")
    except (NotImplementedError, DependencyError):  # a cipher we have no library for
        return Reading(problem="is a PDF with a password")
    if not any(parts):
        return Reading(title=title, problem="is a PDF without text, perhaps of scanned images")
    return _cleaned("\n\n".join(filter(None, parts)), title, is_cut=count > len(parts))


def _cleaned(text: str, title: str = "", published: str = "", *, is_cut: bool = False) -> Reading:
    whole = _CONTROLS.sub("", text[: 2 * MOST_TEXT].replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n"))
    shown = whole.encode("utf-8", "replace").decode().strip()
    named = " ".join(_CONTROLS.sub("", title).split()).encode("utf-8", "replace").decode()[:_TITLE_CHARACTERS]
    if not shown:
        return Reading(title=named, problem="has no text")
    return Reading(shown[:MOST_TEXT], named, published[:40], is_cut or len(text) > MOST_TEXT)
