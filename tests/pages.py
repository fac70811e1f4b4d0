"""An HTML page as a browser would find it, for tests of what we write."""

from __future__ import annotations

from html.parser import HTMLParser

ACTIVE = frozenset({"script", "link", "img", "iframe", "object", "embed", "form", "base"})
FETCHING = frozenset({"src", "srcset", "data", "poster", "action", "formaction", "background", "ping"})


class Page(HTMLParser):
    """Tags with their attributes, in order, and the text between them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of every tag of a name."""
        return [attributes for name, attributes in self.tags if name == tag]


def assert_still(page: Page) -> None:
    """Make sure that a page fetches nothing and runs nothing."""
    assert not ACTIVE & {tag for tag, _ in page.tags}
    for _, attributes in page.tags:
        assert not FETCHING & attributes.keys()
        assert not [name for name in attributes if name.lower().startswith("on")]
