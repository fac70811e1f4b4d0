"""A report as one self-contained HTML page: nothing to fetch, no script, light and dark, for screen and paper."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from html import escape
from importlib.resources import files
from typing import Any

from markdown_it import MarkdownIt

from tools_mcp.reports.charts import chart_svg
from tools_mcp.reports.comparing import cell_text
from tools_mcp.reports.model import (
    BlockValue,
    Broken,
    Chart,
    Comparison,
    Metrics,
    Part,
    Prose,
    Report,
    Section,
    Sources,
    Timeline,
)
from tools_mcp.reports.numbers import dollars, plain_number
from tools_mcp.reports.reading import definitions, parser

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_MOST_PROSE = 50_000  # characters of one paragraph, list or table: what is longer is shown as it was written
_LINK = re.compile(r"https?://", re.IGNORECASE)
_CELL_CLASSES = {True: ' class="yes"', False: "", None: ' class="unknown"'}


def page(report: Report, saved: str) -> str:
    """Return the page of a report; `saved` says when it was saved, in words."""
    style = (files("tools_mcp.reports") / "page.css").read_text(encoding="utf-8")
    title, facts = escape(report.title), escape(_facts(report, saved))
    links = definitions(report.text)
    body = "\n".join(_section(section, links) for section in report.sections)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f'<header><h1>{title}</h1><p class="soft">{facts}</p></header>\n<main>\n{body}\n</main>\n'
        "<footer>A research report. Its numbers and claims are those of its sources, as they were read.</footer>\n"
        "</body>\n</html>\n"
    )


def _facts(report: Report, saved: str) -> str:
    count = len(report.sources())
    return f"{saved} · {count} source{'' if count == 1 else 's'}" if count else saved


def _section(section: Section, links: Mapping[str, Any]) -> str:
    parts = "\n".join(_part(part, links) for part in section.parts)
    inside = f'<div class="summary">{parts}</div>' if section.name == "Summary" else parts
    heading = f"<h2>{escape(section.name)}</h2>\n" if section.name else ""
    return f"<section>{heading}{inside}</section>"


def _part(part: Part, links: Mapping[str, Any]) -> str:
    if isinstance(part, Prose):
        return _prose(part, links)
    return _broken(part) if isinstance(part, Broken) else _DRAWN[type(part.value)](part.value)


def _broken(broken: Broken) -> str:
    where = f"{broken.name}, line {broken.line}, {broken.rule}: {broken.message}"
    return (
        f'<div class="broken"><p>This block could not be read ({escape(where)}).</p>'
        f"<pre><code>{escape(broken.source)}</code></pre></div>"
    )


def _prose(prose: Prose, links: Mapping[str, Any]) -> str:
    if len(prose.markdown) > _MOST_PROSE:
        return f"<pre>{escape(prose.markdown)}</pre>"
    html: str = _renderer().render(prose.markdown, {**links})
    return html.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")


@lru_cache(maxsize=1)  # making one takes longer than rendering a paragraph, of which a report may have thousands
def _renderer() -> MarkdownIt:
    markdown = parser().disable("image")
    markdown.options["html"] = False
    markdown.validateLink = lambda url: _LINK.match(url) is not None  # type: ignore[method-assign]
    return markdown


def _tiles(metrics: Metrics) -> str:
    tiles = "".join(
        f'<div class="tile"><div>{escape(tile.label)}</div><div class="value">{escape(tile.value)}</div>'
        + (f'<div class="note">{escape(tile.note)}</div>' if tile.note else "")
        + "</div>"
        for tile in metrics.tiles
    )
    return f'<div class="tiles">{tiles}</div>'


def _figure(chart: Chart) -> str:
    unit = f" ({escape(chart.unit)})" if chart.unit else ""
    rows = "".join(
        f'<tr><th scope="row">{escape(point.label)}</th><td>{plain_number(point.value)}</td></tr>'
        for point in chart.series
    )
    table = f'<div class="wide"><table><tbody>{rows}</tbody></table></div>'
    return (
        f"<figure><figcaption>{escape(chart.title)}{unit}</figcaption>{chart_svg(chart)}"
        f"<details><summary>The numbers</summary>{table}</details></figure>"
    )


def _comparison(comparison: Comparison) -> str:
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in comparison.columns)
    rows = "".join(
        f'<tr><th scope="row">{escape(row.name)}</th>'
        + "".join(f"<td{_cell_class(cell)}>{escape(cell_text(cell))}</td>" for cell in row.cells)
        + "</tr>"
        for row in comparison.rows
    )
    return f'<div class="wide"><table><thead><tr><td></td>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _cell_class(cell: str | bool | None) -> str:
    return "" if isinstance(cell, str) else _CELL_CLASSES[cell]


def _timeline(timeline: Timeline) -> str:
    events = "".join(
        f'<li><time datetime="{event.date}">{event.date}</time>{escape(event.event)}'
        + (f' <span class="soft">· {escape(event.subject)}</span>' if event.subject else "")
        + "</li>"
        for event in timeline.events
    )
    return f'<ol class="timeline">{events}</ol>'


def _sources(sources: Sources) -> str:
    rows = []
    for source in sources.sources:
        named = escape(source.title)
        if source.url:
            named = f'<a href="{escape(source.url)}" rel="noreferrer noopener">{named}</a>'
        host = f" · {escape(_host(source.url))}" if source.url else ""
        via = f" · via {escape(source.via)}" if source.via else ""
        cost = f" · {dollars(source.cost_usd)}" if source.cost_usd is not None else ""
        rows.append(f'<li>{named}<span class="soft">{host}{via}{cost}</span></li>')
    return f'<ol class="sources">{"".join(rows)}</ol>'


def _host(url: str) -> str:
    """Return whose address it is, so that a reader sees it on paper too."""
    return url.split("//", 1)[-1].split("/", 1)[0].split("?", 1)[0].rpartition("@")[2].removeprefix("www.")


_DRAWN: Mapping[type[BlockValue], Callable[[Any], str]] = {
    Metrics: _tiles,
    Chart: _figure,
    Comparison: _comparison,
    Timeline: _timeline,
    Sources: _sources,
}
