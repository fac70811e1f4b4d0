"""Markdown from a model, rendered for a terminal: nothing in it can steer the terminal, hide a link or lose a word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement, TableElement
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from agent_host.gateways.screen import printable

CODE_THEME: Final = "ansi_dark"
_NARROW: Final = 6  # columns of text below which nothing can be read
_LEAST: Final = 4  # columns of words beside the marks of items and quotations; into none rich renders nothing
_QUOTED: Final = 4  # columns a quotation takes


def markdown_parser() -> MarkdownIt:
    """Returns the parser: CommonMark with tables and strike-through.

    HTML is shown as it stands, and so are references: an address that comes later than its link would never be seen.
    """
    return MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable("reference")


class SafeMarkdown(Markdown):
    """Markdown whose text is harmless after parsing, entities included, and whose links show their address."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {}

    def __init__(self, source: str, parser: MarkdownIt) -> None:
        super().__init__("", code_theme=CODE_THEME, hyperlinks=False)
        self.parsed = list(_harmless(parser.parse(source)))
        self._least_width = _LEAST + max(_indents(self.parsed))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Renders into the width there is, or into what the deepest nesting needs, which the terminal breaks."""
        yield from super().__rich_console__(console, options.update(width=max(options.max_width, self._least_width)))


class _Code(CodeBlock):
    """Code between its fences, without a background or padding, so that what is copied from it is the code."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        del console, options
        language = "" if self.lexer_name == "text" else self.lexer_name
        yield Text(f"```{language}", style="dim")
        code = str(self.text).rstrip()
        yield Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True, background_color="default")
        yield Text("```", style="dim")


class _Title(Heading):
    """A heading at the left; its rank shows by its marks where there are no colours."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        del console, options
        text = self.text.copy()
        text.justify = "left"
        yield Text(f"{'#' * int(self.tag[1:])} ", style="dim") + text


class _Cells(TableElement):
    """A table whose long words are folded and never cut; where there is no room for it, a line a cell."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        del console
        heads = [cell.content for cell in self.header.row.cells] if self.header and self.header.row else []
        rows = [[cell.content for cell in row.cells] for row in self.body.rows] if self.body else []
        if len(heads) * (_NARROW + 2) > options.max_width:
            for row in rows:
                for head, cell in zip(heads, row, strict=False):
                    yield Text.assemble(head, ": ", cell)
                yield Text("")
            return
        table = Table(box=box.SIMPLE, pad_edge=False, show_edge=True, collapse_padding=True)
        for head in heads:
            table.add_column(Text.assemble((head.plain, "bold")), overflow="fold", justify=head.justify or "left")
        for row in rows:
            table.add_row(*row)
        yield table


SafeMarkdown.elements = {
    **Markdown.elements,
    "heading_open": _Title,
    "fence": _Code,
    "code_block": _Code,
    "table_open": _Cells,
}


def _indents(tokens: Iterable[Token]) -> Iterator[int]:
    """Yields how many columns stand before the words, wherever that changes."""
    marks = [0]
    for token in tokens:
        if token.type in {"blockquote_open", "list_item_open"}:
            marks.append(_QUOTED if token.type == "blockquote_open" else len(token.info) + 3)
        elif token.type in {"blockquote_close", "list_item_close"}:
            marks.pop()
        yield sum(marks)
    yield 0


def _harmless(tokens: Iterable[Token]) -> Iterator[Token]:
    """Yields the tokens with text made printable; images become links, and a link that shows its address stays text."""
    for token in tokens:
        if token.type == "softbreak":  # people and models break lines on purpose
            token.type = "hardbreak"
        token.content = printable(token.content)
        token.info = printable(token.info)
        for name in ("href", "src"):
            if name in token.attrs:
                token.attrs[name] = printable(str(token.attrs[name]))
        if token.type == "image":
            yield from _as_link(token)
            continue
        if token.children is not None:
            token.children = list(_harmless(_without_repeated_addresses(token.children)))
        yield token


def _as_link(image: Token) -> Iterator[Token]:
    opened = Token("link_open", "a", 1, attrs={"href": image.attrs.get("src", "")})
    yield opened
    yield Token("text", "", 0, content=f"image: {image.content}" if image.content else "image")
    yield Token("link_close", "a", -1)


def _without_repeated_addresses(tokens: list[Token]) -> list[Token]:
    """Takes the marks of a link away where its text is its address, so that it is shown once."""
    kept: list[Token] = []
    skip_close = False
    for number, token in enumerate(tokens):
        if token.type == "link_open" and token.markup == "autolink" and number + 1 < len(tokens):
            skip_close = True
            continue
        if token.type == "link_close" and skip_close:
            skip_close = False
            continue
        kept.append(token)
    return kept
