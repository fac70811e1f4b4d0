"""Results as providers send them, made plain: text on one line, no markup, web addresses only, no duplicates. Pure."""

import html
import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import urlsplit

from tools_mcp.search.protocol import Hit

SNIPPET_CHARACTERS = 400
_TITLE_CHARACTERS = 200
_URL_CHARACTERS = 1000
_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,400}>")


def clean_hits(raw: Iterable[Hit], most: int, site: str | None = None) -> tuple[Hit, ...]:
    """Return at most `most` usable results, in order, each address once; with a site only those from there."""
    hits: dict[str, Hit] = {}
    for hit in raw:
        url = hit.url.strip()
        if url in hits or len(hits) >= most or not _is_web_address(url) or not _is_from(url, site):
            continue
        published = plain(hit.published or "", 40) or None
        title = plain(hit.title, _TITLE_CHARACTERS) or url[:_TITLE_CHARACTERS]
        hits[url] = Hit(title, url, plain(hit.snippet, SNIPPET_CHARACTERS), published)
    return tuple(hits.values())


def plain(text: str, most: int) -> str:
    """Return text without markup and unseen characters on one line of at most `most` characters."""
    unmarked = html.unescape(_TAG.sub("", text))
    seen = "".join(" " if unicodedata.category(c) in {"Cc", "Zl", "Zp"} else c for c in unmarked if _is_seen(c))
    line = " ".join(seen.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def _is_seen(character: str) -> bool:
    return unicodedata.category(character) not in {"Cf", "Cs", "Co"}  # direction marks and the like can hide text


def _is_from(url: str, site: str | None) -> bool:
    host = (urlsplit(url).hostname or "").removesuffix(".")
    return site is None or host == site or host.endswith(f".{site}")


def _is_web_address(url: str) -> bool:
    if len(url) > _URL_CHARACTERS or any(unicodedata.category(c)[0] in "CZ" for c in url):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)
