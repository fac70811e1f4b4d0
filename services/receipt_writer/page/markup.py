"""The few pieces of HTML that a receipt's page is made of. Text goes in raw and comes out escaped."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from receipt_writer.printable import visible

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""The page's own content security policy: no script, no picture, no connection."""


@dataclass(frozen=True)
class Markup:
    """HTML that is complete and safe as it stands."""

    html: str


Content = str | Markup
"""Plain text, which is escaped where it is placed, or finished markup."""

NOTHING = Markup("")
"""No markup at all."""


def html_of(content: Content) -> str:
    """Return content as HTML; characters that steer a terminal or turn the reading direction become visible."""
    return content.html if isinstance(content, Markup) else escape(visible(content))


def code(text: str) -> Markup:
    """Return text as code: hashes, keys, ids."""
    return Markup(f"<code>{html_of(text)}</code>")


def block(text: str) -> Markup:
    """Return lines as a preformatted block."""
    return Markup("<pre>" + "\n".join(html_of(line) for line in text.split("\n")) + "</pre>")


def paragraph(*parts: Content, kind: str = "") -> Markup:
    """Return a paragraph; `kind` is a class of the style sheet."""
    mark = f' class="{escape(kind)}"' if kind else ""
    return Markup(f"<p{mark}>{''.join(html_of(part) for part in parts)}</p>")


def facts(rows: Iterable[tuple[str, Content]]) -> Markup:
    """Return names and what is said of each."""
    inner = "".join(f"<dt>{html_of(name)}</dt><dd>{html_of(value)}</dd>" for name, value in rows)
    return Markup(f"<dl>{inner}</dl>")


def table(
    caption: str, titles: Sequence[str], rows: Iterable[Sequence[Content]], total: Sequence[Content] = ()
) -> Markup:
    """Return a table whose last column holds amounts; `total` is its last row, set apart."""
    head = "".join(_cell("th", title, is_last=title == titles[-1]) for title in titles)
    body = "".join(_row(row) for row in rows) + (_row(total, ' class="total"') if total else "")
    top = f"<caption>{html_of(caption)}</caption><thead><tr>{head}</tr></thead>"
    return Markup(f'<div class="wide"><table>{top}<tbody>{body}</tbody></table></div>')


def section(title: str, *parts: Markup) -> Markup:
    """Return a titled part of the page."""
    return Markup(f"<section><h2>{html_of(title)}</h2>{''.join(part.html for part in parts)}</section>")


def steps(*items: Markup) -> Markup:
    """Return a numbered list."""
    return Markup("<ol>" + "".join(f"<li>{item.html}</li>" for item in items) + "</ol>")


def folded(title: str, *parts: Markup) -> Markup:
    """Return parts that a reader opens."""
    return Markup(f"<details><summary>{html_of(title)}</summary>{''.join(part.html for part in parts)}</details>")


def download(name: str, content: bytes) -> Markup:
    """Return a link that saves `content` under a name; the bytes are in the page itself."""
    data = base64.b64encode(content).decode()
    return Markup(f'<a download="{escape(name)}" href="data:application/octet-stream;base64,{data}">{escape(name)}</a>')


def document(title: str, header: Markup, sections: Iterable[Markup], footer: Markup) -> str:
    """Return the whole page: one file, no script, nothing fetched from anywhere."""
    style = (files("receipt_writer.page") / "page.css").read_text(encoding="utf-8")
    metas: Mapping[str, str] = {"viewport": "width=device-width, initial-scale=1", "robots": "noindex"}
    named = "".join(f'<meta name="{name}" content="{content}">\n' for name, content in metas.items())
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n{named}'
        f"<title>{html_of(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"<header>{header.html}</header>\n<main>\n{''.join(one.html for one in sections)}\n</main>\n"
        f"<footer>{footer.html}</footer>\n</body>\n</html>\n"
    )


def _row(cells: Sequence[Content], mark: str = "") -> str:
    last = len(cells) - 1
    return f"<tr{mark}>" + "".join(_cell("td", cell, is_last=at == last) for at, cell in enumerate(cells)) + "</tr>"


def _cell(tag: str, content: Content, *, is_last: bool) -> str:
    mark = ' class="amount"' if is_last else ""
    return f"<{tag}{mark}>{html_of(content)}</{tag}>"
